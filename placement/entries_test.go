package placement_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
)

// Waiting pods of a tree are one entry; it is decided as DecideGroup decides, and a pod alone as Decide does.
func TestEntries(t *testing.T) {
	const two = "node n1:2; node n2:1; "
	type test struct {
		name, why, text string
		off             bool
		want            []string
	}
	testkit.Run(t, []test{
		{"alone", "pods without groups are entries", two + "pod a:1; pod b:3", false, []string{"a -> n1", "b: 0/2 nodes are available: 2 Insufficient cpu."}},
		{"a gang", "at the place of its first pod", two + "group g gang2; pod a:1 in=g; pod x:2; pod b:1 in=g", false, []string{"a b -> n1 n1", "x -> n1"}},
		{"too large", "nobody is placed", two + "group g gang2; pod a:2 in=g; pod b:2 in=g; pod x:1", false,
			[]string{"a b: pod group is unschedulable, minCount (2) cannot be satisfied: 1 scheduled, 0 remaining | 0/2 nodes are available: 2 Insufficient cpu.", "x -> n1"}},
		{"members on nodes", "count for the gate and the minimum", two + "group g gang2; pod r:1 in=g on=n2; pod a:1 in=g", false, []string{"a -> n1"}},
		{"too few", "the gate is the text", two + "group g gang3; pod a,b:1 in=g", false, []string{"a b: waiting for minCount pods from a gang to appear in scheduling queue"}},
		{"no object", "each pod waits for the object", two + "pod a,b:1 in=g", false, []string{"a: pod group d/g: no object of the group", "b: pod group d/g: no object of the group"}},
		{"a tree", "the groups of a composite group wait together", "gates=C; " + two + "composite job gang2; group g gang1 parent=job; group h gang1 parent=job; pod a:1 in=g; pod b:1 in=h", false, []string{"a b -> n1 n1"}},
		{"off", "without gates groups do not count", two + "group g gang3; pod a:1 in=g; pod b:3 in=g", true, []string{"a -> n1", "b: 0/2 nodes are available: 2 Insufficient cpu."}},
	}, func(t *testing.T, c test) {
		s, err := situation.Parse(c.text)
		require.NoError(t, err)
		snapshot, err := s.Snapshot()
		require.NoError(t, err)
		placer, err := placement.NewPlacer(snapshot, s.Profile())
		require.NoError(t, err)
		gates := &s.Gates
		if c.off {
			gates = nil
		}
		var got []string
		for _, e := range placement.Entries(snapshot, s.Queued, gates) {
			var names, nodes, texts []string
			for k, m := range placer.DecideEntry(e, placement.GroupOptions{Gates: s.Gates}) {
				require.Same(t, e.Pods[k], m.Pod)
				require.Equal(t, m.Placed(), m.Why() == nil)
				names = append(names, m.Pod.Name)
				if m.Placed() {
					nodes = append(nodes, m.Node)
				} else {
					texts = append(texts, m.Text)
					require.Equal(t, m.Text, m.Why().Text())
					require.Equal(t, filter.Unschedulable, m.Why().Code)
				}
			}
			if len(texts) == 0 {
				got = append(got, strings.Join(names, " ")+" -> "+strings.Join(nodes, " "))
				continue
			}
			if e.Gate != "" {
				texts = texts[:1]
			}
			got = append(got, strings.Join(names, " ")+": "+strings.Join(texts, " | "))
		}
		require.Equal(t, c.want, got)
	})
}

// An entry with a nil pod is an error of all its pods.
func TestEntryWithANilPod(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	placer, err := placement.NewPlacer(s, placement.DefaultProfile())
	require.NoError(t, err)
	pod := testkit.Pod("p").Obj()
	for _, e := range []placement.Entry{{Pods: []*v1.Pod{pod, nil}, Grouped: true}, {Pods: []*v1.Pod{pod, nil}, Gate: "waits"}} {
		out := placer.DecideEntry(e, placement.GroupOptions{})
		require.Len(t, out, 2)
		require.Equal(t, []any{filter.Error, "pod 1 of the entry is nil", false}, []any{out[0].Code, out[0].Text, out[0].Placed()})
	}
	require.Equal(t, "pod 0 of the entry is nil", placer.DecideEntry(placement.Entry{Pods: []*v1.Pod{nil}}, placement.GroupOptions{})[0].Text)
}
