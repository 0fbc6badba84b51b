package gang

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation/question"
)

// The search and the proof by counting take parts of lists in copies: the kinds of a group and the nodes of a domain stay as they are.
func TestListsStay(t *testing.T) {
	q := question.Of(t, "gates=C; node n0:9; node a1:9 zone=a; composite job gang1; group x gang3 key=zone parent=job; pod p1:1 in=x; pod p2:2 in=x; pod p3:3 in=x")
	m, err := newModel(&q)
	require.NoError(t, err)
	root := m.kinds[0].leaf.Up
	c := &count{model: m, slots: m.slots, kinds: m.below(root), need: 1}
	require.Equal(t, []int{0, 1, 2}, c.kinds)
	require.Nil(t, c.large(), "one member is enough")
	require.Equal(t, []int{0, 1, 2}, c.kinds)

	f := &finder{model: m, plan: style{column: -1}, on: map[int]int{}}
	require.Equal(t, []int{2, 1, 0}, f.sorted(c.kinds), "large ones first")
	require.Equal(t, []int{0, 1, 2}, c.kinds)

	slots := []int{0, 1}
	require.Equal(t, []int{1}, f.within(m.kinds[0].leaf, slots), "n0 is in no zone")
	require.Equal(t, []int{0, 1}, slots)
}

// A node like another one has the first free name behind the name of that node, and its hostname is that name.
func TestLike(t *testing.T) {
	n := testkit.Node("n").Label(v1.LabelHostname, "n").Obj()
	n.GenerateName = "pool-"
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{n, testkit.Node("n-more-1").Obj()}})
	require.NoError(t, err)
	again := like(n, s)
	require.Equal(t, [2]string{"n-more-2", "n-more-2"}, [2]string{again.Name, again.Labels[v1.LabelHostname]})
	require.Equal(t, "n", n.Labels[v1.LabelHostname])
}

// A pod keeps off all members only by a term that selects each of them: keys of labels make it select some.
func TestRepels(t *testing.T) {
	q := question.Of(t, "node n1:9; group g gang2; pod a,b:1 in=g label=app=m apart=kubernetes.io/hostname=m")
	m, err := newModel(&q)
	require.NoError(t, err)
	c := &count{model: m, slots: m.slots, kinds: m.below(m.kinds[0].leaf), need: 2}
	pod := q.Queued[0].DeepCopy()
	term := &pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	require.True(t, c.repels(pod, v1.LabelHostname))
	require.False(t, c.repels(pod, v1.LabelTopologyZone))
	term.MatchLabelKeys = []string{"rev"}
	require.False(t, c.repels(pod, v1.LabelHostname))
	term.MatchLabelKeys, term.MismatchLabelKeys = nil, []string{"rev"}
	require.False(t, c.repels(pod, v1.LabelHostname))
	term.MismatchLabelKeys, term.Namespaces = nil, []string{"other"}
	require.False(t, c.repels(pod, v1.LabelHostname))
}
