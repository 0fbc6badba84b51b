package placement

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/preemption"
)

// foreign returns the pods of other slots that may keep the pod from slot i, in order of the slots. O(pods). Some of them may
// turn out not to matter. They are the pods that
//
//   - required anti-affinity, of the pod or of the other pods, rejects in a domain of slot i,
//   - the DoNotSchedule spread constraints count in a domain of slot i,
//   - use a claim of the pod.
func (w *whatIf) foreign(i int) []preemption.Placed {
	a := w.attempt
	var out []preemption.Placed
	for j := range a.plan.cluster.Len() {
		if j == i || a.plan.cluster.Node(j) == nil {
			continue
		}
		for q := range a.plan.cluster.Pods(j) {
			if w.repelled(q, i, j) || sharesClaim(a.pod, q) {
				out = append(out, preemption.Placed{Pod: q, Slot: j})
			}
		}
	}
	return out
}

// repelled reports whether a predicate rejects the pod on slot i because of q on slot j.
func (w *whatIf) repelled(q *v1.Pod, i, j int) bool {
	for _, p := range w.attempt.Predicates {
		r, ok := p.(interface {
			KeepsOff(pod, q *v1.Pod, i, j int) bool // whether q on slot j may keep the pod off slot i
		})
		if ok && r.KeepsOff(w.attempt.pod, q, i, j) {
			return true
		}
	}
	return false
}

func sharesClaim(p, q *v1.Pod) bool {
	if p.Namespace != q.Namespace {
		return false
	}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		for _, u := range q.Spec.Volumes {
			if u.PersistentVolumeClaim != nil && u.PersistentVolumeClaim.ClaimName == v.PersistentVolumeClaim.ClaimName {
				return true
			}
		}
	}
	return false
}

// pairOf is a cluster of two nodes with one pod, which runs on the second node.
type pairOf struct {
	all  Cluster
	i, j int
	pod  *v1.Pod
}

// Len returns 2.
func (c *pairOf) Len() int { return 2 }

// Node returns the node of slot i or of slot j.
func (c *pairOf) Node(k int) *v1.Node { return c.all.Node([2]int{c.i, c.j}[k]) }

// Pods yields the pod for the second node.
func (c *pairOf) Pods(k int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		if k == 1 {
			yield(c.pod)
		}
	}
}

// Namespaces yields all namespaces of the cluster.
func (c *pairOf) Namespaces() iter.Seq2[string, map[string]string] { return c.all.Namespaces() }
