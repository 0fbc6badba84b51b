// Package nodefit has the functions of the descheduler's package node that say where a pod fits, with its signatures, for forks and tests. They see
// only the nodes that they get, and leave out the filters whose objects an index of pods cannot give: VolumeBinding, VolumeZone,
// NodeVolumeLimits, VolumeRestrictions and DynamicResources. The plugin of package descheduler knows the whole cluster.
package nodefit

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// NodeFit knows no node but this one: spread and domains elsewhere are unknown, and the filters of volumes and devices are left out. It returns
// nil if the node takes the pod once the pod has left its place, else an error with the descheduler's words where it has words for the
// reason, else with the scheduler's.
func NodeFit[F ~func(*v1.Pod) bool, I ~func(string, F) ([]*v1.Pod, error)](_ context.Context, index I, pod *v1.Pod, node *v1.Node) error {
	reasons, err := refusals(index, pod, []*v1.Node{node})
	if err != nil {
		return err
	}
	if reasons[0] != "" {
		return errors.New(reasons[0])
	}
	return nil
}

// PodFitsAnyOtherNode knows no nodes but these, as NodeFit. It reports whether one of them other than the pod's own takes the pod.
func PodFitsAnyOtherNode[F ~func(*v1.Pod) bool, I ~func(string, F) ([]*v1.Pod, error)](index I, pod *v1.Pod, nodes []*v1.Node) bool {
	return fitsAny(index, pod, nodes, func(n *v1.Node) bool { return n.Name != pod.Spec.NodeName })
}

// PodFitsAnyNode knows no nodes but these, as NodeFit. It reports whether one of them takes the pod.
func PodFitsAnyNode[F ~func(*v1.Pod) bool, I ~func(string, F) ([]*v1.Pod, error)](index I, pod *v1.Pod, nodes []*v1.Node) bool {
	return fitsAny(index, pod, nodes, func(*v1.Node) bool { return true })
}

// PodFitsCurrentNode knows no node but this one, as NodeFit. It reports whether the node takes the pod once the pod has left its place.
func PodFitsCurrentNode[F ~func(*v1.Pod) bool, I ~func(string, F) ([]*v1.Pod, error)](ctx context.Context, index I, pod *v1.Pod, node *v1.Node) bool {
	return NodeFit(ctx, index, pod, node) == nil
}

func fitsAny[F ~func(*v1.Pod) bool, I ~func(string, F) ([]*v1.Pod, error)](index I, pod *v1.Pod, nodes []*v1.Node, asked func(*v1.Node) bool) bool {
	reasons, err := refusals(index, pod, nodes)
	if err != nil {
		return false
	}
	for i, n := range nodes {
		if asked(n) && reasons[i] == "" {
			return true
		}
	}
	return false
}

// nodes is a view of some nodes without one pod.
type nodes struct {
	list []*v1.Node
	pods [][]*v1.Pod
}

func (n nodes) Len() int                     { return len(n.list) }
func (n nodes) Node(i int) *v1.Node          { return n.list[i] }
func (n nodes) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(n.pods[i]) }

// indexed is the profile of what an index of pods by node can answer.
var indexed = func() placement.Profile {
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	profile.Scores = nil
	profile.Filters = slices.DeleteFunc(slices.Clone(profile.Filters), func(p *placement.Plugin) bool {
		return slices.Contains([]string{"VolumeBinding", "VolumeZone", "NodeVolumeLimits", "VolumeRestrictions", "DynamicResources"}, p.Name)
	})
	return profile
}()

// refusals returns for each node why it refuses the pod, "" for a node that takes it.
func refusals[F ~func(*v1.Pod) bool, I ~func(string, F) ([]*v1.Pod, error)](index I, pod *v1.Pod, list []*v1.Node) ([]string, error) {
	view := nodes{list: list, pods: make([][]*v1.Pod, len(list))}
	for i, n := range list {
		var err error
		if view.pods[i], err = index(n.Name, func(other *v1.Pod) bool {
			return !(other.Namespace == pod.Namespace && other.Name == pod.Name && other.UID == pod.UID) && !cluster.Finished(other)
		}); err != nil {
			return nil, err
		}
	}
	profile := indexed
	profile.Volumes, profile.Devices = nil, nil
	plan, err := placement.New(placement.Rows(view), profile)
	if err != nil {
		return nil, err
	}
	next := pod.DeepCopy()
	next.Spec.NodeName, next.Status = "", v1.PodStatus{}
	attempt := plan.Prepare(next)
	if attempt.Pre.Err != nil {
		return nil, attempt.Pre.Err
	}
	out := make([]string, len(list))
	if attempt.Rejected() {
		for i := range out {
			out[i] = attempt.Pre.Message
		}
		return out, nil
	}
	for i, r := range attempt.Verdicts(nil, placement.Options{}) {
		switch {
		case r == placement.NotAsked(): // metadata.name in a required term names other nodes
			out[i] = words("NodeAffinity", nil)
		case r.Verdict != 0:
			if err := attempt.Predicates.Err(r, i); err != nil {
				return nil, err
			}
			out[i] = words(attempt.Predicates[r.Predicate].Name(), attempt.Predicates.Reasons(r, i))
		}
	}
	return out, nil
}

// words returns the descheduler's words for the reason of a filter.
func words(plugin string, reasons []string) string {
	switch plugin {
	case "NodeUnschedulable":
		return "node is not schedulable"
	case "NodeAffinity":
		return "pod node selector does not match the node label"
	case "TaintToleration":
		return "pod does not tolerate taints on the node"
	case "InterPodAffinity":
		return "pod matches inter-pod anti-affinity rule of other pod on node"
	case "NodeResourcesFit":
		if reasons[0] == "Too many pods" {
			return "insufficient pods"
		}
		return "insufficient " + strings.TrimPrefix(reasons[0], "Insufficient ")
	}
	return strings.Join(reasons, ", ")
}
