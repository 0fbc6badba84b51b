package preemption

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The lists of a caller stay as they are: scores without the nil ones, candidates in the order of their nodes.
func TestListsStay(t *testing.T) {
	score := func(Candidate) int64 { return 1 }
	scores := []func(Candidate) int64{nil, score}
	found := []Candidate{{Node: "n2"}, {Node: "n1"}}
	choose(found, make([]*criteria, 2), scores)
	require.Nil(t, scores[0])
	require.NotNil(t, scores[1])
	out, err := (&Request{}).extend(found)
	require.NoError(t, err)
	require.Equal(t, "n1", out[0].Node)
	require.Equal(t, "n2", found[0].Node)
}

// A pod has the priority of its unit when the unit names it, and its own beside pods of its namespace in a unit.
func TestPriorityOfUnits(t *testing.T) {
	in, out := testkit.Pod("in").Priority(1).Obj(), testkit.Pod("out").Priority(2).Obj()
	r := &Request{Options: Options{Units: []Unit{{Pods: []*v1.Pod{nil, in}, Priority: new(int32(9))}}}}
	require.EqualValues(t, 9, r.unitPriority(in))
	require.EqualValues(t, 2, r.unitPriority(out))
}
