package descheduler_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"

	"github.com/podberth/podberth/adapters/descheduler/nodefit"
	"github.com/podberth/podberth/internal/testkit"
)

// index returns what the descheduler has: the pods by node.
func index(pods ...*v1.Pod) podutil.GetPodsAssignedToNodeFunc {
	return func(node string, keep podutil.FilterFunc) (out []*v1.Pod, err error) {
		for _, p := range pods {
			if p.Spec.NodeName == node && (keep == nil || keep(p)) {
				out = append(out, p)
			}
		}
		return out, nil
	}
}

func TestNodeFit(t *testing.T) {
	with := func(n *v1.Node, change func(*v1.Node)) *v1.Node { change(n); return n }
	asks := func(change func(*v1.Pod)) *v1.Pod { p := pod("web", 1, "n1", "1"); change(p); return p }
	nothing := func(*v1.Pod) {}
	nameless := pod("web", 2, "n2", "7")
	nameless.Name, nameless.UID = "", ""
	done := pod("web", 2, "n2", "8")
	done.Status.Phase = v1.PodSucceeded
	type test struct {
		name, why string
		node      *v1.Node
		pods      []*v1.Pod
		ask       *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"fits", "an empty node", node("n2", "z", 8), nil, asks(nothing), ""},
		{"cordon", "spec.unschedulable", with(node("n2", "z", 8), func(n *v1.Node) { n.Spec.Unschedulable = true }), nil, asks(nothing), "node is not schedulable"},
		{"selector", "a label that the node lacks", node("n2", "z", 8), nil, asks(func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }), "pod node selector does not match the node label"},
		{"name", "a term that names another node", node("n2", "z", 8), nil, asks(func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}}}}}
		}), "pod node selector does not match the node label"},
		{"taint", "no toleration", with(node("n2", "z", 8), func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}} }), nil, asks(nothing), "pod does not tolerate taints on the node"},
		{"apart", "anti-affinity of the pod", node("n2", "z", 8), []*v1.Pod{pod("db", 1, "n2", "1")}, apart(asks(nothing), "db", v1.LabelHostname), "pod matches inter-pod anti-affinity rule of other pod on node"},
		{"cpu", "7 of 8 are taken, by a pod without a name", node("n2", "z", 8), []*v1.Pod{nameless}, asks(func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests = pod("x", 1, "", "2").Spec.Containers[0].Resources.Requests
		}), "insufficient cpu"},
		{"pods", "the node allows none", with(node("n2", "z", 8), func(n *v1.Node) { delete(n.Status.Allocatable, "pods") }), nil, asks(nothing), "insufficient pods"},
		{"finished", "a finished pod holds nothing", node("n2", "z", 8), []*v1.Pod{done}, asks(nothing), ""},
		{"own place", "the pod has left when it comes again", node("n1", "z", 1), []*v1.Pod{asks(nothing)}, asks(nothing), ""},
		{"port", "the scheduler's words where the descheduler has none", node("n2", "z", 8), []*v1.Pod{port(pod("db", 1, "n2", "1"))}, port(asks(nothing)), "node(s) didn't have free ports for the requested pod ports"},
	}, func(t *testing.T, c test) {
		err := nodefit.NodeFit(t.Context(), index(c.pods...), c.ask, c.node)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
		require.Equal(t, c.want == "", nodefit.PodFitsCurrentNode(t.Context(), index(c.pods...), c.ask, c.node))
		require.Equal(t, c.want == "", nodefit.PodFitsAnyNode(index(c.pods...), c.ask, []*v1.Node{c.node}))
		require.Equal(t, c.want == "" && c.node.Name != "n1", nodefit.PodFitsAnyOtherNode(index(c.pods...), c.ask, []*v1.Node{c.node}))
	})
}

func port(p *v1.Pod) *v1.Pod {
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}}
	return p
}

func TestNodeFitErrors(t *testing.T) {
	broken := errors.New("the index is gone")
	fails := func(string, podutil.FilterFunc) ([]*v1.Pod, error) { return nil, broken }
	require.ErrorIs(t, nodefit.NodeFit(t.Context(), fails, pod("web", 1, "n1", "1"), node("n2", "z", 8)), broken)
	require.False(t, nodefit.PodFitsAnyNode(fails, pod("web", 1, "n1", "1"), []*v1.Node{node("n2", "z", 8)}))
}
