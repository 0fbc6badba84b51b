package decider

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
)

// Pending returns the pods of a planner's list that wait for a node. Pods that have a node, are terminating or have finished are left
// out. Errors: a nil pod, and a waiting pod with the name of another waiting pod or of a pod that the snapshot has on a node. The texts
// begin with the planner's name. O(pods).
func Pending(planner string, s *cluster.Snapshot, list []*v1.Pod) (waiting []*v1.Pod, err error) {
	var taken map[string]string // by name of a pod: what has the name
	for i, pod := range list {
		if pod == nil {
			return nil, fmt.Errorf("%s: pending[%d]: Required value: must not be nil", planner, i)
		}
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || podinfo.Finished(pod) {
			continue
		}
		if taken == nil {
			taken = placed(s)
		}
		name := podinfo.Name(pod)
		if by, is := taken[name]; is {
			return nil, fmt.Errorf("%s: pending[%d].metadata.name: Duplicate value: %q: %s has the name; a pod that waits must have a name of its own", planner, i, name, by)
		}
		taken[name] = fmt.Sprintf("pending[%d]", i)
		waiting = append(waiting, pod)
	}
	return waiting, nil
}

// placed returns the names of the pods that have nodes, with the nodes.
func placed(s *cluster.Snapshot) map[string]string {
	out := map[string]string{}
	for i := range s.Len() {
		for pod := range s.Pods(i) {
			out[podinfo.Name(pod)] = "a pod on node " + s.Node(i).Name
		}
	}
	for _, pod := range s.Orphans() {
		out[podinfo.Name(pod)] = "a pod on node " + pod.Spec.NodeName
	}
	return out
}
