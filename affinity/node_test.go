package affinity_test

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

func preferring(ts ...v1.PreferredSchedulingTerm) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: ts}}}}
}

func prefer(weight int32, r ...v1.NodeSelectorRequirement) v1.PreferredSchedulingTerm {
	return v1.PreferredSchedulingTerm{Weight: weight, Preference: exprs(r...)}
}

func compileNode(t *testing.T, p *v1.Pod, added *v1.NodeAffinity) *affinity.FullNodes {
	t.Helper()
	a, err := affinity.CompileAdded(added)
	require.NoError(t, err)
	e, err := affinity.CompileFullNodes(p, a)
	if err != nil {
		require.EqualError(t, err, "pod affinity terms conflict")
	}
	return e
}

// plainNodes hides the optional method Classes of a world.
type plainNodes struct{ nodes []*v1.Node }

func (p plainNodes) Len() int            { return len(p.nodes) }
func (p plainNodes) Node(i int) *v1.Node { return p.nodes[i] }

func nodeScores(s *affinity.FullNode, n int) (raw, score []int64) {
	for i := range n {
		raw = append(raw, s.Raw(i))
	}
	score = append(score, raw...)
	s.NormalizeAll(score)
	return raw, score
}

func TestNames(t *testing.T) {
	name := func(op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return req("metadata.name", op, values...)
	}
	conflict := fields(name("In", "n1"), name("In", "n2"))
	type test struct {
		name, why string
		terms     *v1.NodeSelector
		want      string
		pinned    bool
	}
	testkit.Run(t, []test{
		{"none", "no required affinity", nil, "", false},
		{"no terms", "nothing to narrow by", terms(), "", false},
		{"A-20", "one name", terms(fields(name("In", "n1"))), "n1", true},
		{"A-21", "all listed values, though two never match", terms(fields(name("In", "n2", "n1"))), "n1 n2", true},
		{"A-22", "nothing in common", terms(conflict), "", true},
		{"A-23", "the union over the terms", terms(conflict, fields(name("In", "n3"))), "n3", true},
		{"A-24", "a term without names lets in every node", terms(conflict, exprs(req("zone", "In", "a"))), "", false},
		{"A-25", "expressions beside the name do not matter", terms(v1.NodeSelectorTerm{
			MatchFields: reqs{name("In", "n1")}, MatchExpressions: reqs{req("zone", "In", "b")}}), "n1", true},
		{"A3.8 NotIn", "only In narrows", terms(fields(name("NotIn", "n1"))), "", false},
		{"A3.8 other key", "only metadata.name narrows", terms(fields(req("metadata.uid", "In", "n1"))), "", false},
		{"A3.8 empty term", "an empty term has no names", terms(fields(name("In", "n1")), v1.NodeSelectorTerm{}), "", false},
		{"A3.8 union", "sorted, each once", terms(fields(name("In", "n2")), fields(name("In", "n1")), fields(name("In", "n2"))), "n1 n2", true},
	}, func(t *testing.T, tc test) {
		e, err := affinity.CompileFullNodes(requiring(tc.terms), affinity.NodeOptions{})
		names, pinned := e.Names()
		require.Equal(t, tc.pinned, pinned)
		require.Equal(t, tc.want, strings.Join(names, " "))
		if tc.pinned && tc.want == "" {
			require.EqualError(t, err, "pod affinity terms conflict")
			require.Equal(t, resources.Verdict(affinity.TermsConflict), e.Check(node("n1", "")))
		} else {
			require.NoError(t, err)
		}
		if pinned && err == nil { // a node whose name is not in the list never matches
			for _, n := range tableNodes() {
				if !strings.Contains(tc.want, n.Name) {
					require.NotZero(t, e.Check(n))
				}
			}
		}
	})
}

func TestNodeScore(t *testing.T) {
	w := newWorld(tableNodes()...)
	type test struct {
		name, why  string
		pod        *v1.Pod
		raw, score []int64
	}
	testkit.Run(t, []test{
		{"A-31", "100*raw/max, truncated", preferring(prefer(3, req("zone", "In", "a")), prefer(7, req("zone", "In", "b"))),
			[]int64{3, 7, 0, 0, 0}, []int64{42, 100, 0, 0, 0}},
		{"A-32", "an empty preference adds nothing", preferring(prefer(100), prefer(10, req("zone", "In", "a"))),
			[]int64{10, 0, 0, 0, 0}, []int64{100, 0, 0, 0, 0}},
		{"A-33", "what is wrong in a term of weight 0 is not looked at", preferring(prefer(0, req("zone", "Bogus")), prefer(10, req("zone", "In", "a"))),
			[]int64{10, 0, 0, 0, 0}, []int64{100, 0, 0, 0, 0}},
		{"A-34", "nothing matches", preferring(prefer(10, req("zone", "In", "q"))), make([]int64, 5), make([]int64, 5)},
		{"A4.1 sum", "the weights of all matching terms", preferring(prefer(3, req("g", "Exists")), prefer(5, req("g", "Gt", "6")),
			v1.PreferredSchedulingTerm{Weight: 2, Preference: fields(req("metadata.name", "In", "n3"))}),
			[]int64{3, 8, 5, 3, 8}, []int64{37, 100, 62, 37, 100}},
	}, func(t *testing.T, tc test) {
		e := compileNode(t, tc.pod, nil)
		_, err := e.SkipScore()
		require.NoError(t, err)
		for _, s := range []*affinity.FullNode{e.Onto(w), e.Onto(index(w))} {
			raw, score := nodeScores(s, 5)
			require.Equal(t, tc.raw, raw)
			require.Equal(t, tc.score, score)
		}
	})
	t.Run("A-33 error", func(t *testing.T) {
		e := compileNode(t, preferring(prefer(1, req("zone", "In", "a")), prefer(5, req("zone", "Bogus"))), nil)
		_, err := e.SkipScore()
		require.ErrorContains(t, err, `[1].matchExpressions[0].operator: Unsupported value: "Bogus"`)
		e = compileNode(t, preferring(prefer(5, req("zone", "In", "bad value!"))), nil)
		_, err = e.SkipScore()
		require.ErrorContains(t, err, `[0].matchExpressions[0].values[0]`, "although the API server accepts it")
	})
	t.Run("A-35", func(t *testing.T) {
		s := compileNode(t, preferring(prefer(-5, req("zone", "In", "a"))), nil).Onto(w)
		require.Equal(t, int64(-5), s.Raw(0))
		all := []int64{-5, -5}
		s.NormalizeAll(all)
		require.Equal(t, []int64{-5, -5}, all, "negative: the attempt fails on the range")
	})
}

func TestNodeSkips(t *testing.T) {
	added := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(exprs(req("zone", "Exists"))),
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{prefer(1, req("zone", "Exists"))}}
	type test struct {
		name, why     string
		pod           *v1.Pod
		added         *v1.NodeAffinity
		filter, score bool
	}
	testkit.Run(t, []test{
		{"A3.9 nothing", "nothing to do", &v1.Pod{}, nil, true, true},
		{"A3.9 empty selector", "an empty map is not skipped", &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{}}}, nil, false, true},
		{"A3.9 required", "required affinity", requiring(terms()), nil, false, true},
		{"A3.9 added", "the profile's terms", &v1.Pod{}, added, false, false},
		{"A4.5 added", "preferred terms of the profile alone", requiring(terms()), added, false, false},
		{"A4.5 nil list", "nothing to score", preferring(), nil, true, true},
		{"A4.5 non-nil list", "an empty list is scored", &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{}}}}}, nil, true, false},
	}, func(t *testing.T, tc test) {
		e := compileNode(t, tc.pod, tc.added)
		require.Equal(t, tc.filter, e.Skip())
		skip, err := e.SkipScore()
		require.NoError(t, err)
		require.Equal(t, tc.score, skip)
	})
}

func TestAdded(t *testing.T) {
	added := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(exprs(req("zone", "Exists"))),
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{prefer(10, req("zone", "In", "b"))}}
	w := newWorld(tableNodes()...)
	t.Run("A-40", func(t *testing.T) {
		s := compileNode(t, &v1.Pod{}, added).Onto(w)
		for i := range 5 {
			if i < 2 {
				require.Zero(t, s.Check(i))
				continue
			}
			require.Equal(t, resources.Verdict(affinity.NodeEnforced), s.Check(i))
			require.Equal(t, []string{"node(s) didn't match scheduler-enforced node affinity"}, s.Reasons(s.Check(i)))
		}
		_, score := nodeScores(s, 2)
		require.Equal(t, []int64{0, 100}, score)
		_, score = nodeScores(compileNode(t, preferring(prefer(4, req("zone", "In", "a"))), added).Onto(w), 2)
		require.Equal(t, []int64{40, 100}, score)
	})
	t.Run("A5.1 error", func(t *testing.T) {
		_, err := affinity.CompileAdded(&v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(exprs(req("zone", "Bogus")))})
		require.ErrorContains(t, err, `addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: `)
	})
	t.Run("A5.2 no terms", func(t *testing.T) {
		e := compileNode(t, &v1.Pod{}, &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms()})
		require.Equal(t, resources.Verdict(affinity.NodeEnforced), e.Check(w.nodes[0]), "a required list without terms rejects every node")
	})
	t.Run("A3.6 order", func(t *testing.T) {
		e := compileNode(t, requiring(terms()), added)
		require.Equal(t, resources.Verdict(affinity.NodeMismatch), e.Check(w.nodes[0]))
		require.Equal(t, resources.Verdict(affinity.NodeEnforced), e.Check(w.nodes[2]), "the profile's terms are tested first")
		require.Equal(t, []string{"node(s) didn't match Pod's node affinity/selector"}, affinity.Reasons(affinity.NodeMismatch))
	})
}

// TestNodeClasses: with classes, without classes and by a slow evaluation of the parts the answers are the same.
func TestNodeClasses(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 3000 {
		checkNodeClasses(t, r)
	}
}

func FuzzNodeClasses(f *testing.F) {
	f.Add(bytes(1))
	f.Fuzz(func(t *testing.T, data []byte) { checkNodeClasses(t, rand.New(testkit.NewBytes(data))) })
}

func checkNodeClasses(t *testing.T, r *rand.Rand) {
	pick := func(list ...string) string { return list[r.Intn(len(list))] }
	requirement := func() v1.NodeSelectorRequirement {
		q := req(pick("zone", "g", "missing"), v1.NodeSelectorOperator(pick("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Bogus")))
		for range r.Intn(3) {
			q.Values = append(q.Values, pick("a", "b", "5", "7", "bad value!"))
		}
		return q
	}
	term := func() (n v1.NodeSelectorTerm) {
		for range r.Intn(3) {
			n.MatchExpressions = append(n.MatchExpressions, requirement())
		}
		if r.Intn(4) == 0 {
			n.MatchFields = append(n.MatchFields, req("metadata.name", v1.NodeSelectorOperator(pick("In", "NotIn")), pick("n1", "n2")))
		}
		return n
	}
	nodeAffinity := func() *v1.NodeAffinity {
		a := &v1.NodeAffinity{}
		if r.Intn(2) == 0 {
			a.RequiredDuringSchedulingIgnoredDuringExecution = terms(term(), term())
		}
		for range r.Intn(3) {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
				v1.PreferredSchedulingTerm{Weight: int32(r.Intn(100)), Preference: term()})
		}
		return a
	}
	nodes := append(tableNodes(), nil)
	p := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: nodeAffinity()}}}
	if r.Intn(3) == 0 {
		p.Spec.NodeSelector = map[string]string{"zone": pick("a", "b")}
	}
	added, err := affinity.CompileAdded(nodeAffinity())
	if err != nil {
		require.Zero(t, added)
	}
	e, _ := affinity.CompileFullNodes(p, added)
	w := &world{nodes: nodes, pods: make([][]*v1.Pod, len(nodes))}
	fast, slow := e.Onto(&indexed{world: w}), e.Onto(plainNodes{nodes})
	ids, _, _ := (&indexed{world: w}).Classes(fast.Reads(nil))
	known := map[int32]int{}
	for i, n := range nodes {
		require.Equal(t, slow.Check(i), fast.Check(i))
		require.Equal(t, slow.Raw(i), fast.Raw(i))
		require.Equal(t, slow.Explain(i), fast.Explain(i))
		x := fast.Explain(i)
		if n != nil {
			if j, ok := known[ids[i]]; ok {
				require.Equal(t, fast.Check(j), fast.Check(i))
				require.Equal(t, fast.Raw(j), fast.Raw(i))
			}
			known[ids[i]] = i
		}
		if n == nil {
			require.Equal(t, resources.Verdict(affinity.NodeMismatch), fast.Check(i))
			continue
		}
		require.Equal(t, affinity.MatchNode(p, n), !slices.ContainsFunc(x, ofPod) && !emptyRequired(p))
	}
}

// ofPod reports whether a text of Explain is about the pod and not about the profile.
func ofPod(text string) bool { return !strings.HasPrefix(text, "profile term ") }

// emptyRequired reports whether all required terms are empty, so that there is nothing to explain.
func emptyRequired(p *v1.Pod) bool {
	s := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if s == nil {
		return false
	}
	for _, t := range s.NodeSelectorTerms {
		if len(t.MatchExpressions)+len(t.MatchFields) > 0 {
			return false
		}
	}
	return true
}

func TestExplainNode(t *testing.T) {
	p := requiring(terms(exprs(req("zone", "In", "q"), req("g", "Exists")), exprs(req("g", "Bogus")), fields(req("metadata.name", "NotIn", "n1"))))
	p.Spec.NodeSelector = map[string]string{"disk": "ssd", "zone": "a"}
	x := compileNode(t, p, nil).Explain(tableNodes()[0])
	require.Len(t, x, 4)
	require.Equal(t, "node selector: the node lacks disk=ssd", x[0])
	require.Equal(t, "term 1: does not hold: zone in (q)", x[1])
	require.Regexp(t, "^term 2 never matches: .*Bogus", x[2])
	require.Equal(t, "term 3: does not hold: metadata.name notin (n1)", x[3])

	added := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(exprs(req("zone", "In", "q")))}
	empty := &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{"none": ""}}}
	x = compileNode(t, empty, added).Explain(tableNodes()[0])
	require.Equal(t, []string{"node selector: the node lacks none=", "profile term 1: does not hold: zone in (q)"}, x)
	nameless := &v1.Node{}
	require.Empty(t, compileNode(t, requiring(terms(fields(req("metadata.name", "In", "n1")))), nil).Explain(nameless))
	both := requiring(terms(v1.NodeSelectorTerm{MatchExpressions: reqs{req("zone", "In", "q")}, MatchFields: reqs{req("metadata.name", "In", "n1"), req("metadata.name", "In", "n2")}}))
	require.Equal(t, []string{"term 1: does not hold: zone in (q)"}, compileNode(t, both, nil).Explain(nameless), "no field of a node without a name is tested")
	require.Equal(t, []string{"term 1: does not hold: zone in (q), metadata.name in (n2)"}, compileNode(t, both, nil).Explain(node("n1", "")))
}
