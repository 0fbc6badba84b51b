package pressure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/release"
)

// Missing is how much of a resource a node lacks for a pod: milli-CPU, bytes, pieces, or pods.
type Missing struct {
	Name   v1.ResourceName
	Amount int64
}

// CriticalVictims returns the pods that a kubelet stops to make room for a critical pod (static, mirror, priority of
// 2000000000 or more) that lacks nothing but resources (rule E9.2). Their status.reason becomes "Preempting". A pod can be
// stopped when it is not critical and the new pod is, or when both pods state a priority and its own is lower.
//
// As few pods as possible are stopped, and classes with better quality of service last:
//
//  1. Guaranteed pods that are needed even if all Burstable and BestEffort pods were stopped.
//  2. Burstable pods that are needed besides these, even if all BestEffort pods were stopped.
//  3. BestEffort pods for the rest.
//
// Within a class the kubelet takes, pod by pod, the one whose request is nearest to what is missing: the smallest sum, over
// the resources, of the squared share of the missing amount that the pod does not cover; then the smaller memory request,
// the smaller cpu request, the later place in running. The last pod of the list then takes the place of the chosen pod.
//
// The result lists BestEffort, Burstable, Guaranteed. The error says what is missing even if all these pods were stopped.
// The result is empty when nothing is missing or pod is nil. Nil running pods are ignored.
func CriticalVictims(pod *v1.Pod, running []*v1.Pod, missing []Missing) ([]*v1.Pod, error) {
	if pod == nil {
		return nil, nil
	}
	var groups [3][]*v1.Pod // BestEffort, Burstable, Guaranteed
	for _, q := range running {
		if q == nil || !preemptable(pod, q) {
			continue
		}
		switch kubelet.QoS(q, release.Current) {
		case v1.PodQOSGuaranteed:
			groups[2] = append(groups[2], q)
		case v1.PodQOSBurstable:
			groups[1] = append(groups[1], q)
		default:
			groups[0] = append(groups[0], q)
		}
	}
	if left := subtract(missing, groups[0], groups[1], groups[2]); len(left) > 0 {
		return nil, impossible(left)
	}
	guaranteed := nearest(groups[2], subtract(missing, groups[0], groups[1]))
	burstable := nearest(groups[1], subtract(missing, groups[0], guaranteed))
	bestEffort := nearest(groups[0], subtract(missing, burstable, guaranteed))
	return slices.Concat(bestEffort, burstable, guaranteed), nil
}

func preemptable(pod, q *v1.Pod) bool {
	if exempt(pod) != "" && exempt(q) == "" {
		return true
	}
	return pod.Spec.Priority != nil && q.Spec.Priority != nil && *pod.Spec.Priority > *q.Spec.Priority
}

func impossible(left []Missing) error {
	var b strings.Builder
	for _, m := range left {
		fmt.Fprintf(&b, "(res: %s, q: %d), ", m.Name, m.Amount)
	}
	return errors.New("preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [" + b.String() + "]")
}

// subtract returns what is still missing after the pods are stopped.
func subtract(missing []Missing, groups ...[]*v1.Pod) []Missing {
	var left []Missing
	for _, m := range missing {
		for _, pods := range groups {
			for _, q := range pods {
				m.Amount -= asks(q, m.Name)
			}
		}
		if m.Amount > 0 {
			left = append(left, m)
		}
	}
	return left
}

// asks returns the amount that a pod gives back. Every pod gives back one unit of pods.
func asks(q *v1.Pod, name v1.ResourceName) int64 {
	if name == v1.ResourcePods {
		return 1
	}
	return max(request(q, name), 0)
}

// nearest takes pods one by one until nothing is missing. All pods together must have enough. It changes their order.
func nearest(pods []*v1.Pod, missing []Missing) []*v1.Pod {
	var chosen []*v1.Pod
	for len(missing) > 0 && len(pods) > 0 {
		best := 0
		for i := range pods {
			if !closer(pods[best], pods[i], missing) {
				best = i
			}
		}
		chosen = append(chosen, pods[best])
		missing = subtract(missing, pods[best:best+1])
		last := len(pods) - 1
		pods[best] = pods[last] // as in the kubelet: the order decides among equal pods
		pods = pods[:last]
	}
	return chosen
}

func closer(a, b *v1.Pod, missing []Missing) bool {
	return cmp.Or(
		cmp.Compare(distance(a, missing), distance(b, missing)),
		cmp.Compare(asks(a, v1.ResourceMemory), asks(b, v1.ResourceMemory)),
		cmp.Compare(asks(a, v1.ResourceCPU), asks(b, v1.ResourceCPU)),
	) < 0
}

func distance(pod *v1.Pod, missing []Missing) float64 {
	var sum float64
	for _, m := range missing {
		open := max(0, float64(m.Amount-asks(pod, m.Name))/float64(m.Amount))
		sum += float64(open * open)
	}
	return sum
}
