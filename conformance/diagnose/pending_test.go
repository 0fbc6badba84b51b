package diagnose

import (
	"iter"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
)

// pending yields the pending pods of a generated cluster that have no twin among the running pods, without nominations and each with a
// snapshot of its own.
func pending(t *testing.T, c *gen.Cluster) iter.Seq2[*v1.Pod, *cluster.Snapshot] {
	return func(yield func(*v1.Pod, *cluster.Snapshot) bool) {
		for _, pod := range c.Pending {
			pod.Status.NominatedNodeName = ""
			s, err := cluster.New(c.Objects)
			must(t, err)
			if s.Pod(pod.Namespace, pod.Name) == nil && !yield(pod, s) {
				return
			}
		}
	}
}
