package optimal

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/preemption"
)

// Quorums returns a function for [Options.Quorum] that keeps pods of each controller. pods are the pods of the cluster; pods without
// controller, finished pods and terminating pods do not count. keep returns how many of n pods of a controller must stay; if n is
// less than that, none may leave. 0 or less, and a nil keep, allow all pods to leave. Majority keeps more than half.
//
// The function counts the pods once. Pods that come later are free to leave. O(pods); the result takes O(1).
func Quorums(pods []*v1.Pod, keep func(owner *metav1.OwnerReference, n int) int) func(pod *v1.Pod) (workload string, leave int) {
	type workload struct {
		owner *metav1.OwnerReference
		n     int
		leave int
		free  bool
	}
	all := map[string]*workload{}
	for _, p := range pods {
		if p == nil || keep == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil && p.DeletionTimestamp == nil && !cluster.Finished(p) {
			name := controller(p, owner)
			if all[name] == nil {
				all[name] = &workload{owner: owner}
			}
			all[name].n++
		}
	}
	for _, w := range all {
		stay := keep(w.owner, w.n)
		w.free, w.leave = stay <= 0, max(0, w.n-stay)
	}
	return func(pod *v1.Pod) (string, int) {
		if pod == nil {
			return "", 0
		}
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || pod.DeletionTimestamp != nil {
			return "", 0
		}
		name := controller(pod, owner)
		if w := all[name]; w != nil && !w.free {
			return name, w.leave
		}
		return "", 0
	}
}

// Majority returns the smallest number that is more than half of n.
func Majority(n int) int { return n/2 + 1 }

// controller names a controller: the UID, or kind and name of a controller without UID.
func controller(pod *v1.Pod, owner *metav1.OwnerReference) string {
	if owner.UID != "" {
		return string(owner.UID)
	}
	return pod.Namespace + "/" + owner.Kind + "/" + owner.Name
}

// quorums counts how many more pods of each workload may leave.
type quorums struct {
	ids  map[string]int32
	left []int
}

func (x *quorums) forget() {
	clear(x.ids)
	x.left = x.left[:0]
}

// of appends the workloads of some pods, once for each pod.
func (x *quorums) of(dst []int32, pods []preemption.Placed, quorum func(pod *v1.Pod) (string, int)) []int32 {
	for _, q := range pods {
		name, leave := quorum(q.Pod)
		if name == "" {
			continue
		}
		id, ok := x.ids[name]
		if !ok {
			if x.ids == nil {
				x.ids = map[string]int32{}
			}
			id = int32(len(x.left))
			x.ids[name], x.left = id, append(x.left, leave)
		}
		dst = append(dst, id)
	}
	return dst
}

// take lets pods of some workloads leave and reports whether every workload keeps its quorum.
func (x *quorums) take(workloads []int32) bool {
	ok := true
	for _, id := range workloads {
		x.left[id]--
		ok = ok && x.left[id] >= 0
	}
	return ok
}

// give takes take back.
func (x *quorums) give(workloads []int32) {
	for _, id := range workloads {
		x.left[id]++
	}
}

// keeps reports whether every workload keeps its quorum without some groups. No branch is under way.
func (n *node) keeps(leave []bool) bool {
	ok := true
	for k, out := range leave {
		if out {
			ok = n.quorums.take(n.groups[k].quorums) && ok
		}
	}
	for k, out := range leave {
		if out {
			n.quorums.give(n.groups[k].quorums)
		}
	}
	return ok
}
