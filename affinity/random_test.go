package affinity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// source has the choices of this package.
type source struct{ *testkit.Bytes }

func newSource(data []byte) *source { return &source{testkit.NewBytes(data)} }

func (s *source) pick(list ...string) string { return testkit.Pick(s.Bytes, list...) }

func bytes(seed int64) []byte { return testkit.RandomBytes(uint64(seed), 600) }

func (s *source) world() *world {
	var nodes []*v1.Node
	for i := range 1 + s.Below(6) {
		var l []string
		if s.Below(5) > 0 {
			l = append(l, fmt.Sprint("h=n", i))
		}
		if s.Below(4) > 0 {
			l = append(l, "zone="+s.pick("a", "b"))
		}
		if s.Below(3) > 0 {
			l = append(l, "rack="+s.pick("r1", "r2", "a"))
		}
		nodes = append(nodes, node(fmt.Sprint("n", i), strings.Join(l, ",")))
	}
	w := newWorld(nodes...)
	for _, ns := range []string{"d", "o", "q"} {
		if s.Below(4) > 0 {
			w.namespace(ns, s.pick("", "env=prod", "env=dev"))
		}
	}
	for range s.Below(8) {
		i := s.Below(len(nodes))
		w.pods[i] = append(w.pods[i], s.pod())
	}
	return w
}

func (s *source) pod() *v1.Pod {
	var l, t []string
	if s.Below(4) > 0 {
		l = append(l, "app="+s.pick("x", "y"))
	}
	if s.Below(2) > 0 {
		l = append(l, "tier="+s.pick("w", "v"))
	}
	for range s.Below(4) {
		t = append(t, s.term())
	}
	p := pod(s.pick("d", "d", "o", "q"), strings.Join(l, ","), t...)
	if s.Below(6) == 0 {
		p = terminating(p)
	}
	return p
}

func (s *source) term() string {
	kind := s.pick("aff", "anti", "paff", "panti")
	if strings.HasPrefix(kind, "p") {
		kind += " " + s.pick("1", "7", "100", "0")
	}
	bad := s.Below(60) == 0
	sel := s.pick("app=x", "app=x", "app=y", "app=x|y", "{}", "nil", "app!=x", "tier", "app=x,tier=w", "!tier")
	if bad {
		sel = "bogus"
	}
	t := kind + " " + s.pick("zone", "zone", "h", "h", "rack", "missing") + " " + sel
	switch s.Below(6) {
	case 0:
		t += " ns=" + s.pick("o", "d", "d,o,d", "q,o,d")
	case 1:
		t += " nssel=" + s.pick("{}", "env=prod", "env!=prod", "!env")
	case 2:
		t += " ns=q nssel=" + s.pick("{}", "env=prod", "env!=prod", "env")
	}
	return t
}

func (s *source) options() (o affinity.PodOptions) {
	switch s.Below(4) {
	case 0:
		o = weight(int32(s.Below(3)))
	case 1:
		o.IgnorePreferredTermsOfExistingPods = true
	case 2:
		o.Release = release.V1_37
	}
	return o
}

// requireState compares a state with a fresh oracle of the world.
func requireState(t *testing.T, w *world, o *oracle, s *affinity.Full, why string) {
	t.Helper()
	for i := range w.nodes {
		require.Equal(t, o.check(i), s.Check(i), "%s: verdict of %s", why, w.nodes[i].Name)
		if o.parses() {
			require.Equal(t, o.raw(i), s.Raw(i), "%s: score of %s", why, w.nodes[i].Name)
		}
	}
	if o.parses() {
		require.Equal(t, o.ignoreMoves, s.Skip(), "%s: skip", why)
		require.Equal(t, len(o.score) == 0, s.SkipScore(), "%s: score skip", why)
	} else {
		require.True(t, s.SkipScore(), "%s: nothing is counted", why)
		require.False(t, s.Skip(), "%s: the pod is rejected", why)
	}
}

func testRandom(t *testing.T, data []byte) {
	src := newSource(data)
	w, p, options := src.world(), src.pod(), src.options()
	e, err := affinity.CompileFull(p, options)
	o := newOracle(w, p, options)
	require.Equal(t, o.parses(), err == nil)
	s := e.Counted(w)
	requireState(t, w, o, s, "plain")
	var memo engine.Memo
	requireState(t, w, o, e.CountedWith(index(w), &memo), "indexed")
	requireState(t, w, o, e.Counted(struct {
		*world
		podSets
	}{w, index(w)}), "only pod sets")
	requireState(t, w, o, e.Counted(struct {
		*world
		termSets
	}{w, index(w)}), "only term sets")
	sp := e.Counted(sparse(w))
	for i := range w.nodes {
		require.Equal(t, s.Check(i), sp.Check(2*i))
		require.Equal(t, s.Raw(i), sp.Raw(2*i))
	}
	requireSignatures(t, w, s)
	if labels, known := w.namespaces[p.Namespace]; o.parses() {
		require.Equal(t, s.SelfAll(), e.SelfAll(labels, known))
		require.Equal(t, o.matchesAll(p), s.SelfAll())
	}

	// A trial changes as the maps of the oracle do, and the state does not change.
	trial := s.NewTrial()
	if o.parses() {
		for range 1 + src.Below(5) {
			i, q, n := src.Below(len(w.nodes)), src.pod(), 1
			if src.Below(2) == 0 && len(w.pods[i]) > 0 {
				q, n = w.pods[i][src.Below(len(w.pods[i]))], -1
			}
			if o.move(q, w.nodes[i], n); n > 0 {
				trial.Add(q, i)
			} else {
				trial.Remove(q, i)
			}
			for j := range w.nodes {
				require.Equal(t, o.check(j), trial.Check(j), "trial")
			}
		}
	}
	requireState(t, w, newOracle(w, p, options), s, "after a trial")
	trial.Reset()
	for i := range w.nodes {
		require.Equal(t, s.Check(i), trial.Check(i), "reset")
	}

	// A state that follows additions and removals equals a fresh count. Half of the changes use kept effects.
	for range 1 + src.Below(6) {
		i := src.Below(len(w.nodes))
		q, n := src.pod(), int32(1)
		if len(w.pods[i]) > 0 && src.Below(2) == 0 {
			k := src.Below(len(w.pods[i]))
			q, n = w.pods[i][k], -1
			w.pods[i] = append(w.pods[i][:k:k], w.pods[i][k+1:]...)
		} else {
			w.pods[i] = append(w.pods[i], q)
		}
		switch {
		case src.Below(2) == 0:
			s.OfLabels(q).By(i, n)
			s.OfTerms(nil, 0, q).By(i, n)
		case n > 0:
			s.Add(q, i)
		default:
			s.Remove(q, i)
		}
		requireState(t, w, newOracle(w, p, options), s, "moved")
		requireSignatures(t, w, s)
	}
}

// requireSignatures: nodes of equal signature have the same verdict and score, and the listed slots are those with a count
// in their signature.
func requireSignatures(t *testing.T, w *world, s *affinity.Full) {
	t.Helper()
	seen := map[string]int{}
	for i := range w.nodes {
		sig := fmt.Sprint(s.Counts().AppendSignature(nil, i))
		if j, ok := seen[sig]; ok {
			require.Equal(t, s.Check(j), s.Check(i))
			require.Equal(t, s.Raw(j), s.Raw(i))
		}
		seen[sig] = i
	}
	slots := s.Counts().AppendCountedSlots(nil)
	_, counted := affinity.KeysOf(s)
	for i := range w.nodes {
		has, numbers := false, s.Counts().AppendSignature(nil, i)
		for _, c := range counted {
			if !c {
				numbers = numbers[1:]
				continue
			}
			has, numbers = has || numbers[0] > 0 || numbers[1] != 0 || numbers[2] != 0, numbers[3:]
		}
		require.Equal(t, has, slices.Contains(slots, int32(i)), "slot %d", i)
	}
}

func TestRandom(t *testing.T) {
	for seed := range int64(testkit.Rounds(2000)) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { testRandom(t, bytes(seed)) }) {
			return
		}
	}
}

func FuzzPods(f *testing.F) {
	for seed := range int64(5) {
		f.Add(bytes(seed))
	}
	f.Fuzz(testRandom)
}
