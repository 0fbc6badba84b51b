package affinity_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
)

// TestPermutation: the order of nodes, pods, terms and labels does not matter.
func TestPermutation(t *testing.T) {
	for seed := range int64(testkit.Rounds(500)) {
		src := newSource(bytes(seed))
		w, p, options := src.world(), src.pod(), src.options()
		r := rand.New(rand.NewSource(seed))
		s := count(w, p, options)
		order := r.Perm(len(w.nodes))
		shuffled := &world{namespaces: maps.Clone(w.namespaces)}
		for _, i := range order {
			n := w.nodes[i].DeepCopy()
			pods := make([]*v1.Pod, len(w.pods[i]))
			for j, k := range r.Perm(len(pods)) {
				pods[j] = shuffleTerms(r, w.pods[i][k])
			}
			shuffled.nodes, shuffled.pods = append(shuffled.nodes, n), append(shuffled.pods, pods)
		}
		s2 := count(shuffled, shuffleTerms(r, p), options)
		for j, i := range order {
			require.Equal(t, s.Check(i), s2.Check(j), "seed %d", seed)
			require.Equal(t, s.Raw(i), s2.Raw(j), "seed %d", seed)
		}
		require.Equal(t, s.Skip(), s2.Skip())
		require.Equal(t, s.SkipScore(), s2.SkipScore())
	}
}

func shuffleTerms(r *rand.Rand, p *v1.Pod) *v1.Pod {
	p = p.DeepCopy()
	a, n, pa, pn := lists(p)
	r.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
	r.Shuffle(len(n), func(i, j int) { n[i], n[j] = n[j], n[i] })
	r.Shuffle(len(pa), func(i, j int) { pa[i], pa[j] = pa[j], pa[i] })
	r.Shuffle(len(pn), func(i, j int) { pn[i], pn[j] = pn[j], pn[i] })
	return p
}

// TestSignatureIsLocal: an event on one slot leaves the signatures of the other slots as they are.
func TestSignatureIsLocal(t *testing.T) {
	static := 0
	for seed := range int64(testkit.Rounds(1000)) {
		src := newSource(bytes(seed))
		w, p := src.world(), src.pod()
		if _, err := affinity.CompileFull(p, affinity.PodOptions{}); err != nil {
			continue
		}
		s := count(w, p, affinity.PodOptions{})
		type answer struct {
			signature, verdict string
		}
		snapshot := func() (out []answer) {
			for i := range w.nodes {
				out = append(out, answer{fmt.Sprint(s.Counts().AppendSignature(nil, i)), fmt.Sprint(s.Check(i), s.Raw(i))})
			}
			return out
		}
		keys, single := affinity.KeysOf(s)
		before := snapshot()
		local := s.Skip() && !slices.Contains(single, false) // counts of other nodes do not matter
		i := src.Below(len(w.nodes))
		s.Add(src.pod(), i)
		if now, _ := affinity.KeysOf(s); !slices.Equal(keys, now) {
			continue
		}
		for j, after := range snapshot() {
			if j == i {
				continue
			}
			require.Equal(t, before[j].signature, after.signature, "seed %d", seed)
			if local {
				static++
				require.Equal(t, before[j].verdict, after.verdict, "seed %d", seed)
			}
		}
	}
	require.Positive(t, static)
}

// TestWhich: two pods have the same state when the terms of running pods treat both alike and both agree in SelfAll.
func TestWhich(t *testing.T) {
	for seed := range int64(testkit.Rounds(700)) {
		src := newSource(bytes(seed))
		w, p := src.world(), src.pod()
		q := p.DeepCopy()
		q.Labels = src.pod().Labels
		same := true
		for i := range w.nodes {
			for _, e := range w.pods[i] {
				terms := affinity.CompileTerms(e)
				labels := w.namespaces[p.Namespace]
				if terms.Which(p, labels) != terms.Which(q, labels) {
					same = false
				}
				if terms.Len() > 0 {
					require.Equal(t, []uint64{terms.Which(p, labels)}, terms.AppendWhich(nil, p, labels))
				}
			}
		}
		s, s2 := count(w, p, affinity.PodOptions{}), count(w, q, affinity.PodOptions{})
		if !same || s.SelfAll() != s2.SelfAll() {
			continue
		}
		for i := range w.nodes {
			require.Equal(t, s.Check(i), s2.Check(i))
			require.Equal(t, s.Raw(i), s2.Raw(i))
		}
	}
	many := make([]string, 70)
	for i := range many {
		many[i] = "panti 1 zone app=x"
	}
	terms := affinity.CompileTerms(pod("d", "", many...))
	require.Equal(t, 70, terms.Len())
	require.Equal(t, []uint64{1<<64 - 1, 1<<6 - 1}, terms.AppendWhich(nil, pod("d", "app=x"), nil))
	require.Equal(t, uint64(1<<64-1), terms.Which(pod("d", "app=x"), nil))
	require.Nil(t, affinity.CompileTerms(pod("d", "")))
	require.Zero(t, affinity.CompileTerms(pod("d", "")).Which(pod("d", ""), nil))
}

// TestExplain: the explanation agrees with verdict and score.
func TestExplain(t *testing.T) {
	for seed := range int64(testkit.Rounds(700)) {
		src := newSource(bytes(seed))
		w, p := src.world(), src.pod()
		s := count(w, p, affinity.PodOptions{})
		for i := range w.nodes {
			v := s.Check(i)
			if v == affinity.Unparsable {
				require.Nil(t, s.Explain(i))
				continue
			}
			affinityHolds, anti, existing := true, false, false
			for _, x := range s.Explain(i) {
				switch {
				case x.Existing:
					existing = true
				case x.Anti:
					anti = anti || x.Count > 0
				default:
					affinityHolds = affinityHolds && x.Has && (x.Count > 0 || x.First)
				}
				if x.Has {
					require.Equal(t, w.nodes[i].Labels[x.Key], x.Value)
				}
			}
			require.Equal(t, v == affinity.PodAffinity, !affinityHolds)
			if affinityHolds {
				require.Equal(t, v == affinity.PodAntiAffinity, anti)
			}
			if affinityHolds && !anti {
				require.Equal(t, v == affinity.ExistingAntiAffinity, existing)
			}
		}
	}
	w := tableWorld().run("n1", pod("d", "app=x"), pod("d", "app=x"), pod("d", "", "anti rack app=p", "paff 3 zone app=p"))
	require.Equal(t, []affinity.Explanation{
		{Key: "zone", Value: "a", Has: true, Count: 2},
		{Anti: true, Key: "h", Value: "n1", Has: true, Count: 2},
		{Anti: true, Existing: true, Key: "rack", Value: "r1", Has: true, Count: 1},
	}, count(w, pod("d", "app=p", "aff zone app=x", "aff zone app", "anti h app=x"), affinity.PodOptions{}).Explain(0))
	require.Equal(t, []affinity.Explanation{{Anti: true, Key: "h", Value: "n1", Has: true, Count: 4}, {Anti: true, Existing: true, Key: "rack", Value: "r1", Has: true, Count: 1}},
		count(w, pod("d", "app=p", "anti h app=x", "anti h app"), affinity.PodOptions{}).Explain(0), "two terms of one key")
}

// TestPurity: no argument is modified.
func TestPurity(t *testing.T) {
	w := tableWorld().run("n1", pod("d", "app=x", "anti zone app=p", "paff 3 zone app=p nssel=env!=q ns=z,d,z"))
	p := pod("d", "app=p", "aff zone app=x ns=z,d,z nssel=env", "panti 2 h app=x")
	p.Spec.NodeSelector = map[string]string{"zone": "a"}
	p.Spec.Affinity.NodeAffinity = requiring(terms(fields(req("metadata.name", "In", "n2", "n1"), req("metadata.name", "In", "n1")),
		exprs(req("zone", "In", "b", "a")))).Spec.Affinity.NodeAffinity
	q := w.pods[0][0]
	call := func() {
		s := count(w, p, affinity.PodOptions{})
		s.Add(q, 1)
		tr := s.NewTrial()
		tr.Remove(q, 0)
		e, _ := affinity.CompileFullNodes(p, affinity.NodeOptions{})
		e.Names()
		ns := e.Onto(w)
		for i := range w.nodes {
			s.Check(i)
			tr.Check(i)
			s.Explain(i)
			ns.Check(i)
			ns.Explain(i)
		}
	}
	testkit.Unchanged(t, call, p, q)
	testkit.Unchanged(t, call, w.nodes...)
}

// TestNoAllocations: the verbs of hot loops allocate nothing.
func TestNoAllocations(t *testing.T) {
	w := tableWorld().run("n1", pod("d", "app=x", "anti zone app=p", "paff 3 zone app=p")).run("n3", pod("d", "app=x"))
	p := pod("d", "app=p,tier=w", "aff zone app=x", "anti h app=y", "paff 2 rack app=x")
	p.Spec.Affinity.NodeAffinity = requiring(terms(exprs(req("zone", "In", "a", "b"), req("g", "DoesNotExist")))).Spec.Affinity.NodeAffinity
	s := count(index(w), p, affinity.PodOptions{})
	effect := s.Effect(w.pods[0][0])
	trial := s.NewTrial()
	affinity.ApplyTrial(trial, effect, 0, -1)
	e, err := affinity.CompileFullNodes(p, affinity.NodeOptions{})
	require.NoError(t, err)
	classes, plain := e.Onto(index(w)), e.Onto(plainNodes{w.nodes})
	simple := pod("d", "app=x")
	trial.Add(simple, 0)
	trial.Remove(simple, 0)
	signature := make([]int32, 0, 64)
	for name, call := range map[string]func(i int){
		"Check":               func(i int) { s.Check(i) },
		"Raw":                 func(i int) { s.Raw(i) },
		"Apply":               func(i int) { s.Apply(effect, i, 1); s.Apply(effect, i, -1) },
		"AppendSignature":     func(i int) { s.Counts().AppendSignature(signature, i) },
		"Trial.Check":         func(i int) { trial.Check(i) },
		"Trial.Apply":         func(i int) { affinity.ApplyTrial(trial, effect, 0, 1); affinity.ApplyTrial(trial, effect, 0, -1) },
		"Trial.Add":           func(i int) { trial.Add(simple, 0); trial.Remove(simple, 0) },
		"NodeState.Check":     func(i int) { classes.Check(i); plain.Check(i) },
		"NodeState.Raw":       func(i int) { classes.Raw(i); plain.Raw(i) },
		"NodeEvaluator.Check": func(i int) { e.Check(w.nodes[i]) },
		"NodeState.Normalize": func(i int) { classes.Normalize(3, 0, 7) },
		"State.Normalize":     func(i int) { s.Normalize(3, 0, 7) },
	} {
		for i := range w.nodes {
			require.Zero(t, testing.AllocsPerRun(20, func() { call(i) }), "%s on slot %d", name, i)
		}
	}
}

// TestCounted: in a signature the number of a key with one node per domain is a count, and the number of a shared key is a
// domain.
func TestCounted(t *testing.T) {
	w := tableWorld().run("n1", pod("d", "app=x"))
	s := count(w, pod("d", "app=p", "aff zone app=x", "anti h app=x"), affinity.PodOptions{})
	keys, single := affinity.KeysOf(s)
	require.Equal(t, []string{"zone", "h"}, keys)
	require.Equal(t, []bool{false, true}, single)
	require.Len(t, s.Counts().AppendSignature(nil, 0), 4, "one number of zone, three of h")
}

func TestEmptyEffect(t *testing.T) {
	s := count(tableWorld(), pod("d", "app=p", "anti h app=x"), affinity.PodOptions{})
	require.Nil(t, s.OfLabels(pod("d", "app=y")))
	require.NotNil(t, s.OfLabels(pod("d", "app=x")))
	require.Nil(t, s.OfTerms(nil, 0, pod("d", "", "anti zone app=q")))
	require.NotNil(t, s.OfTerms(nil, 0, pod("d", "", "anti zone app=p")))
}

// TestErrors: every conversion error can be read by the caller.
func TestErrors(t *testing.T) {
	e, err := affinity.CompileFullNodes(requiring(terms(exprs(req("zone", "Bogus", "a")), exprs(req("zone", "In", "b")))), affinity.NodeOptions{})
	require.NoError(t, err, "v1.36.3 ignores such a term")
	require.ErrorContains(t, e.RequiredErr(), "Bogus")
	e, err = affinity.CompileFullNodes(requiring(terms(exprs(req("zone", "In", "b")))), affinity.NodeOptions{})
	require.NoError(t, err)
	require.NoError(t, e.RequiredErr())

	_, err = affinity.CompileFull(pod("d", "", "aff zone bogus"), affinity.PodOptions{})
	require.ErrorContains(t, err, "parsing pod: ")
	require.Error(t, errors.Unwrap(err))
}
