package placement

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release/plugins"
)

// Callers distinguish the errors of this package by errors.Is and errors.As. A call that fails changes nothing.
func TestErrors(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{Nodes: threeZones()})
	pod, large := testkit.Pod("p").Request("cpu=1").Obj(), testkit.Pod("large").Request("cpu=16").Obj()
	d := p.Decide(pod, Options{})
	require.NoError(t, p.Assume(pod, d))
	_, unknown := PluginArgs{}.Plugin("NoSuchPlugin")
	_, undecided := PluginArgs{}.Plugin(plugins.DefaultBinder)
	_, exists := p.WithNodes(testkit.Node("a1").Obj())
	_, missing := p.WithNodes(nil)
	_, infeasible := p.Choice(large, d.Slot)
	_, outside := p.Choice(pod, 100)
	type test struct {
		name, why string
		err, is   error
		text      string
	}
	testkit.Run(t, []test{
		{"unknown plugin", "a configuration may name any plugin", unknown, ErrUnknownPlugin, `plugin "NoSuchPlugin": no such plugin`},
		{"plugin that decides about no node", "it is in v1.36 and not here", undecided, ErrUnknownPlugin, `plugin "DefaultBinder": no such plugin`},
		{"infeasible node", "a rejected node was not chosen", infeasible, ErrNotFeasible, ""},
		{"slot without a node", "no decision chose this node", outside, ErrNotFeasible, "slot 100: the node is not feasible"},
	}, func(t *testing.T, c test) {
		require.ErrorIs(t, c.err, c.is)
		if c.text != "" {
			require.EqualError(t, c.err, c.text)
		}
	})
	requireType(t, exists, field.ErrorTypeDuplicate, "names of nodes are unique")
	require.ErrorIs(t, exists, cluster.ErrDuplicate)
	require.EqualError(t, exists, `nodes[0].metadata.name: Duplicate value: "a1"`)
	requireType(t, missing, field.ErrorTypeRequired, "the snapshot refuses nil")
	requireType(t, p.Assume(pod, d), field.ErrorTypeDuplicate, "a pod runs once")
	require.ErrorIs(t, p.Assume(pod, d), cluster.ErrPlaced)
	require.ErrorIs(t, p.Assume(large, Decision{Slot: 100}), cluster.ErrUnknownNode)
	requireType(t, p.Forget(large), field.ErrorTypeNotFound, "there is nothing to take back")
	requireType(t, p.Assume(large, Decision{Slot: 100}), field.ErrorTypeNotFound, "the node left since")
	var none *NoPlaceError
	require.ErrorAs(t, p.Assume(large, p.Decide(large, Options{})), &none)
	require.Equal(t, filter.Unschedulable, none.Code)
	require.EqualError(t, p.Assume(large, Decision{Slot: -1}), "pod default/large: the decision has no node")
	require.NoError(t, errors.Unwrap(p.Assume(large, Decision{Slot: -1})))
	broken := errors.New("broken")
	require.ErrorIs(t, p.Assume(large, Decision{Slot: -1, Failure: &Failure{Code: filter.Error, Err: broken}}), broken, "the error of a plugin")
	require.Equal(t, 1, podsOn(s))
	require.Equal(t, 5, len(s.Order()))
}

// requireType holds that an error is a *field.Error of a type.
func requireType(t *testing.T, err error, want field.ErrorType, why string) {
	t.Helper()
	var got *field.Error
	require.ErrorAs(t, err, &got, why)
	require.Equal(t, want, got.Type, why)
}

// A profile that scores with InterPodAffinity and does not filter with it fails with the words of PreScore.
func TestUnreadableTerms(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	bad := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}}
	preferred := []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: bad}}
	pod := testkit.Pod("p").Obj()
	pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}}
	both := pod.DeepCopy()
	both.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	whole, scoreOnly := DefaultProfile(), DefaultProfile()
	scoreOnly.Filters = slices.DeleteFunc(scoreOnly.Filters, func(p *Plugin) bool { return p.Name == plugins.InterPodAffinity })
	const list = `preferredAffinityTerms: "Near" is not a valid label selector operator`
	type test struct {
		name, why string
		profile   Profile
		pod       *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"filter and score", "PreFilter comes first and rejects the pod", whole, pod, "0/5 nodes are available: parsing pod: " + list + "."},
		{"score alone", "PreScore fails", scoreOnly, pod, `running PreScore plugin "InterPodAffinity": failed to parse pod: ` + list},
		{"two lists", "both are named", scoreOnly, both, `running PreScore plugin "InterPodAffinity": failed to parse pod: [` + list +
			`, preferredAntiAffinityTerms: "Near" is not a valid label selector operator]`},
	}, func(t *testing.T, c test) {
		p, err := New(s, c.profile)
		require.NoError(t, err)
		for range 3 {
			f := p.Decide(c.pod, Options{}).Failure
			require.NotNil(t, f)
			if f.Err != nil {
				require.EqualError(t, f.Err, c.want)
			} else {
				require.Equal(t, c.want, f.Text())
			}
		}
	})
}

// A preferred node term and a ScheduleAnyway constraint that cannot be read are errors of PreScore, however often the pod is asked about.
func TestUnreadableWishes(t *testing.T) {
	node, spread := testkit.Pod("p").Obj(), testkit.Pod("p").Spread(1, v1.LabelTopologyZone, v1.ScheduleAnyway, "app=x").Obj()
	node.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
		{Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: "Near"}}}}}}}
	spread.Spec.TopologySpreadConstraints[0].LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	p, _ := planOf(t, cluster.Objects{Nodes: threeZones()})
	for want, pod := range map[string]*v1.Pod{plugins.NodeAffinity: node, plugins.PodTopologySpread: spread} {
		for range 3 {
			f := p.Decide(pod, Options{}).Failure
			require.NotNil(t, f, want)
			require.ErrorContains(t, f.Err, `running PreScore plugin "`+want+`": `)
		}
	}
}
