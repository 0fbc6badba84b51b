package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/engine"
)

// A trial forgets at Reset, counts a key that the state does not have once, rejects free slots and pods with terms that cannot be converted, and
// ignores changes for a pod that the filter skips.
func TestTrial(t *testing.T) {
	w := newWorld(node("n1", "zone=a,h=n1"), node("n2", "zone=b,h=n2"), nil).namespace("d", "").run("n1", pod("d", "app=x"))
	near := count(w, pod("d", "app=x", "aff zone app=x"), affinity.PodOptions{})
	trial := near.NewTrial()
	trial.Remove(pod("d", "app=x"), 0)
	require.Zero(t, trial.Check(1), "the pod is the first of its group")
	trial.Reset()
	trial.Add(pod("d", "app=y", "anti h app=x"), 0)
	require.Equal(t, affinity.ExistingAntiAffinity, trial.Check(0))
	require.Equal(t, affinity.PodAffinity, trial.Check(1), "there is a group again")
	trial.Remove(pod("d", "app=y", "anti h app=x"), 0)
	require.Zero(t, trial.Check(0), "came and left")
	require.Equal(t, affinity.PodAffinity, trial.Check(2), "a free slot")
	require.Equal(t, affinity.PodAffinity, count(w, pod("d", "app=q", "anti zone app=x"), affinity.PodOptions{}).Check(2), "a free slot")

	apart := count(w, pod("d", "app=q", "anti zone app=x"), affinity.PodOptions{}).NewTrial()
	apart.Add(pod("d", "app=x"), 1)
	require.Equal(t, affinity.PodAntiAffinity, apart.Check(1))
	require.NotZero(t, apart.Check(2), "a free slot, after a change")

	plain := count(w, pod("d", "app=x"), affinity.PodOptions{})
	require.True(t, plain.Skip())
	trial = plain.NewTrial()
	trial.(engine.MovingTerms).OfTerms(nil, 0, pod("d", "", "anti zone app=x")).By(0, 1)
	require.Zero(t, trial.Check(0), "the filter skips the pod")

	bogus := count(w, pod("d", "app=x", "anti zone bogus", "aff zone app=x"), affinity.PodOptions{}).NewTrial()
	bogus.Add(pod("d", "app=x"), 0)
	require.Equal(t, affinity.Unparsable, bogus.Check(0))

	gone := count(w, pod("d", "app=x", "aff zone app=x"), affinity.PodOptions{})
	w.nodes[0] = nil
	require.Empty(t, gone.Explain(0)[0].Value, "the node has left since")
}

// Free slots have no score.
func TestFreeSlots(t *testing.T) {
	w := newWorld(node("n1", "zone=a"), nil)
	e := compileNode(t, preferring(prefer(5, req("zone", "Exists"))), nil)
	for _, s := range []*affinity.FullNode{e.Onto(w), e.Onto(index(w))} {
		require.EqualValues(t, 5, s.Raw(0))
		require.Zero(t, s.Raw(1))
		require.NotZero(t, s.Check(1))
	}
}
