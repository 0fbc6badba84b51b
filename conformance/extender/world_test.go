package extender

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/preemption"
)

// oneCluster is a cluster of given nodes and pods.
type oneCluster []place

type place struct {
	node *v1.Node
	pods []*v1.Pod
}

func (c oneCluster) Len() int            { return len(c) }
func (c oneCluster) Node(i int) *v1.Node { return c[i].node }
func (c oneCluster) Pods(i int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for _, p := range c[i].pods {
			if !yield(p) {
				return
			}
		}
	}
}

// gone is a what-if about a pod that fits as soon as any pod has left.
type gone struct{ left int }

func (w *gone) Check(int) preemption.Answer {
	if w.left > 0 {
		return preemption.Answer{}
	}
	return preemption.Answer{Verdict: 1}
}
func (w *gone) Add(*v1.Pod, int)                                { w.left-- }
func (w *gone) Remove(*v1.Pod, int)                             { w.left++ }
func (w *gone) Reset()                                          { w.left = 0 }
func (w *gone) Reasons(int, preemption.Answer) ([]string, bool) { return []string{"full"}, true }
func (w *gone) Err(int, preemption.Answer) error                { return nil }
