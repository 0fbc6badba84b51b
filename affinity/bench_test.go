package affinity_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/engine"
)

// large is a cluster with indexes: nodes in 10 zones, 30 pods per node with 5,000 label sets. A tenth of the pods have
// terms, of 20 kinds.
type large struct {
	*indexed
	columns  map[string]column
	postings map[[3]string][]int32
}

type column struct {
	ids         []int32
	count, have int
}

func newLarge(nodes int) *large {
	const sets, kinds, perNode = 5000, 20, 30
	w := &world{namespaces: map[string]map[string]string{"d": {}}}
	for i := range nodes {
		name := fmt.Sprint("n", i)
		w.nodes = append(w.nodes, node(name, fmt.Sprintf("h=%s,zone=z%d,disk=%d", name, i%10, i%3)))
	}
	w.pods = make([][]*v1.Pod, nodes)
	x := &indexed{world: w, sets: make([]set, sets), terms: make([]set, kinds)}
	l := &large{indexed: x, columns: map[string]column{}, postings: map[[3]string][]int32{}}
	for id := range sets {
		var terms []string
		if id%10 == 0 {
			k := id / 10 % kinds
			terms = []string{fmt.Sprintf("anti h app=a%d", k), fmt.Sprintf("paff 5 zone app=a%d", k)}
		}
		p := pod("d", fmt.Sprintf("app=a%d,rev=r%d", id%250, id), terms...)
		x.sets[id].rep = p
		l.postings[[3]string{"d", "", ""}] = append(l.postings[[3]string{"d", "", ""}], int32(id))
		for k, v := range p.Labels {
			l.postings[[3]string{"d", k, v}] = append(l.postings[[3]string{"d", k, v}], int32(id))
		}
	}
	add := func(s *set, i int) {
		if n := len(s.nodes); n > 0 && s.nodes[n-1] == int32(i) {
			s.counts[n-1]++
			return
		}
		s.nodes, s.counts = append(s.nodes, int32(i)), append(s.counts, 1)
	}
	for i := range nodes {
		for j := range perNode {
			id := (i*perNode + j*7) % sets
			w.pods[i] = append(w.pods[i], x.sets[id].rep)
			add(&x.sets[id], i)
			if id%10 == 0 {
				t := &x.terms[id/10%kinds]
				t.rep = x.sets[id].rep
				add(t, i)
			}
		}
	}
	for _, key := range []string{"h", "zone"} {
		ids, count, have := x.Domains(key)
		l.columns[key] = column{ids, count, have}
	}
	return l
}

func (l *large) Domains(key string) (ids []int32, domains, have int) {
	c := l.columns[key]
	return c.ids, c.count, c.have
}

func (l *large) PodSets(namespace, key, value string, yield func(id int32)) {
	for _, id := range l.postings[[3]string{namespace, key, value}] {
		yield(id)
	}
}

func shapes() map[string]*v1.Pod {
	return map[string]*v1.Pod{
		"plain":         pod("d", "app=plain"),
		"zone-affinity": pod("d", "app=b", "aff zone app=a30"),
		"host-anti":     pod("d", "app=a3", "anti h app=a3"),
		"prefer-zone":   pod("d", "app=a4", "paff 10 zone app=a40", "panti 20 h app=a40"),
	}
}

var sizes = []int{5000, 50000}

func BenchmarkCount(b *testing.B) {
	for _, n := range sizes {
		l := newLarge(n)
		for name, p := range shapes() {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				e, err := affinity.CompileFull(p, affinity.PodOptions{})
				if err != nil {
					b.Fatal(err)
				}
				var memo engine.Memo
				b.ReportAllocs()
				for b.Loop() {
					e.CountedWith(l, &memo)
				}
			})
		}
	}
}

func BenchmarkCountWithoutIndexes(b *testing.B) {
	l := newLarge(5000)
	e, _ := affinity.CompileFull(shapes()["host-anti"], affinity.PodOptions{})
	b.ReportAllocs()
	for b.Loop() {
		e.Counted(l.world)
	}
}

func BenchmarkPass(b *testing.B) {
	for _, n := range sizes {
		l := newLarge(n)
		for name, p := range shapes() {
			s := count(l, p, affinity.PodOptions{})
			raw := make([]int64, n)
			pass := func(what string, f func(i int)) {
				b.Run(fmt.Sprintf("%s/%s/%d", what, name, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						for i := range n {
							f(i)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
				})
			}
			feasible := 0
			pass("check", func(i int) {
				if s.Check(i) == 0 {
					feasible++
				}
			})
			pass("raw", func(i int) { raw[i] = s.Raw(i) })
			signature := make([]int32, 0, 64)
			pass("signature", func(i int) { signature = s.Counts().AppendSignature(signature[:0], i) })
			b.Run(fmt.Sprintf("normalize/%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				scratch := make([]int64, n)
				for b.Loop() {
					copy(scratch, raw)
					s.NormalizeAll(scratch)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
			if feasible == 0 {
				b.Fatal("no node is feasible: nothing was measured")
			}
		}
	}
}

func BenchmarkPod(b *testing.B) {
	l := newLarge(5000)
	p := shapes()["host-anti"]
	s := count(l, p, affinity.PodOptions{})
	running := pod("d", "app=a3", "anti h app=a3", "paff 5 zone app=a3")
	effect := s.Effect(running)
	if len(effect) == 0 {
		b.Fatal("the pod changes no count")
	}
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = affinity.CompileFull(p, affinity.PodOptions{})
		}
	})
	b.Run("effect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Effect(running)
		}
	})
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		n := int32(1)
		for b.Loop() {
			s.Apply(effect, 17, n)
			n = -n
		}
	})
	b.Run("trial", func(b *testing.B) {
		b.ReportAllocs()
		t := s.NewTrial()
		for b.Loop() {
			affinity.ApplyTrial(t, effect, 17, -1)
			t.Check(17)
			t.Reset()
		}
	})
}

func BenchmarkNode(b *testing.B) {
	p := requiring(terms(exprs(req("zone", "In", "z1", "z2", "z3"), req("disk", "NotIn", "2"))))
	p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{prefer(10, req("disk", "In", "1"))}
	e, err := affinity.CompileFullNodes(p, affinity.NodeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range sizes {
		l := newLarge(n)
		raw := make([]int64, 0, n)
		for name, nodes := range map[string]interface {
			Len() int
			Node(i int) *v1.Node
		}{"classes": l, "plain": plainNodes{l.nodes}} {
			s := e.Onto(nodes)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					raw = raw[:0]
					for i := range l.nodes {
						if s.Check(i) == 0 {
							raw = append(raw, s.Raw(i))
						}
					}
					s.NormalizeAll(raw)
				}
				if len(raw) == 0 {
					b.Fatal("no node is feasible")
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}

// distinct is a cluster in which every pod has its own label and its own anti-affinity term.
func distinct(nodes, pods int) *large {
	w := &world{namespaces: map[string]map[string]string{"d": {}}}
	for i := range nodes {
		w.nodes = append(w.nodes, node(fmt.Sprint("n", i), fmt.Sprintf("h=n%d,zone=z%d", i, i%10)))
	}
	w.pods = make([][]*v1.Pod, nodes)
	l := &large{indexed: &indexed{world: w}, columns: map[string]column{}, postings: map[[3]string][]int32{}}
	for id := range pods {
		app := fmt.Sprint("a", id)
		p := pod("d", "app="+app, "anti h app="+app)
		s := set{p, []int32{int32(id % nodes)}, []int32{1}}
		l.sets, l.terms = append(l.sets, s), append(l.terms, s)
		l.postings[[3]string{"d", "app", app}] = []int32{int32(id)}
		w.pods[id%nodes] = append(w.pods[id%nodes], p)
	}
	for _, key := range []string{"h", "zone"} {
		ids, count, have := l.indexed.Domains(key)
		l.columns[key] = column{ids, count, have}
	}
	return l
}

func BenchmarkCountDistinct(b *testing.B) {
	l := distinct(5000, 10000)
	e, err := affinity.CompileFull(pod("d", "app=a77", "anti h app=a77"), affinity.PodOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var memo engine.Memo
	s := e.CountedWith(l, &memo)
	if s.Check(77) != affinity.PodAntiAffinity {
		b.Fatal("the pod that runs is not counted")
	}
	b.ReportAllocs()
	for b.Loop() {
		e.CountedWith(l, &memo)
	}
}
