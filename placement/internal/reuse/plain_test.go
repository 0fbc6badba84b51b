package reuse

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// The plugins of this file read labels of the pod. They fail, reject with reasons of their own for a node, or score out of range, for
// some pods and on some nodes.
type kind struct {
	name string
	s    *cluster.Snapshot
	pod  *v1.Pod
	c    calls
}

func (k kind) Name() string                         { return k.name }
func (k kind) Reasons(v resources.Verdict) []string { return []string{fmt.Sprint(k.name, " ", v)} }
func (k kind) Partial(v resources.Verdict) bool     { return v == partialVerdict }
func (k kind) ReasonsAt(i int) []string {
	return []string{fmt.Sprint(k.name, " of ", k.s.Node(i).Name)}
}
func (k kind) Code(v resources.Verdict) filter.Code {
	if v == errorVerdict {
		return filter.Error
	}
	return filter.Unschedulable
}

const partialVerdict, errorVerdict resources.Verdict = 8, 9

// verdict is the answer of a plugin about nodes with some value of its label: what the pod's label of the plugin's name says.
func (k kind) verdict(value string) resources.Verdict {
	switch k.pod.Labels[k.name] {
	case value:
		return 3
	case "partial-" + value:
		return partialVerdict
	case "error-" + value:
		return errorVerdict
	}
	return 0
}

func (k kind) label(i int, name string) string { return k.s.Node(i).Labels[name] }

// pools is a filter and a score of group Statics over the labels pool and grade.
type pools struct{ kind }

func (x pools) Check(i int) resources.Verdict {
	x.c["pools check"]++
	return x.verdict(x.label(i, "pool"))
}

func (x pools) Raw(i int) int64 {
	x.c["pools raw"]++
	raw, _ := strconv.Atoi(x.label(i, "grade"))
	return int64(raw)
}

// signedPools says by numbers how its answers depend on a node, readPools by the labels that it reads.
type (
	signedPools struct{ pools }
	readPools   struct{ pools }
)

func (x signedPools) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(x.verdict(x.label(i, "pool"))), int32(x.pools.Raw(i)))
}

func (readPools) Reads(dst []string) []string { return append(dst, "label:pool", "label:grade") }

// ranked turns the grades into 0 to 100. Nodes of grade 7 are left out.
type ranked struct{ readPools }

func (ranked) Normalize(raw, lo, hi int64) int64 {
	if hi == lo {
		return 50
	}
	return 100 * (raw - lo) / (hi - lo)
}

func (x ranked) Ignored(i int) bool { return x.label(i, "grade") == "7" }

// sizes is a filter and a score of group Rows over cpu.
type sizes struct{ kind }

func (x sizes) left(allocatable, requested resources.Vector) int64 {
	return allocatable.At(resources.CPU) - requested.At(resources.CPU) - x.pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
}

func (x sizes) judge(allocatable, requested resources.Vector) resources.Verdict {
	switch left := x.left(allocatable, requested); {
	case left == 1000:
		return x.verdict("one")
	case left >= 0:
		return 0
	}
	return cmp.Or(x.verdict("full"), 1)
}

func (x sizes) rate(allocatable, requested resources.Vector) int64 {
	most, _ := strconv.ParseInt(x.pod.Labels["most"], 10, 64)
	return max(x.left(allocatable, requested)/100%100, most*(x.left(allocatable, requested)/4000))
}

func (x sizes) Check(i int) resources.Verdict {
	x.c["sizes check"]++
	return x.judge(x.s.Allocatable(i), x.s.Requested(i))
}

func (x sizes) Raw(i int) int64 {
	x.c["sizes raw"]++
	return x.rate(x.s.Allocatable(i), x.s.Requested(i))
}

// rowSizes takes the rows from the engine, boxSizes answers about boxes of rows, too.
type (
	rowSizes struct{ sizes }
	boxSizes struct{ rowSizes }
)

func (x rowSizes) CheckRow(_ int, allocatable, requested resources.Vector) resources.Verdict {
	x.c["sizes row"]++
	return x.judge(allocatable, requested)
}

func (x rowSizes) RawRow(_ int, allocatable, requested resources.Vector, _, _ int64) int64 {
	x.c["sizes raw row"]++
	return x.rate(allocatable, requested)
}

func (x boxSizes) CheckRows(allocatable, requested [2]resources.Vector) (resources.Verdict, bool) {
	x.c["sizes rows"]++
	least, most := x.left(allocatable[0], requested[1]), x.left(allocatable[1], requested[0])
	switch {
	case least == most:
		return x.judge(allocatable[0], requested[1]), true
	case most < 0:
		return x.judge(allocatable[1], requested[0]), true
	case least > 1000:
		return 0, true
	}
	return 0, false
}

func (x boxSizes) Raw(i int) int64 { return min(100, max(0, x.sizes.Raw(i))) }

func (x boxSizes) RawRow(i int, allocatable, requested resources.Vector, cpu, memory int64) int64 {
	return min(100, max(0, x.rowSizes.RawRow(i, allocatable, requested, cpu, memory)))
}

func (x boxSizes) MaxRawRow(_, _ [2]resources.Vector, _, _ [2]int64) int64 {
	x.c["sizes max raw"]++
	return 100
}

// crowd is a filter and a score of group States: at most some pods of the app in a domain, and few of them are better.
type crowd struct {
	kind
	key    string // "": every node is a domain
	scores int    // 0: not at all, 1: few pods of the app are better, 2: as many feasible nodes as have that many pods
}

func (x crowd) Compile(pod *v1.Pod) (Compiled, error) {
	x.c[x.name+" compile"]++
	x.pod = pod
	switch pod.Labels[x.name] {
	case "skip":
		return nil, nil
	case "fail":
		return nil, errors.New("fails")
	}
	return x, nil
}

func (x crowd) AppendKey(dst []byte) []byte {
	return fmt.Append(dst, x.pod.Labels["app"], "/", x.pod.Labels[x.name], "/")
}
func (crowd) Matched(int32) bool { return false }

func (x crowd) domain(i int) string {
	if x.key == "" {
		return x.s.Node(i).Name
	}
	return x.label(i, x.key)
}

func (x crowd) Count() State {
	x.c[x.name+" count"]++
	state := &crowdState{crowd: x, in: map[string]int32{}}
	for i := range x.s.Len() {
		if x.s.Node(i) == nil {
			continue
		}
		for p := range x.s.Pods(i) {
			if p.Labels["app"] == x.pod.Labels["app"] {
				state.in[x.domain(i)]++
			}
		}
	}
	return state
}

type crowdState struct {
	crowd
	in map[string]int32
}

func (x *crowdState) Filter() filter.Predicate { return x }
func (x *crowdState) Score() Scorer {
	switch x.scores {
	case 1:
		return x
	case 2:
		return weighed{x, map[int32]int64{}}
	}
	return nil
}

// weighed gives a node the number of feasible nodes that have as many pods of the app.
type weighed struct {
	*crowdState
	of map[int32]int64
}

func (x weighed) Weigh(slots, counts []int32) {
	x.c[x.name+" weigh"]++
	clear(x.of)
	for k, i := range slots {
		x.of[x.in[x.domain(int(i))]] += int64(counts[k])
	}
}

func (x weighed) Raw(i int) int64 { return x.of[x.in[x.domain(i)]] }

func (weighed) Normalize(raw, lo, hi int64) int64       { return 100*raw/hi - lo }
func (x *crowdState) Reads(dst []string) []string       { return append(dst, "label:"+x.key) }
func (*crowdState) Keys() int                           { return 1 }
func (x *crowdState) AppendLayoutKey(dst []byte) []byte { return append(append(dst, x.key...), 0) }
func (x *crowdState) Single() bool                      { return x.key == "" }
func (*crowdState) OfTerms(int32, *v1.Pod) Move         { return nil }
func (x *crowdState) AppendDomains(dst []int32, i int) []int32 {
	if x.key == "" {
		return append(dst, 0)
	}
	return append(dst, int32((x.domain(i) + "-")[0]))
}

func (x *crowdState) AppendCounts(dst []int32, i int) ([]int32, bool) {
	if x.key != "" {
		return dst, false
	}
	return append(dst, x.in[x.domain(i)]), x.in[x.domain(i)] != 0
}

func (x *crowdState) AppendCounted(dst []int32) []int32 {
	for i := range x.s.Len() {
		if x.key == "" && x.s.Node(i) != nil && x.in[x.domain(i)] != 0 {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

func (x *crowdState) OfSet(rep *v1.Pod) Move {
	x.c[x.name+" set"]++
	if rep.Labels["app"] != x.pod.Labels["app"] {
		return nil
	}
	return func(slot int, n int32) { x.in[x.domain(slot)] += n }
}

func (x *crowdState) Check(i int) resources.Verdict {
	x.c[x.name+" check"]++
	return x.verdict(strconv.Itoa(int(x.in[x.domain(i)])))
}

func (x *crowdState) Raw(i int) int64 {
	x.c[x.name+" raw"]++
	return 100 - 20*int64(x.in[x.domain(i)]) // more than five pods: out of range
}

// field is a random choice of plugins over a random cluster.
type field struct {
	r       *rand.Rand
	s       *cluster.Snapshot
	c       calls
	plugins []Plugin
	scan    []int
	of      []int32
	next    int
}

func (f *field) one(n int) bool                     { return f.r.IntN(n) == 0 }
func (f *field) pick(list ...string) string         { return list[f.r.IntN(len(list))] }
func (f *field) kindOf(name string, p *v1.Pod) kind { return kind{name: name, s: f.s, pod: p, c: f.c} }

func (f *field) order() []int {
	if now := f.s.Order(); !slices.Equal(now, f.of) {
		f.of, f.scan = slices.Clone(now), nil
		for _, i := range now {
			f.scan = append(f.scan, int(i))
		}
	}
	return f.scan
}

func (f *field) node() *v1.Node {
	f.next++
	b := testkit.Node(fmt.Sprint("n", f.next)).Capacity("pods=99,cpu=" + f.pick("4", "8", "8", "8500m")).Zone(f.pick("a", "b"))
	return b.Label("pool", f.pick("x", "y")).Label("grade", f.pick("1", "40", "7")).Label("rack", f.pick("r", "s")).Obj()
}

// draw chooses the plugins. A list has one or two filters of each group but one over rows, and some scores.
func (f *field) draw() {
	label := func(names ...string) func(dst []byte, p *v1.Pod) []byte {
		return func(dst []byte, p *v1.Pod) []byte {
			for _, name := range names {
				dst = append(append(dst, p.Labels[name]...), 0)
			}
			return dst
		}
	}
	add := func(p Plugin, filters, scores bool) {
		p.Filter, p.Score, p.Weight = -1, -1, int64(1+f.r.IntN(3))
		for _, other := range f.plugins {
			p.Filter, p.Score = max(p.Filter, other.Filter), max(p.Score, other.Score)
		}
		if p.Filter++; !filters {
			p.Filter = -1
		}
		if p.Score++; !scores {
			p.Score = -1
		}
		f.plugins = append(f.plugins, p)
	}
	static := func(make func(k kind) any) Plugin {
		return Plugin{Name: "pools", Group: Statics, AppendKey: label("pools"), Predicate: func(p *v1.Pod) (filter.Predicate, bool) {
			f.c["pools filter"]++
			switch p.Labels["pools"] {
			case "none":
				return nil, true
			case "rejected":
				return nil, false
			}
			return make(f.kindOf("pools", p)).(filter.Predicate), true
		}, Scorer: func(p *v1.Pod) (Scorer, error) {
			f.c["pools score"]++
			switch p.Labels["pools"] {
			case "skip":
				return nil, nil
			case "fail":
				return nil, errors.New("fails")
			}
			return make(f.kindOf("pools", p)).(Scorer), nil
		}}
	}
	makers := []func(k kind) any{
		func(k kind) any { return signedPools{pools{k}} }, func(k kind) any { return readPools{pools{k}} },
		func(k kind) any { return ranked{readPools{pools{k}}} },
	}
	sizesOf := []func(k kind) any{
		func(k kind) any { return sizes{k} }, func(k kind) any { return rowSizes{sizes{k}} }, func(k kind) any { return boxSizes{rowSizes{sizes{k}}} },
	}[f.r.IntN(3)]
	rows := Plugin{Name: "sizes", Group: Rows, AppendKey: func(dst []byte, p *v1.Pod) []byte {
		return fmt.Appendf(label("sizes", "most")(dst, p), "%d ", p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
	}, Predicate: func(p *v1.Pod) (filter.Predicate, bool) {
		f.c["sizes filter"]++
		if p.Labels["sizes"] == "fail" {
			return nil, false
		}
		return sizesOf(f.kindOf("sizes", p)).(filter.Predicate), true
	}, Scorer: func(p *v1.Pod) (Scorer, error) {
		f.c["sizes score"]++
		switch p.Labels["sizes"] {
		case "skip":
			return nil, nil
		case "no score":
			return nil, errors.New("fails")
		}
		return sizesOf(f.kindOf("sizes", p)).(Scorer), nil
	}}
	states := func(name, key string) Plugin {
		x := crowd{kind: f.kindOf(name, nil), key: key, scores: f.r.IntN(3)}
		return Plugin{Name: name, Group: States, AppendKey: label("app", name), Open: func() Counting { f.c[name+" open"]++; return x }}
	}
	f.plugins = nil
	if f.one(6) {
		add(states("zones", v1.LabelTopologyZone), true, false) // before rows: in this order the groups cannot count
	}
	add(static(makers[f.r.IntN(len(makers))]), true, f.one(2))
	add(rows, !f.one(8), !f.one(4))
	if !f.one(3) {
		p := states("nodes", "")
		add(p, true, p.Open().(crowd).scores > 0)
	}
	if !f.one(3) {
		p := states("racks", "rack")
		add(p, true, p.Open().(crowd).scores > 0)
	}
	if f.one(3) {
		add(static(makers[f.r.IntN(len(makers))]), f.one(2), true)
	}
}

func (f *field) pod() *v1.Pod {
	f.next++
	b := testkit.Pod(fmt.Sprint("p", f.next)).Labels("app=" + f.pick("a", "b")).Request("cpu=" + f.pick("1", "1", "2", "3", "500m"))
	p := b.Obj()
	if f.one(3) {
		p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm", 100*(1+f.r.IntN(40))))
	}
	set := func(name string, chance int, values ...string) {
		if f.one(chance) {
			p.Labels[name] = f.pick(values...)
		}
	}
	set("pools", 3, "x", "y", "x", "y", "x", "partial-x", "error-y", "none", "skip", "fail", "rejected")
	set("sizes", 6, "partial-full", "error-one", "partial-one", "one", "full", "fail", "skip", "no score")
	set("nodes", 2, "1", "2", "1", "partial-1", "error-1", "error-2", "0", "skip", "fail")
	set("racks", 3, "3", "4", "partial-3", "error-2", "0", "skip")
	set("zones", 3, "5", "error-6", "partial-4")
	set("most", 12, "2000000000", "100", "-100", "200000000")
	return p
}

// plain decides node by node. fails: the caller has to ask node by node, because a plugin fails, because a score is out of range, or to
// get the reasons of a node.
func (f *field) plain(q *Question) (out Answer, found []int, fails bool) {
	out.Slot = -1
	var predicates filter.Predicates
	type ranking struct {
		Ranking
		rows bool
	}
	var scorers []ranking
	places := func(at func(p *Plugin) int) []*Plugin {
		var list []*Plugin
		for k := range f.plugins {
			if p := &f.plugins[k]; at(p) >= 0 {
				list = append(list, p)
			}
		}
		return list
	}
	stateOf := func(p *Plugin) (State, bool) {
		x, err := p.Open().Compile(q.Pod)
		if err != nil || x == nil {
			return nil, err == nil
		}
		return x.Count(), true
	}
	for _, p := range places(func(p *Plugin) int { return p.Filter }) {
		var x filter.Predicate
		ok := true
		if p.Group == States {
			var s State
			if s, ok = stateOf(p); s != nil {
				x = s.Filter()
			}
		} else {
			x, ok = p.Predicate(q.Pod)
		}
		if !ok {
			return out, found, true
		}
		if x != nil {
			predicates = append(predicates, x)
		}
	}
	for _, p := range places(func(p *Plugin) int { return p.Score }) {
		var x Scorer
		var err error
		if p.Group == States {
			if s, _ := stateOf(p); s != nil {
				x = s.Score()
			}
		} else {
			x, err = p.Scorer(q.Pod)
		}
		if err != nil {
			return out, found, true
		}
		if x != nil {
			scorers = append(scorers, ranking{NewRanking(x, p.Name, p.Weight), p.Group == Rows})
		}
	}
	order := f.order()
	limit := q.Limit
	if limit == 0 {
		limit = len(order)
	}
	h := &filter.Histogram{}
	for k := range order {
		if len(found) == limit {
			break
		}
		out.Examined++
		i := order[(q.From+k)%len(order)]
		r := predicates.First(i)
		if r.Verdict == 0 {
			if !q.Without[i] {
				found = append(found, i)
			}
			continue
		}
		if predicates.Code(r) == filter.Error {
			return out, found, true
		}
		h.Add(predicates, r, i, 1)
	}
	switch out.Feasible = len(found); out.Feasible {
	case 0:
		out.Rejected, out.Predicates = h, predicates
		return out, found, len(q.Without) > 0
	case 1:
		out.Slot = found[0]
		return out, found, false
	}
	totals := make([]int64, len(found))
	for _, x := range scorers {
		if x.Weigher != nil {
			var slots, counts []int32
			for _, i := range found {
				slots, counts = append(slots, int32(i)), append(counts, 1)
			}
			x.Weigher.Weigh(slots, counts)
		}
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		for _, i := range found {
			if !x.Ignored(i) {
				lo, hi = min(lo, x.Raw(i)), max(hi, x.Raw(i))
			}
		}
		for k, i := range found {
			n := x.Raw(i)
			if x.Ignored(i) {
				continue
			}
			if x.Normalizer != nil {
				n = x.Normalizer.Normalize(n, lo, hi)
			}
			if !x.rows && (n < 0 || n > 100) {
				return out, found, true
			}
			totals[k] += n * x.Weight
		}
	}
	var tied []int
	out.Total = math.MinInt64
	for k, i := range found {
		if totals[k] > out.Total {
			out.Total, tied = totals[k], nil
		}
		if totals[k] == out.Total {
			tied = append(tied, i)
		}
	}
	out.Slot = tied[0]
	if q.Tie != nil && len(tied) > 1 {
		if k := q.Tie(len(tied)); k >= 0 && k < len(tied) {
			out.Slot = tied[k]
		}
	}
	return out, found, false
}

// TestPlain: over random clusters and plugins the engine decides as asking each plugin about each node does, and says so where it
// cannot. The file has how often that was, and what the plugins were asked.
func TestPlain(t *testing.T) {
	total := calls{}
	for seed := range uint64(200) {
		f := &field{r: rand.New(rand.NewPCG(seed, 5)), c: calls{}}
		var o cluster.Objects
		for range 3 + f.r.IntN(20) {
			o.Nodes = append(o.Nodes, f.node())
		}
		var err error
		f.s, err = cluster.New(o)
		require.NoError(t, err)
		f.draw()
		e := New(f.s, f.order, f.plugins)
		require.NotNil(t, e)
		var kinds []*v1.Pod
		for range 2 + f.r.IntN(5) {
			kinds = append(kinds, f.pod())
		}
		var running []*v1.Pod
		quiet := f.one(3) // nodes stay, and many pods ask for what no pod asked for before
		for step := range 40 {
			change := f.r.IntN(16)
			if quiet {
				change = max(change, 3)
			}
			switch change {
			case 0:
				require.NoError(t, f.s.Set(f.node()))
			case 1:
				if order := f.order(); len(order) > 2 {
					require.NoError(t, f.s.Unset(f.s.Node(order[f.r.IntN(len(order))])))
					running = nil
				}
			case 2:
				n := f.s.Node(f.order()[f.r.IntN(len(f.order()))]).DeepCopy()
				n.Labels[f.pick("pool", "grade", "rack", "other")] = f.pick("x", "y", "40", "200")
				require.NoError(t, f.s.Set(n))
			case 3, 4:
				if n := len(running); n > 0 {
					require.NoError(t, f.s.Unset(running[n-1]))
					running = running[:n-1]
				}
			}
			p := f.pod()
			if !f.one(4) {
				f.next++
				p = kinds[f.r.IntN(len(kinds))].DeepCopy()
				p.Name = fmt.Sprint("p", f.next)
				p.UID = ""
				if quiet && !f.one(3) {
					p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm", 100*(1+f.r.IntN(40))))
				}
			}
			q := Question{Pod: p}
			plain := quiet && !f.one(4)
			if !plain && f.one(3) {
				q.From = f.r.IntN(len(f.order()))
			}
			if !plain && f.one(3) {
				q.Limit = 1 + f.r.IntN(4)
			}
			if !plain && f.one(4) {
				k := f.r.IntN(5) - 1
				q.Tie = func(n int) int { return k }
			}
			before := maps.Clone(f.c)
			if !plain && f.one(5) { // of the nodes with room some are not feasible
				q.Without = map[int]bool{}
				_, room, _ := f.plain(&Question{Pod: p})
				for _, i := range room {
					if f.one(3) {
						q.Without[i] = true
					}
				}
			}
			want, _, fails := f.plain(&q)
			clear(f.c) // the slow pass does not count
			maps.Copy(f.c, before)
			got, ok := e.Decide(&q)
			at := fmt.Sprintf("seed %d step %d", seed, step)
			total["decisions"]++
			if !ok {
				total["ask node by node"]++
				if fails {
					total["fail"]++
				}
			} else {
				require.False(t, fails, at)
				require.Equal(t, []any{want.Slot, want.Total, want.Feasible}, []any{got.Slot, got.Total, got.Feasible}, at)
				if got.Examined > 0 {
					require.Equal(t, want.Examined, got.Examined, at)
				}
				if got.Slot < 0 {
					require.Equal(t, want.Rejected.Counts(want.Predicates), got.Rejected.Counts(got.Predicates), at)
					if got.Memo != nil {
						total["failures that are kept"]++
						again, known := e.Decide(&q)
						require.True(t, known, at)
						require.Same(t, got.Memo, again.Memo, at)
					}
					if got.Kind.Key != "" {
						total["failures with a kind"]++
					}
				}
			}
			if want.Slot >= 0 && !fails {
				p.Spec.NodeName = f.s.Node(want.Slot).Name
				require.NoError(t, f.s.Set(p))
				running = append(running, p)
			}
		}
		for what, n := range f.c {
			total[what] += n
		}
	}
	var out strings.Builder
	for _, what := range slices.Sorted(maps.Keys(total)) {
		fmt.Fprintf(&out, "%s: %d\n", what, total[what])
	}
	testkit.Golden(t, "testdata/plain.txt", out.String())
}

// Statics with more combinations of answers than a table may have ask about each node.
func TestManyAnswers(t *testing.T) {
	f := &field{r: rand.New(rand.NewPCG(1, 5)), c: calls{}}
	var o cluster.Objects
	for k := range 300 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("pods=9,cpu=4").Label("grade", strconv.Itoa(k%100)).Label("pool", "x").Obj())
	}
	var err error
	f.s, err = cluster.New(o)
	require.NoError(t, err)
	for k := range 3 { // 100 answers each
		f.plugins = append(f.plugins, Plugin{Name: fmt.Sprint("pools ", k), Group: Statics, Filter: -1, Score: k, Weight: 1, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
			Scorer: func(p *v1.Pod) (Scorer, error) { return readPools{pools{f.kindOf("pools", p)}}, nil }})
	}
	e := New(f.s, f.order, f.plugins)
	for range 3 {
		q := Question{Pod: f.pod()}
		want, _, _ := f.plain(&q)
		got, ok := e.Decide(&q)
		require.True(t, ok)
		require.Equal(t, []any{want.Slot, want.Total, want.Feasible}, []any{got.Slot, got.Total, got.Feasible})
	}
}
