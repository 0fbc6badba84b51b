package reuse

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// field is a random choice of plugins over a random cluster.
type field struct {
	r       *rand.Rand
	s       *cluster.Snapshot
	c       calls
	plugins []hooks.Plugin
	scan    []int32
	next    int

	stored string            // what a storage object says
	shelf  map[string]int    // number of the shelf of each node
	shifts []int             // slots whose node got another shelf, oldest first
	books  map[string]string // what each book says
	tide   uint64            // how often all shelves moved on
}

func newField(r *rand.Rand) *field {
	return &field{r: r, c: calls{}, stored: "x", shelf: map[string]int{}, books: map[string]string{"one": "1", "two": "partial-0"}}
}

func (f *field) one(n int) bool             { return f.r.IntN(n) == 0 }
func (f *field) pick(list ...string) string { return list[f.r.IntN(len(list))] }
func (f *field) plugin(name string, p *v1.Pod) testPlugin {
	return testPlugin{name: name, s: f.s, pod: p, c: f.c, f: f}
}

func (f *field) order() []int32 {
	if now := f.s.Order(); !slices.Equal(now, f.scan) {
		f.scan = slices.Clone(now)
	}
	return f.scan
}

// slots is order for who reads nodes.
func (f *field) slots() (list []int) {
	for _, i := range f.order() {
		list = append(list, int(i))
	}
	return list
}

func (f *field) node() *v1.Node {
	f.next++
	f.shelf[fmt.Sprint("n", f.next)] = f.r.IntN(4)
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
	add := func(p hooks.Plugin, filters, scores bool) {
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
	static := func(make func(k testPlugin) any) hooks.Plugin {
		p := hooks.Plugin{Name: "pools", Keep: hooks.KeepByNode, AppendKey: label("pools"), Storage: func(p *v1.Pod) bool { return p.Labels["pools"] == "stored" }, Predicate: func(p *v1.Pod) (filter.Predicate, bool) {
			f.c["pools filter"]++
			switch p.Labels["pools"] {
			case "none":
				return nil, true
			case "rejected":
				return nil, false
			}
			return make(f.plugin("pools", p)).(filter.Predicate), true
		}, Scorer: func(p *v1.Pod) (hooks.Scorer, error) {
			f.c["pools score"]++
			switch p.Labels["pools"] {
			case "skip":
				return nil, nil
			case "fail":
				return nil, errors.New("fails")
			}
			return make(f.plugin("pools", p)).(hooks.Scorer), nil
		}}
		switch f.r.IntN(8) {
		case 0, 1, 2:
			p.KeyName = "pools"
		case 3:
			p.KeyName, p.Parts = "pools", []hooks.Part{{Name: "pools", Append: p.AppendKey}}
		case 4:
			p.Reads = []string{"label:grade"}
		}
		return p
	}
	makers := []func(k testPlugin) any{
		func(k testPlugin) any { return signedPools{pools{k}} }, func(k testPlugin) any { return readPools{pools{k}} },
		func(k testPlugin) any { return ranked{readPools{pools{k}}} },
	}
	sizesOf := []func(k testPlugin) any{
		func(k testPlugin) any { return sizes{k} }, func(k testPlugin) any { return rowSizes{sizes{k}} }, func(k testPlugin) any { return boxSizes{rowSizes{sizes{k}}} },
	}[f.r.IntN(3)]
	var rows hooks.Plugin
	kindOf := func(p *v1.Pod) testPlugin {
		k := f.plugin("sizes", p)
		for _, i := range f.order() {
			if len(rows.Reads) > 0 && f.s.Node(int(i)).Labels["grade"] == "40" {
				k.plus++
			}
		}
		return k
	}
	rows = hooks.Plugin{Name: "sizes", Keep: hooks.KeepByNodeAndPods, AppendKey: func(dst []byte, p *v1.Pod) []byte {
		return fmt.Appendf(label("sizes", "most")(dst, p), "%d ", p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
	}, Predicate: func(p *v1.Pod) (filter.Predicate, bool) {
		f.c["sizes filter"]++
		switch p.Labels["sizes"] {
		case "fail":
			return nil, false
		case "none":
			return nil, true
		}
		return sizesOf(kindOf(p)).(filter.Predicate), true
	}, Scorer: func(p *v1.Pod) (hooks.Scorer, error) {
		f.c["sizes score"]++
		switch p.Labels["sizes"] {
		case "skip":
			return nil, nil
		case "no score":
			return nil, errors.New("fails")
		}
		return sizesOf(kindOf(p)).(hooks.Scorer), nil
	}}
	if f.one(4) {
		rows.Reads = []string{"label:grade"}
	}
	if f.one(4) {
		rows.AppendRowKey, rows.AppendKey = rows.AppendKey, func(dst []byte, p *v1.Pod) []byte {
			return append(append(rows.AppendRowKey(dst, p), p.Labels["noise"]...), 0)
		}
	}
	states := func(name, key string, divides bool) hooks.Plugin {
		x := crowd{testPlugin: f.plugin(name, nil), key: key, divides: divides, scores: f.r.IntN(3)}
		return hooks.Plugin{Name: name, Keep: hooks.KeepByAllPods, AppendKey: label("app", name), Open: func() hooks.Counting { f.c[name+" open"]++; return x.counting() }}
	}
	f.plugins = nil
	racks := func(divides bool) {
		p := states("racks", "rack", divides)
		add(p, true, scoresOf(p.Open()) > 0)
	}
	shelf := func(form int) {
		x := shelves{f.plugin("shelves", nil), f, form}
		add(hooks.Plugin{Name: "shelves", Keep: hooks.KeepByAllPods, AppendKey: label("shelves"), Open: func() hooks.Counting { f.c["shelves open"]++; return x.counting() }}, true, f.one(2))
	}
	var early int // plugins that come before rows
	switch early = f.r.IntN(12); early {
	case 0:
		add(states("zones", v1.LabelTopologyZone, false), true, false) // in this order the groups cannot count
	case 1:
		racks(true)
	case 2:
		shelf(1)
	}
	add(static(makers[f.r.IntN(len(makers))]), true, f.one(2))
	add(rows, !f.one(8), !f.one(4))
	if !f.one(3) {
		p := states("nodes", "", false)
		add(p, true, scoresOf(p.Open()) > 0)
	}
	if early != 1 && !f.one(3) {
		racks(f.one(2))
	}
	if f.one(3) {
		add(hooks.Plugin{Name: "guards", Keep: hooks.KeepByAllPods, AppendKey: label("app", "guards"), Open: func() hooks.Counting { f.c["guards open"]++; return guards{f.plugin("guards", nil)} }}, true, false)
	}
	if early != 2 && f.one(2) {
		shelf(f.r.IntN(3))
	}
	if f.one(3) {
		add(static(makers[f.r.IntN(len(makers))]), f.one(2), true)
	}
	if f.one(4) {
		add(hooks.Plugin{Name: "absent", Keep: hooks.KeepIfSkipped, KeyName: "absent", AppendKey: label("absent"), Skips: func(p *v1.Pod) bool { f.c["absent skips"]++; return p.Labels["absent"] == "" },
			Predicate: func(p *v1.Pod) (filter.Predicate, bool) { return nil, true }}, true, false)
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
	set("pools", 3, "x", "y", "x", "y", "x", "partial-x", "error-y", "none", "skip", "fail", "rejected", "stored")
	set("sizes", 6, "partial-full", "error-one", "partial-one", "one", "full", "fail", "skip", "no score", "zero", "none")
	set("nodes", 2, "1", "2", "1", "partial-1", "error-1", "error-2", "0", "skip", "fail")
	set("racks", 3, "3", "4", "partial-3", "error-2", "0", "skip")
	set("zones", 3, "5", "error-6", "partial-4")
	set("shelves", 3, "one", "two", "one", "three", "unserved")
	set("guards", 8, "skip")
	set("absent", 16, "no")
	set("noise", 8, "1", "2")
	if f.one(5) {
		p.Spec.Affinity = testkit.Pod("p").RequireApart(f.pick(v1.LabelHostname, "rack", v1.LabelHostname), "app="+f.pick("a", "b")).Obj().Spec.Affinity
	}
	set("apart", 2, "allowed", "rejected", "allowed", "rejected", "partial", "error")
	set("most", 12, "2000000000", "100", "-100", "200000000")
	return p
}
