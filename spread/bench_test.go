package spread

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

const (
	benchPodsPerNode = 30
	benchSets        = 5000
)

// big is a cluster of nodes in three zones. Each node has 30 pods out of 5,000 label sets. It has the plain methods over
// shared pods, and prepared indexes. The constraints of the benchmarks select label set 0: foo=bar.
type big struct {
	nodes    []*v1.Node
	reps     []*v1.Pod
	pods     [][]*v1.Pod
	columns  map[string]bigColumn
	sets     []podSet
	postings map[pair][]int32
}

type pair struct{ key, value string } // of a label

type bigColumn struct {
	ids           []int32
	domains, have int
}

func (b *big) Len() int                     { return len(b.nodes) }
func (b *big) Node(i int) *v1.Node          { return b.nodes[i] }
func (b *big) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(b.pods[i]) }

// bigIndexed adds the optional interfaces.
type bigIndexed struct{ *big }

func (b bigIndexed) Domains(key string) ([]int32, int, int) {
	c := b.columns[key]
	return c.ids, c.domains, c.have
}

func (b bigIndexed) PodSets(namespace, key, value string, yield func(int32)) {
	for _, id := range b.postings[pair{key, value}] {
		yield(id)
	}
}

func (b bigIndexed) PodSet(id int32) (*v1.Pod, []int32, []int32) {
	s := &b.sets[id]
	return s.rep, s.nodes, s.counts
}

func (b bigIndexed) Classes([]string) ([]int32, []int32, bool) {
	return make([]int32, len(b.nodes)), []int32{0}, true // all nodes are equal except for their topology
}

var bigOnes = map[int]*big{}

func bigOf(nodes int) *big {
	if b := bigOnes[nodes]; b != nil {
		return b
	}
	b := &big{columns: map[string]bigColumn{}, postings: map[pair][]int32{}}
	zones, hosts := make([]int32, nodes), make([]int32, nodes)
	for i := range nodes {
		b.nodes = append(b.nodes, nodeOf(fmt.Sprint("n", i), fmt.Sprintf("%s=n%d,%s=z%d", host, i, zoneKey, i%3)))
		zones[i], hosts[i] = int32(i%3), int32(i)
	}
	b.columns[zoneKey] = bigColumn{zones, 3, nodes}
	b.columns[host] = bigColumn{hosts, nodes, nodes}
	for id := range benchSets {
		labels := fmt.Sprintf("foo=x%d,app=a%d,rev=%d", id, id%500, id%7)
		if id == 0 {
			labels = "foo=bar,app=a0"
		}
		rep := podOf(fmt.Sprint("p", id), labels)
		b.reps = append(b.reps, rep)
		b.sets = append(b.sets, podSet{rep: rep})
		b.postings[pair{}] = append(b.postings[pair{}], int32(id))
		for k, v := range rep.Labels {
			b.postings[pair{k, v}] = append(b.postings[pair{k, v}], int32(id))
		}
	}
	b.pods = make([][]*v1.Pod, nodes)
	for i := range nodes {
		for j := range benchPodsPerNode {
			id := (i*benchPodsPerNode + j*7) % benchSets
			b.pods[i] = append(b.pods[i], b.reps[id])
			s := &b.sets[id]
			if n := len(s.nodes); n > 0 && s.nodes[n-1] == int32(i) {
				s.counts[n-1]++
			} else {
				s.nodes, s.counts = append(s.nodes, int32(i)), append(s.counts, 1)
			}
		}
	}
	bigOnes[nodes] = b
	return b
}

var benchPods = map[string]*v1.Pod{
	"zone":      constrained("foo=bar", by(zoneKey, 5000, hard), by(zoneKey, 1, soft)),
	"zone+host": constrained("foo=bar", by(zoneKey, 5000, hard), by(host, 5000, hard), by(zoneKey, 1, soft), by(host, 1, soft)),
}

// overSizes runs a benchmark for each pod and each number of nodes.
func overSizes(b *testing.B, f func(b *testing.B, c bigIndexed, pod *v1.Pod)) {
	for _, shape := range []string{"zone", "zone+host"} {
		for _, nodes := range []int{5000, 50000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", shape, nodes), func(b *testing.B) {
				c := bigIndexed{bigOf(nodes)}
				b.ReportAllocs()
				b.ResetTimer()
				f(b, c, benchPods[shape])
			})
		}
	}
}

func BenchmarkHardCount(b *testing.B) {
	overSizes(b, func(b *testing.B, c bigIndexed, pod *v1.Pod) {
		h := mustHard(b, pod, Options{})
		for b.Loop() {
			if s := h.count(c); s.cols[0].exist != 3 {
				b.Fatal("not three zones")
			}
		}
	})
}

func BenchmarkSoftCount(b *testing.B) {
	overSizes(b, func(b *testing.B, c bigIndexed, pod *v1.Pod) {
		p := mustSoft(b, pod, Options{})
		for b.Loop() {
			if p.count(c).skips() {
				b.Fatal("skipped")
			}
		}
	})
}

func BenchmarkHardCountPlain(b *testing.B) {
	c := bigOf(5000)
	h := mustHard(b, benchPods["zone+host"], Options{})
	b.ReportAllocs()
	for b.Loop() {
		h.count(c)
	}
}

// BenchmarkCheck checks all nodes; ns/node is the cost of one verdict.
func BenchmarkCheck(b *testing.B) {
	overSizes(b, func(b *testing.B, c bigIndexed, pod *v1.Pod) {
		s := mustHard(b, pod, Options{}).count(c)
		n := 0
		for b.Loop() {
			n = 0
			for i := range c.Len() {
				if s.Check(i) == 0 {
					n++
				}
			}
		}
		if n != c.Len() {
			b.Fatal("not all nodes pass")
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.Len()), "ns/node")
	})
}

// BenchmarkScore calls Weigh and Raw with all nodes.
func BenchmarkScore(b *testing.B) {
	overSizes(b, func(b *testing.B, c bigIndexed, pod *v1.Pod) {
		s := mustSoft(b, pod, Options{}).count(c)
		all := make([]int32, c.Len())
		for i := range all {
			all[i] = int32(i)
		}
		var sum int64
		for b.Loop() {
			sum = 0
			s.Weigh(all, nil)
			for i := range c.Len() {
				sum += s.Raw(i)
			}
		}
		if sum == 0 {
			b.Fatal("nothing counted")
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.Len()), "ns/node")
	})
}

func BenchmarkApply(b *testing.B) {
	overSizes(b, func(b *testing.B, c bigIndexed, pod *v1.Pod) {
		h := mustHard(b, pod, Options{})
		s := h.count(c)
		e := h.effect(c.reps[0])
		i := 0
		for b.Loop() {
			s.apply(e, i, 1)
			s.apply(e, i, -1)
			i = (i + 1) % 1000
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustHard(b, benchPods["zone+host"], Options{})
	}
}

// TestNoAllocations: verdicts, score passes, moves, effects and signatures allocate nothing (rule S10.9).
func TestNoAllocations(t *testing.T) {
	c := bigIndexed{bigOf(300)}
	pod := benchPods["zone+host"]
	h, p := mustHard(t, pod, Options{}), mustSoft(t, pod, Options{})
	hs, ss := h.count(c), p.count(c)
	trial := hs.NewTrial()
	trial.Add(c.reps[0], 0)
	trial.Reset()
	e, dst := h.effect(c.reps[0]), make([]int32, 0, 8)
	one := make([]int32, 1)
	for name, f := range map[string]func(i int){
		"Check":           func(i int) { hs.Check(i) },
		"Apply":           func(i int) { hs.apply(e, i, 1); hs.apply(e, i, -1) },
		"soft Apply":      func(i int) { ss.apply(e, i, 1); ss.apply(e, i, -1) },
		"effect":          func(i int) { h.effect(c.reps[i]) },
		"pass":            func(i int) { one[0] = int32(i); ss.Weigh(one, nil); ss.Raw(i) },
		"AppendSignature": func(i int) { dst = ss.Counts().AppendSignature(hs.Counts().AppendSignature(dst[:0], i), i) },
		"Trial":           func(i int) { trial.Add(c.reps[0], i); trial.Check(i); trial.Remove(c.reps[0], i); trial.Reset() },
	} {
		i := 0
		if n := testing.AllocsPerRun(200, func() { f(i); i = (i + 1) % 300 }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
