package spread

import (
	"fmt"
	"slices"
	"testing"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

const worlds = 4000

// forWorlds runs a check on many worlds, and adds their seeds to a fuzz test.
func forWorlds(t *testing.T, check func(t testing.TB, w world)) {
	for seed := range int64(testkit.Rounds(worlds)) {
		check(t, decode(randomBytes(seed)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// views are the same cluster without and with indexes.
func views(f *fake) map[string]Cluster {
	return map[string]Cluster{"plain": f, "indexed": index(f, 0), "spare numbers": index(f, 3)}
}

func checkVerdicts(t testing.TB, w world) {
	slow := newSlowHard(w.pod, w.fake, w.options)
	h := mustHard(t, w.pod, w.options)
	for kind, c := range views(w.fake) {
		s := h.count(c)
		for i := range w.nodes {
			if got, want := s.Check(i), slow.check(i); got != want {
				t.Errorf("%s: slot %d: verdict %x, want %x", kind, i, got, want)
			}
		}
	}
}

func checkScores(t testing.TB, w world) {
	feasible := w.feasible()
	wantRaw, want := slowScores(w.pod, w.fake, w.options, feasible)
	p := mustSoft(t, w.pod, w.options)
	for kind, c := range views(w.fake) {
		s := p.count(c)
		for range 2 { // a second pass begins from the start
			raw, score := pass(s, feasible)
			if !slices.Equal(raw, wantRaw) || !slices.Equal(score, want) {
				t.Errorf("%s: raw %v score %v, want %v %v", kind, raw, score, wantRaw, want)
			}
			_, _ = pass(s, w.all())
		}
	}
}

// checkMoves adds and removes pods on states and trials. It compares with fresh counts, and with the oracle's what-if.
func checkMoves(t testing.TB, w world) {
	h, p := mustHard(t, w.pod, w.options), mustSoft(t, w.pod, w.options)
	x := index(w.fake, 1)
	hs, ss := h.count(x), p.count(x)
	start := h.count(w.fake)
	slow := newSlowHard(w.pod, w.fake, w.options)
	trial := start.NewTrial()
	copied := hs.clone()
	nodes := w.all()
	if len(nodes) == 0 {
		return
	}
	for step := range w.next.Below(12) {
		i := nodes[w.next.Below(len(nodes))]
		if running := w.pods[i]; len(running) > 0 && w.next.Below(2) == 1 {
			j := w.next.Below(len(running))
			hs.Remove(running[j], i)
			ss.Remove(running[j], i)
			trial.Remove(running[j], i)
			slow.whatIf(running[j], i, -1)
			w.pods[i] = slices.Delete(slices.Clone(running), j, j+1)
		} else {
			q := randomPod(w.next, fmt.Sprint("new", step))
			hs.apply(h.effect(q), i, 1)
			ss.apply(p.effect(q), i, 1)
			trial.Add(q, i)
			slow.whatIf(q, i, 1)
			w.pods[i] = append(slices.Clone(running), q)
		}
		compareHard(t, hs, h.count(w.fake))
		compareSoft(t, w, ss, p.count(w.fake))
		for i := range w.nodes {
			if got, want := trial.Check(i), slow.check(i); got != want {
				t.Errorf("trial: slot %d: %x, want %x", i, got, want)
			}
		}
	}
	trial.Reset()
	for i := range w.nodes {
		if got, want := trial.Check(i), start.Check(i); got != want {
			t.Errorf("after Reset: slot %d: %x, want %x", i, got, want)
		}
		if got, want := copied.Check(i), start.Check(i); got != want {
			t.Errorf("clone: slot %d: %x, want %x", i, got, want)
		}
	}
}

func compareHard(t testing.TB, got, want *hardState) {
	for i := range got.slots {
		if g, w := got.Check(i), want.Check(i); g != w {
			t.Errorf("moved state: slot %d: %x, fresh count %x", i, g, w)
		}
	}
	for k := range got.cols {
		if got.cols[k].low != want.cols[k].low {
			t.Errorf("moved state: constraint %d: minimum %d, fresh count %d", k, got.cols[k].low, want.cols[k].low)
		}
	}
}

func compareSoft(t testing.TB, w world, got, want *softState) {
	feasible := w.all()
	a, b := pass(got, feasible)
	c, d := pass(want, feasible)
	if !slices.Equal(a, c) || !slices.Equal(b, d) {
		t.Errorf("moved state: raw %v score %v, fresh count %v %v", a, b, c, d)
	}
}

// checkCountedSlots: the listed slots are those with a count in their signature, and perhaps ignored ones.
func checkCountedSlots(t testing.TB, nodes []int, s engine.Counts, ignored func(int) bool) {
	counted, slots := singles(s), s.AppendCountedSlots(nil)
	for _, i := range nodes {
		has := false
		for k, n := range s.AppendSignature(nil, i) {
			has = has || counted[k] && n > 0
		}
		listed := slices.Contains(slots, int32(i))
		if has != listed && (has || ignored == nil || !ignored(i)) {
			t.Errorf("slot %d: a count in its signature: %v, listed: %v", i, has, listed)
		}
	}
}

// checkSignatures: slots of equal signature have equal verdicts and raw scores, a pass over one node of each group equals a
// pass over all nodes, and events on other slots do not change a signature.
func checkSignatures(t testing.TB, w world) {
	x := index(w.fake, w.next.Below(2))
	h, p := mustHard(t, w.pod, w.options), mustSoft(t, w.pod, w.options)
	hs, ss := h.count(x), p.count(x)
	nodes := w.all()
	type group struct {
		rep int
		n   int32
	}
	sign := func(i int) string {
		return fmt.Sprint(hs.Counts().AppendSignature(nil, i), ss.Counts().AppendSignature(nil, i))
	}
	groups := map[string]*group{}
	for _, i := range nodes {
		if g := groups[sign(i)]; g != nil {
			g.n++
		} else {
			groups[sign(i)] = &group{i, 1}
		}
	}
	want, _ := pass(ss, nodes)
	var slots, counts []int32
	for _, g := range groups {
		slots, counts = append(slots, int32(g.rep)), append(counts, g.n)
	}
	ss.Weigh(slots, counts)
	checkCountedSlots(t, nodes, hs.Counts(), nil)
	checkCountedSlots(t, nodes, ss.Counts(), ss.Ignored)
	before := map[int]string{}
	for j, i := range nodes {
		g := groups[sign(i)]
		if got := ss.Raw(g.rep); got != want[j] {
			t.Errorf("slot %d: raw %d, its group's %d has %d", i, want[j], g.rep, got)
		}
		if hs.Check(i) != hs.Check(g.rep) {
			t.Errorf("slot %d and %d: equal signature, different verdicts", i, g.rep)
		}
		before[i] = sign(i)
	}
	if len(nodes) == 0 {
		return
	}
	i := nodes[w.next.Below(len(nodes))]
	q := randomPod(w.next, "new")
	hs.Add(q, i)
	ss.Add(q, i)
	for _, j := range nodes {
		if j != i && sign(j) != before[j] {
			t.Errorf("signature of slot %d changed by a pod on slot %d", j, i)
		}
	}
	if h.selectors.counting|p.selectors.counting == 0 && sign(i) != before[i] {
		t.Errorf("no selector counts the pod, but a signature changed")
	}
}

// checkLaws: the order of the nodes does not matter, a larger maxSkew rejects no more nodes, an empty domain allows no
// more.
func checkLaws(t testing.TB, w world) {
	s := mustHard(t, w.pod, w.options).count(w.fake)
	turned := &fake{nodes: slices.Clone(w.nodes), pods: slices.Clone(w.pods)}
	slices.Reverse(turned.nodes)
	slices.Reverse(turned.pods)
	r := mustHard(t, w.pod, w.options).count(turned)
	wider := w.pod.DeepCopy()
	for k := range wider.Spec.TopologySpreadConstraints {
		wider.Spec.TopologySpreadConstraints[k].MaxSkew++
	}
	wide := mustHard(t, wider, w.options).count(w.fake)
	more := &fake{nodes: slices.Clone(w.nodes), pods: slices.Clone(w.pods)}
	more.addNode(nodeOf("fresh", host+"=fresh,"+zoneKey+"=fresh,rack=fresh"))
	empty := mustHard(t, w.pod, w.options).count(more)
	for i := range w.nodes {
		if got, want := r.Check(len(w.nodes)-1-i), s.Check(i); got != want {
			t.Errorf("permutation: slot %d: %x, want %x", i, got, want)
		}
		if s.Check(i) == 0 && wide.Check(i) != 0 {
			t.Errorf("slot %d: a larger maxSkew rejects", i)
		}
		if s.Check(i) != 0 && empty.Check(i) == 0 {
			t.Errorf("slot %d: an empty domain allows", i)
		}
	}
}

func checkAll(t testing.TB, w world) {
	rest := w.next
	for _, check := range []func(testing.TB, world){checkVerdicts, checkScores, checkSignatures, checkLaws, checkMoves} {
		w.next = rest.Copy()
		check(t, w)
	}
}

func TestVerdictsAgainstOracle(t *testing.T) { forWorlds(t, checkVerdicts) }
func TestScoresAgainstOracle(t *testing.T)   { forWorlds(t, checkScores) }
func TestMovesAgainstCount(t *testing.T)     { forWorlds(t, checkMoves) }
func TestSignatures(t *testing.T)            { forWorlds(t, checkSignatures) }
func TestLaws(t *testing.T)                  { forWorlds(t, checkLaws) }

func FuzzSpread(f *testing.F) {
	for seed := range int64(20) {
		f.Add(randomBytes(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAll(t, decode(data)) })
}

// FuzzReports checks what is said of the nodes, the room of domains, and which replicas are deleted.
func FuzzReports(f *testing.F) {
	for seed := range int64(20) {
		f.Add(randomBytes(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkExplain(t, decode(data))
		checkRoom(t, decode(data))
		checkScaleDown(t, decode(data))
	})
}

// TestWorldsReachEverything: each kind of verdict and score occurs in the random tests.
func TestWorldsReachEverything(t *testing.T) {
	verdict, ignored, planned, defaulted, minimum := map[resources.Verdict]int{}, 0, 0, 0, 0
	for seed := range int64(worlds) {
		w := decode(randomBytes(seed))
		h, p := mustHard(t, w.pod, w.options), mustSoft(t, w.pod, w.options)
		s, q := h.count(w.fake), p.count(w.fake)
		for _, i := range w.all() {
			verdict[s.Check(i)]++
			if q.Ignored(i) {
				ignored++
			}
		}
		if h.Defaulted() || p.Defaulted() {
			defaulted++
		}
		for k := range s.cols {
			if s.cols[k].low > 0 {
				minimum++
			}
			if len(s.cols[k].counts) > s.cols[k].domains {
				planned++
			}
		}
	}
	for what, n := range map[string]int{"allowed": verdict[0], "missing": verdict[missingLabel], "skew": verdict[skewExceeded],
		"ignored": ignored, "planned": planned, "defaulted": defaulted, "minimum above 0": minimum} {
		if n < 50 {
			t.Errorf("%s: only %d", what, n)
		}
	}
}

// singles returns by constraint whether its number in a signature is a count of the node.
func singles(c engine.Counts) (out []bool) {
	for _, single := range c.Keys {
		out = append(out, single)
	}
	return out
}
