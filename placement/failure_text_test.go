package placement

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// A caller may change any part of a failure's message: the text follows. The failure of an equal pod keeps its text.
func TestTextFollowsTheMessage(t *testing.T) {
	term := v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"b1"}}}}
	p, _ := planOf(t, cluster.Objects{Nodes: threeZones()})
	decide := func() *Failure {
		return p.Decide(testkit.Pod("p").Request("cpu=16").RequireNodes(term).Obj(), Options{}).Failure
	}
	before := decide().Text()
	require.Equal(t, "0/5 nodes are available: 1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [NodeAffinity].", before)
	type test struct {
		name   string
		change func(f *Failure)
	}
	testkit.Run(t, []test{
		{"nodes", func(f *Failure) { f.Message.Nodes++ }},
		{"before any node", func(f *Failure) { f.Message.PreFilter = "x" }},
		{"after all nodes", func(f *Failure) { f.Message.PostFilter = "x" }},
		{"number of absent nodes", func(f *Failure) { f.Message.AbsentNodes++ }},
		{"absent", func(f *Failure) { f.Message.Absent = []string{"x"} }},
		{"another absent", func(f *Failure) { f.Message.Absent = append(f.Message.Absent, "x") }},
		{"other reasons", func(f *Failure) { f.Message.Reasons = []filter.Count{{Reason: "Insufficient cpu", Nodes: 2}} }},
		{"another reason", func(f *Failure) { f.Message.Reasons = append(f.Message.Reasons, filter.Count{Reason: "x", Nodes: 1}) }},
	}, func(t *testing.T, c test) {
		f := decide()
		c.change(f)
		require.NotEqual(t, before, f.Text())
		require.Equal(t, f.Message.String(), f.Text())
		require.Equal(t, before, decide().Text())
	})
	shared := decide()
	require.NotNil(t, shared.shown, "equal pods share the text")
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = shared.Text() }), "the text is not made again")
	own := decide() // nobody shares its lists
	own.Message.Reasons[0].Nodes++
	require.Equal(t, own.Message.String(), own.Text(), "a reason")
	own = decide()
	own.Message.Absent[0] = "x"
	require.Equal(t, own.Message.String(), own.Text(), "an absent plugin")
	none := Failure{Code: filter.Unschedulable}
	require.Equal(t, filter.NoNodes, none.Text())
	none.Err = errors.New("broken")
	require.Equal(t, "broken", none.Text())
}

// A pod that may go to one node and to another node only goes to none.
func TestConflictingNodes(t *testing.T) {
	p, _ := planOf(t, cluster.Objects{Nodes: threeZones()})
	only := func(node string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}
	}
	pod := testkit.Pod("p").RequireNodes(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{only("a1"), only("b1")}}).Obj()
	f := p.Decide(pod, Options{}).Failure
	require.Equal(t, "0/5 nodes are available: pod affinity terms conflict.", f.Text())
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = f.Text() }), "the text is not made again")
	require.Equal(t, filter.UnschedulableAndUnresolvable, f.Code)
}

// A stored failure that had an error has its text when it is read back.
func TestStoredErrorReadBack(t *testing.T) {
	data, err := json.Marshal(Failure{Code: filter.Error, Err: errors.New("broken")})
	require.NoError(t, err)
	var back Failure
	require.NoError(t, json.Unmarshal(data, &back))
	require.EqualError(t, back.Err, "broken")
	require.Equal(t, "broken", back.Text())
	for _, c := range []filter.Code{filter.Error, filter.Unschedulable, filter.UnschedulableAndUnresolvable, filter.Pending} {
		data, err := json.Marshal(Failure{Code: c, Message: filter.Message{Nodes: 3}})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, c, back.Code)
		require.NoError(t, back.Err)
	}
}
