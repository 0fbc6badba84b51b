package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

func ptr[T any](v T) *T { return &v }

func TestCode(t *testing.T) {
	for c, want := range map[Code]string{Success: "Success", Error: "Error", Unschedulable: "Unschedulable",
		UnschedulableAndUnresolvable: "UnschedulableAndUnresolvable", Wait: "Wait", Skip: "Skip", Pending: "Pending", 9: "Code(9)", -1: "Code(-1)"} {
		require.Equal(t, want, c.String())
	}
	require.Equal(t, []Code{0, 1, 2, 3, 4, 5, 6}, []Code{Success, Error, Unschedulable, UnschedulableAndUnresolvable, Wait, Skip, Pending})
}

func TestNodeName(t *testing.T) {
	w := newWorld(node("a"), node("b"), nil)
	p := pod("p")
	require.True(t, CompileNodeName(p).Skip())
	require.Zero(t, CompileNodeName(p).On(w).Check(1))
	p.Spec.NodeName = "a"
	ps := Predicates{CompileNodeName(p).On(w)}
	require.Zero(t, ps.First(0).Verdict)
	for _, i := range []int{1, 2} {
		require.Equal(t, UnschedulableAndUnresolvable, ps.Code(ps.First(i)))
		require.Equal(t, []string{"node(s) didn't match the requested node name"}, ps.Reasons(ps.First(i), i))
	}
}

type featureCase struct {
	name, why string
	change    func(*v1.Pod)
	declared  []string
	needs     []string
	fits      bool
}

func TestNodeDeclaredFeatures(t *testing.T) {
	restart := []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	testkit.Run(t, []featureCase{
		{"plain pod", "needs nothing", func(*v1.Pod) {}, nil, nil, true},
		{"restart all on a plain node", "the node declares nothing",
			func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicyRules = restart }, nil, []string{"RestartAllContainersOnContainerExits"}, false},
		{"restart all on a node that declares it", "unknown names beside the feature are ignored",
			func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicyRules = restart },
			[]string{"Bogus", "RestartAllContainersOnContainerExits"}, []string{"RestartAllContainersOnContainerExits"}, true},
		{"restart all in an init container", "init containers count",
			func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{{RestartPolicyRules: restart}} },
			nil, []string{"RestartAllContainersOnContainerExits"}, false},
		{"other restart action", "only RestartAllContainers needs a feature",
			func(p *v1.Pod) {
				p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart}}
			}, nil, nil, true},
		{"user namespace with the host's network", "no node declares it by default, whatever the gates",
			func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, ptr(false) },
			nil, []string{"UserNamespacesHostNetworkSupport"}, false},
		{"user namespace alone", "hostNetwork is part of the rule", func(p *v1.Pod) { p.Spec.HostUsers = ptr(false) }, nil, nil, true},
		{"host users with the host's network", "hostUsers true needs nothing",
			func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, ptr(true) }, nil, nil, true},
		{"one of two", "all are needed",
			func(p *v1.Pod) {
				p.Spec.HostNetwork, p.Spec.HostUsers = true, ptr(false)
				p.Spec.Containers[0].RestartPolicyRules = restart
			}, []string{"UserNamespacesHostNetworkSupport"},
			[]string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}, false},
	}, func(t *testing.T, c featureCase) {
		p, n := pod("p"), node("n")
		c.change(p)
		n.Status.DeclaredFeatures = c.declared
		require.Equal(t, c.needs, RequiredFeatures(p))
		e := CompileFeatures(p)
		require.Equal(t, len(c.needs) == 0, e.Skip())
		ps := Predicates{e.On(newWorld(n, nil))}
		require.Equal(t, c.fits, ps.First(0).Verdict == 0)
		if !c.fits {
			require.Equal(t, UnschedulableAndUnresolvable, ps.Code(ps.First(0)))
			require.Equal(t, []string{"node(s) didn't match Pod's required features"}, ps.Reasons(ps.First(0), 0))
			require.NotZero(t, ps.First(1).Verdict, "a free slot declares nothing")
		}
	})
}

// The lists of filters have the order of the default profile.
func TestOrders(t *testing.T) {
	filters, before := plugins.DefaultAt(release.Current, "Filter"), plugins.DefaultAt(release.Current, "PreFilter")
	require.Len(t, filters, 14)
	require.Len(t, before, 14)
	require.Len(t, plugins.DefaultAt(release.V1_36, "PreFilter"), 11, "L2.5")
	at := 0
	for _, name := range filters {
		if at < len(before) && name == before[at] {
			at++
		}
	}
	require.Equal(t, len(before), at, "PreFilter has the order of Filter")
	require.Equal(t, []string{"DynamicResources", "DefaultPreemption"}, plugins.DefaultAt(release.Current, "PostFilter"))
	filters[0] = "changed"
	require.Equal(t, "NodeName", plugins.DefaultAt(release.Current, "Filter")[0], "each call returns a slice of its own")
}
