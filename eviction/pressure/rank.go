package pressure

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
)

// exempt returns why the kubelet never evicts the pod: "static pod", "mirror pod" or "critical priority" (2000000000 or
// more). It returns "" for a pod that may be evicted. Names of priority classes and DaemonSets do not matter (rule E7.1).
func exempt(pod *v1.Pod) string {
	if podinfo.Static(pod) {
		return "static pod"
	}
	if podinfo.Mirror(pod) {
		return "mirror pod"
	}
	if podinfo.Critical(pod) {
		return "critical priority"
	}
	return ""
}

// active reports whether the pod counts on its node: it has not finished, or it is still terminating (rule E6.6).
func active(pod *v1.Pod) bool {
	return !podinfo.Finished(pod) || pod.DeletionTimestamp != nil
}

// Ranked is a pod and its numbers in an eviction ranking.
type Ranked struct {
	Pod      *v1.Pod
	Measured bool  // false: no statistics; such pods are first
	Usage    int64 // of the signal's resource: bytes, inodes or processes
	Request  int64 // compared with Usage; 0 for inodes and processes
	Exceeds  bool  // Usage > Request
	Priority int32
	Exempt   string // why the pod is never evicted: "static pod", "mirror pod" or "critical priority"; "" when it may be evicted
	excess   int64  // the third rule of Rank
}

// Rank returns the active pods in the order in which the kubelet evicts them for a signal (rules E6.1 to E6.7). stats are
// by pod UID. Nil pods are left out. Quality of service and disruption budgets do not matter. The order is:
//
//  1. Pods without statistics before pods with statistics (not for pid.available).
//  2. Usage above the request first (not for pid.available). On file systems the request is the ephemeral-storage request;
//     for inodes it is 0.
//  3. Lower priority first; a pod without priority has 0.
//  4. Larger usage minus request first; for pid.available more processes first. For inodes, too, the kubelet subtracts the
//     ephemeral-storage request in bytes (see [Options.InodeUsageOnly]).
//  5. Pods that have not started. [Options.KeepOrder] skips this rule and the next two.
//  6. Later start time first.
//  7. Namespace, name, UID.
//
// O(pods x containers + pods log pods).
func Rank(s Signal, l Layout, pods []*v1.Pod, stats map[types.UID]PodStats, o Options) []Ranked {
	list := make([]Ranked, 0, len(pods))
	for _, pod := range pods {
		if pod == nil || !active(pod) {
			continue
		}
		r := Ranked{Pod: pod, Exempt: exempt(pod), Priority: podinfo.Priority(pod)}
		var subtract int64
		switch {
		case s.memory():
			r.Request = request(pod, v1.ResourceMemory)
			subtract = r.Request
		case s.inodes():
			if !o.InodeUsageOnly {
				subtract = request(pod, v1.ResourceEphemeralStorage)
			}
		case s != pidAvailable:
			r.Request = request(pod, v1.ResourceEphemeralStorage)
			subtract = r.Request
		}
		if st, ok := stats[pod.UID]; ok {
			r.Measured = true
			r.Usage = usage(s, l, pod, &st)
			r.Exceeds = r.Usage > r.Request
			r.excess = r.Usage - max(subtract, 0)
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b Ranked) int {
		if c := compareRanked(s, &a, &b); c != 0 || o.KeepOrder {
			return c
		}
		return compareAge(a.Pod, b.Pod)
	})
	return list
}

func compareRanked(s Signal, a, b *Ranked) int {
	priority := cmp.Compare(a.Priority, b.Priority)
	missing := trueFirst(!a.Measured, !b.Measured)
	both := a.Measured && b.Measured
	var more int
	if both {
		more = cmp.Compare(b.excess, a.excess)
	}
	if s == pidAvailable {
		return cmp.Or(priority, missing, more)
	}
	var exceeds int
	if both {
		exceeds = trueFirst(a.Exceeds, b.Exceeds)
	}
	return cmp.Or(missing, exceeds, priority, more)
}

// trueFirst compares two bools: true comes first.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func compareAge(a, b *v1.Pod) int {
	var age int
	switch s, t := a.Status.StartTime, b.Status.StartTime; {
	case s != nil && t != nil:
		age = t.Compare(s.Time)
	default:
		age = trueFirst(s == nil, t == nil)
	}
	return cmp.Or(age, cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
