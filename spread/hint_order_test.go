package spread

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Hint takes the object before the event first: a node that comes may help, a node that leaves an only domain does not, and the error
// names the objects in this order.
func TestHintOrder(t *testing.T) {
	hint := Hint(Options{})
	pod := constrained("foo=bar", by("zone", 1, hard))
	with, without := nodeOf("n", "zone=a"), nodeOf("n", "")
	for _, c := range []struct {
		old, new any
		want     bool
	}{{with, without, true}, {without, with, true}, {nil, without, false}, {without, without, false}, {with, with, false}} {
		got, err := hint(pod, c.old, c.new)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v to %v", c.old, c.new)
	}
	_, err := hint(pod, with, pod)
	require.EqualError(t, err, "topology spread hint: want two pods or two nodes, one of them may be nil: have *v1.Node and *v1.Pod")
	got, err := hint(pod, podOf("other", "foo=bar"), nil)
	require.NoError(t, err)
	require.False(t, got, "a pod without a node")
	gone := podOf("other", "foo=bar")
	gone.Spec.NodeName = "n"
	got, err = hint(pod, gone, nil)
	require.NoError(t, err)
	require.True(t, got, "a matching pod leaves")
}

// The marks of a state are numbered. After the largest number the marks of earlier passes do not count.
func TestPassesBeginAgain(t *testing.T) {
	f := abxy().run("a*2 y", "foo=bar")
	scores := func(pass uint32) (out []int64) {
		s := mustSoft(t, constrained("foo=bar", by(zoneKey, 1, soft)), Options{}).count(f)
		s.pass = pass
		s.Weigh(slotsOf(f.all()), nil)
		for _, i := range f.all() {
			out = append(out, s.Raw(i))
		}
		return out
	}
	require.Equal(t, scores(1), scores(math.MaxUint32))
}
