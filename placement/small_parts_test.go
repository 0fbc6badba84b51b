package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A member counts in the fullness of a domain with the defaults of the score: 100m of cpu and 200Mi of memory where it asks for none.
func TestRequestOfAMember(t *testing.T) {
	pod := testkit.Pod("p").Request("example.com/gpu=2").Obj()
	require.Equal(t, []int64{100, 200 << 20, 2, 0}, []int64{requestOf(pod, "cpu"), requestOf(pod, "memory"), requestOf(pod, "example.com/gpu"), requestOf(pod, "ephemeral-storage")})
	pod = testkit.Pod("p").Request("cpu=3,memory=5").Obj()
	require.Equal(t, []int64{3000, 5}, []int64{requestOf(pod, "cpu"), requestOf(pod, "memory")})
}

// Within a placement the nodes with nominated pods are those of the placement. A caller who chooses a node gets the decision for it.
func TestSlotsOfNominated(t *testing.T) {
	var o cluster.Objects
	for _, name := range []string{"a", "b", "c", "d"} {
		o.Nodes = append(o.Nodes, testkit.Node(name).Capacity("cpu=4,pods=9").Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, []int{2}, p.slotsOfNominated(&Options{NominatedSlots: []int{1, 2}, within: []int{2, 3}}))
	require.Equal(t, []int{1, 2}, p.slotsOfNominated(&Options{NominatedSlots: []int{1, 2}}))
	require.Equal(t, []int{2, 3}, p.slotsOfNominated(&Options{within: []int{2, 3}}))
	require.Equal(t, []int{0, 1, 2, 3}, p.slotsOfNominated(&Options{}))
	attempt := p.Prepare(testkit.Pod("p").Obj())
	require.False(t, attempt.Rejected())
	d := attempt.Decision(2)
	require.Equal(t, []any{2, "c"}, []any{d.Slot, d.Node})
	require.Equal(t, Decision{Slot: -1}, attempt.Decision(7))
}
