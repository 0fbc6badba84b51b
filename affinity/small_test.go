package affinity

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
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
		var m memo
		compiled := m.terms(id, first)
		require.Equal(t, 1, compiled.Len(), "set %d", id)
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
	require.Equal(t, 1, (*memo)(nil).terms(3, first).Len())
}

// Keys ends when its caller breaks off.
func TestKeysBreak(t *testing.T) {
	s := &state{columns: []column{{key: "zone", unique: true}, {key: "rack"}}}
	for key, single := range s.Counts().Keys {
		require.Equal(t, "zone", key)
		require.True(t, single)
		break
	}
}

// A count that no pod changes takes no memory.
func TestCountMemory(t *testing.T) {
	s := &state{}
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

// A slot behind the last one has no domain.
func TestDomain(t *testing.T) {
	c := &column{ids: []int32{4, -1}}
	for i, want := range map[int]int32{0: 4, 1: -1, 2: -1, 3: -1} {
		require.Equal(t, want, c.domain(i), "slot %d", i)
	}
}

// An effect has one cell for each topology key.
func TestEffectAt(t *testing.T) {
	var e effect
	e.at("zone").anti++
	e.at("rack").anti++
	e.at("zone").anti++
	require.Equal(t, effect{{key: "zone", anti: 2}, {key: "rack", anti: 1}}, e)
}

// The signature of a node that shares no domain says whether it has the key, which counts are above 0, and the score.
func TestAppendSignature(t *testing.T) {
	s := &state{columns: []column{{unique: true, ids: []int32{0, 1, 2, 3, -1}, affinity: []int32{1, 0, 0, 0}, anti: []int32{0, 1, 0, 0}, existing: []int32{0, 0, 1}, score: []int64{0, 0, 0, -3 << 40}}}}
	for i, want := range [][]int32{{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {0, 0, -3 << 8}, {-1, 0, 0}} {
		require.Equal(t, want, s.Counts().AppendSignature(nil, i), "slot %d", i)
	}
	require.Equal(t, []int32{0, 1, 2, 3}, s.Counts().AppendCountedSlots(nil))
}

// Names of namespaces that a selector adds do not come into the term.
func TestBindKeepsTerm(t *testing.T) {
	names := append(make([]string, 0, 8), "m")
	selector, err := labels.Parse("a")
	require.NoError(t, err)
	own := term{names: names, nsSelector: selector}
	b := own.bind(maps.All(map[string]map[string]string{"b": {"a": ""}, "c": {}}), true)
	require.Equal(t, []string{"b", "m"}, b.names)
	require.Equal(t, []string{"m"}, own.names)
}

// A pod may have affinity alone or anti-affinity alone.
func TestCompileTermsOfOneKind(t *testing.T) {
	list := []v1.PodAffinityTerm{{TopologyKey: "zone"}}
	affinity := &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: list}
	anti := &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: list}
	require.Equal(t, 1, compileTerms(&v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAffinity: affinity}}}).Len())
	require.Equal(t, 1, compileTerms(&v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAntiAffinity: anti}}}).Len())
	require.Nil(t, compileTerms(&v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{}}}))
	require.Equal(t, []uint64{7}, (*terms)(nil).appendWhich([]uint64{7}, &v1.Pod{}, nil))
}

// Reads lists what a selector reads, each name once, behind the names that the caller has.
func TestSelectorReads(t *testing.T) {
	expression := func(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	s, err := CompileSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{expression("b", v1.NodeSelectorOpExists), expression("a", v1.NodeSelectorOpExists)}})
	require.NoError(t, err)
	require.Equal(t, []string{"label:b", "label:a"}, s.Reads(nil))
	require.Equal(t, []string{"name", "label:a", "label:b"}, s.Reads([]string{"name", "label:a"}))
	require.Equal(t, []string{"name"}, (*Selector)(nil).Reads([]string{"name"}))

	bad := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{expression("c", "Bogus", "x"), expression("a", v1.NodeSelectorOpExists), expression("d", v1.NodeSelectorOpIn)}}
	s, err = CompileSelector(bad)
	require.EqualError(t, err, `[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Bogus": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", `+
		`nodeSelectorTerms[2].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty]`)
	require.Equal(t, []string{"label:a"}, s.Reads(nil))
	for _, selector := range []map[string]string{nil, {"x": "y"}} {
		pod := &v1.Pod{Spec: v1.PodSpec{NodeSelector: selector, Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: bad}}}}
		_, got := CompileRequired(pod)
		require.Equal(t, err, got)
	}
}
