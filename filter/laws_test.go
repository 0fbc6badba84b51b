package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One worked example of each law that the random tests check.
func TestLaws(t *testing.T) {
	t.Run("every form gives one answer", func(t *testing.T) {
		running, p := pod("running", "cpu", "3"), pod("p", "cpu", "2")
		full, free := newWorld(node("n", "cpu", "4", "pods", "9")).put(0, running), newWorld(node("n", "cpu", "4", "pods", "9"))
		s := CompileFit(p, FitOptions{}).On(full.resolve())
		require.Equal(t, []string{"Insufficient cpu"}, s.Reasons(s.Check(0)))
		require.Equal(t, s.Check(0), s.CheckRow(0, full.Allocatable(0), full.Requested(0)))
		require.Equal(t, s.Explain(0), Lacks(p, full.nodes[0], full.pods[0], FitOptions{}))
		trial := s.NewTrial()
		require.Equal(t, s.Check(0), trial.Check(0))
		trial.Remove(running, 0)
		require.Zero(t, trial.Check(0))
		require.Zero(t, CompileFit(p, FitOptions{}).On(free.resolve()).Check(0))
		require.Empty(t, Lacks(p, free.nodes[0], nil, FitOptions{}))
	})
	t.Run("more capacity and fewer pods add no reason", func(t *testing.T) {
		p := pod("p", "cpu", "2", "memory", "2")
		w := newWorld(node("lacks both", "cpu", "1", "memory", "1", "pods", "9"), node("more cpu", "cpu", "2", "memory", "1", "pods", "9")).
			put(0, pod("a")).put(1, pod("b"))
		s := CompileFit(p, FitOptions{}).On(w.resolve())
		require.Equal(t, []string{"Insufficient cpu", "Insufficient memory"}, s.Reasons(s.Check(0)))
		require.Equal(t, []string{"Insufficient memory"}, s.Reasons(s.Check(1)))
		trial := s.NewTrial()
		trial.Remove(w.pods[1][0], 1)
		require.Equal(t, []string{"Insufficient memory"}, s.Reasons(trial.Check(1)))
	})
	t.Run("a pod that leaves takes no port", func(t *testing.T) {
		web, other := withPorts(pod("web"), port("", "", 80)), withPorts(pod("other"), port("", "", 81))
		w := newWorld(node("n"), node("m")).put(0, web, other).put(1, other)
		s := CompilePorts(withPorts(pod("p"), port("", "", 80))).On(w)
		trial := s.NewTrial()
		for i, want := range []bool{false, true} {
			require.Equal(t, want, s.Check(i) == 0)
			trial.Remove(other, i)
			require.Equal(t, want, trial.Check(i) == 0)
		}
		trial.Remove(web, 0)
		require.Zero(t, trial.Check(0))
		require.Zero(t, CompilePorts(withPorts(pod("p"), port("", "", 80))).On(newWorld(node("n"))).Check(0))
	})
}
