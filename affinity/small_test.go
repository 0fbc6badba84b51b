package affinity

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// v1.36.3's texts of the verdicts.
func TestReasonTexts(t *testing.T) {
	require.Equal(t, []string{"node(s) didn't match scheduler-enforced node affinity"}, reasonTexts(nodeEnforced))
	require.Equal(t, []string{"node(s) didn't match Pod's node affinity/selector"}, reasonTexts(nodeMismatch))
	require.Equal(t, []string{"pod affinity terms conflict"}, reasonTexts(termsConflict))
	require.Equal(t, []string{"node(s) didn't match pod affinity rules"}, reasonTexts(podAffinityUnmet))
	require.Equal(t, []string{"node(s) didn't match pod anti-affinity rules"}, reasonTexts(podAntiAffinity))
	require.Equal(t, []string{"node(s) didn't satisfy existing pods anti-affinity rules"}, reasonTexts(existingAntiAffinity))
	require.Equal(t, []string{"parsing pod"}, reasonTexts(unparsable))
	require.Nil(t, reasonTexts(0))
}

// The error of a hint names the kinds of the objects in their order.
func TestEventObjects(t *testing.T) {
	_, _, err := eventObjects[v1.Node](&v1.Node{}, &v1.Pod{})
	require.EqualError(t, err, "objects of an event: got *v1.Node and *v1.Pod, want *v1.Node")
	_, _, err = eventObjects[v1.Node](&v1.Pod{}, nil)
	require.EqualError(t, err, "objects of an event: got *v1.Pod and <nil>, want *v1.Node")
	before, after, err := eventObjects[v1.Node](nil, &v1.Node{})
	require.NoError(t, err)
	require.Nil(t, before)
	require.NotNil(t, after)
}

// A label has one of 64 bits, and all bits are used.
func TestPairBit(t *testing.T) {
	var all uint64
	for i := range 2000 {
		b := pairBit(fmt.Sprint(i*7919, "/app"), "web")
		require.Equal(t, 1, bits.OnesCount64(b))
		all |= b
	}
	require.Equal(t, ^uint64(0), all)
	for _, pair := range [][2]string{{"", ""}, {"app", "web"}, {"app", ""}, {"example.com/tier", "back=end"}} {
		h := fnv.New64a()
		_, err := fmt.Fprintf(h, "%s=%s", pair[0], pair[1])
		require.NoError(t, err)
		require.Equal(t, uint64(1)<<(h.Sum64()>>58), pairBit(pair[0], pair[1]), "%q", pair)
	}
	require.NotEqual(t, pairsOf(map[string]string{"ab": "c", "x": "y"}), pairsOf(map[string]string{"a": "bc", "x": "y"}))
}

// Every name is in the list once, in the order of its first addition, in short and in long lists.
func TestReads(t *testing.T) {
	var r reads
	var want []string
	for i := range 3 * longReads {
		for k := range i + 1 {
			r.add(fmt.Sprint("label:", k))
		}
		want = append(want, fmt.Sprint("label:", i))
		require.Equal(t, want, r.names)
	}
	var all reads
	all.addAll(slices.Concat(want, want))
	require.Equal(t, want, all.names)
}

// A count that leaves 0 or comes back to 0 changes the number of counts that are not 0.
func TestColumnAdd(t *testing.T) {
	c := &column{values: 2}
	var counts []int32
	for k, step := range []struct{ domain, n, change int32 }{{1, 2, 1}, {1, 1, 0}, {1, 0, 0}, {1, -3, -1}, {1, 0, 0}, {0, -1, 1}, {0, 1, -1}} {
		require.EqualValues(t, step.change, c.add(&counts, step.domain, step.n), "step %d", k)
	}
}

// The explanation of a term names the requirements that do not hold.
func TestExplainFields(t *testing.T) {
	field := func(op v1.NodeSelectorOperator, name string) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: op, Values: []string{name}}}}
	}
	s, err := CompileSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{field(v1.NodeSelectorOpIn, "n2"), field(v1.NodeSelectorOpNotIn, "n1")}})
	require.NoError(t, err)
	node := &v1.Node{}
	node.Name = "n1"
	require.Equal(t, []string{"term 1: does not hold: metadata.name in (n2)", "term 2: does not hold: metadata.name notin (n1)"}, s.explain(nil, "term", node))
}

// A memo compiles the terms of a set once for each representative. It keeps no set with a negative id or an id that is too large.
func TestMemoTerms(t *testing.T) {
	rep := func() *v1.Pod {
		anti := &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone"}}}
		return &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAntiAffinity: anti}}}
	}
	first, second := rep(), rep()
	for id, kept := range map[int32]bool{-1: false, 0: true, 7: true, remembered - 1: true, remembered: false, remembered + 1: false} {
		var m Memo
		compiled := m.terms(id, first)
		require.Equal(t, 1, compiled.size(), "set %d", id)
		require.Equal(t, kept, compiled == m.terms(id, first), "set %d", id)
		require.NotSame(t, compiled, m.terms(id, second), "set %d: another representative", id)
		if kept {
			require.Len(t, m.entries, int(id)+1)
			m.terms(id/2, first)
			require.Len(t, m.entries, int(id)+1, "a smaller id needs no more memory")
		} else {
			require.Empty(t, m.entries)
		}
	}
	require.Equal(t, 1, (*Memo)(nil).terms(3, first).size())
}

// Keys ends when its caller breaks off.
func TestKeysBreak(t *testing.T) {
	s := &State{columns: []column{{key: "zone", unique: true}, {key: "rack"}}}
	for key, single := range s.Keys {
		require.Equal(t, "zone", key)
		require.True(t, single)
		break
	}
}

// A count that no pod changes takes no memory.
func TestCountMemory(t *testing.T) {
	s := &State{}
	made := func(c cell) [4]bool {
		col := &column{values: 1}
		s.count(col, &c, 0, 1)
		return [4]bool{col.affinity != nil, col.anti != nil, col.existing != nil, col.score != nil}
	}
	require.Equal(t, [4]bool{}, made(cell{}))
	require.Equal(t, [4]bool{true, false, false, false}, made(cell{affinity: 1}))
	require.Equal(t, [4]bool{false, true, false, false}, made(cell{anti: 1}))
	require.Equal(t, [4]bool{false, false, true, false}, made(cell{existing: 1}))
	require.Equal(t, [4]bool{false, false, false, true}, made(cell{marks: 1}))
	require.Equal(t, [4]bool{true, true, true, true}, made(cell{affinity: 2, anti: 2, existing: 2, marks: 2}))
}
