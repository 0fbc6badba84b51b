package packing_test

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// gpu is the resource of which the nodes of a fragmented cluster have few.
const gpu = "example.com/gpu"

// Priorities of fragmented clusters.
const (
	low  = 0
	mid  = 500
	high = 1000
)

// fragmented is a cluster of equal nodes, all devices of which are in use. The pods above low that run and wait have room together if some
// of them move to places of low pods. Every low pod asks for one device. So the best vector is known: everything above low has a node,
// and the devices that are left are those of low pods.
type fragmented struct {
	world
	r     *rand.Rand
	each  int   // devices of a node
	free  []int // by node
	next  int
	loose int // nodes of which the budgets and controllers let everything go; the first ones
}

// kinds of fragmented clusters. Each adds the pods above low and reports whether a cluster of this size can be of its kind.
var kinds = []struct {
	name, why string
	fill      func(f *fragmented) bool
}{
	{"halves", "half of each node is high, and a pod of a whole node waits: half a node moves to the places of low pods elsewhere", func(f *fragmented) bool {
		f.rows(func(int) int { return f.each / 2 })
		return f.waits(f.each, high)
	}},
	{"most", "each node has little that is low", func(f *fragmented) bool {
		n := f.each * (len(f.nodes) - 1) / len(f.nodes)
		f.rows(func(int) int { return n })
		return f.waits(f.each, high)
	}},
	{"ragged", "each node has another number of high pods", func(f *fragmented) bool {
		for room := f.each * (len(f.nodes) - 1); room > 0; room-- {
			if i := f.r.IntN(len(f.nodes)); f.free[i] > 1 {
				f.runs(i, 1, high)
			}
		}
		return f.waits(f.each, high)
	}},
	{"several", "more than one pod of a whole node waits", func(f *fragmented) bool {
		n := 2 + f.r.IntN(3)
		if n >= len(f.nodes) {
			return false
		}
		most := f.each * (len(f.nodes) - n) / len(f.nodes)
		f.rows(func(int) int { return most })
		for range n {
			f.waits(f.each, high)
		}
		return most > 0
	}},
	{"sizes", "high pods of several sizes fill all nodes but one, and are scattered at random", func(f *fragmented) bool {
		var sizes []int
		for range len(f.nodes) - 1 {
			for left := f.each; left > 0; {
				n := 1 + f.r.IntN(max(1, min(left, f.each/2)))
				sizes, left = append(sizes, n), left-n
			}
		}
		f.scatter(sizes, high)
		return f.waits(f.each, high)
	}},
	{"powers", "the same with sizes that are powers of two, and room to spare", func(f *fragmented) bool {
		var sizes []int
		for range len(f.nodes) - 1 {
			for left := f.each - f.r.IntN(2); left > 0; {
				n := 1 << f.r.IntN(4)
				if n <= left && n < f.each {
					sizes, left = append(sizes, n), left-n
				}
			}
		}
		f.scatter(sizes, high)
		return f.waits(f.each, high)
	}},
	{"tiers", "high and middle pods of several sizes are scattered; a middle pod of a whole node waits and preempts nothing that is high", func(f *fragmented) bool {
		var highs, mids []int
		for range len(f.nodes) - 1 {
			for left := f.each; left > 0; {
				n := 1 + f.r.IntN(max(1, min(left, f.each/2)))
				if left -= n; f.r.IntN(2) == 0 {
					highs = append(highs, n)
				} else {
					mids = append(mids, n)
				}
			}
		}
		f.scatter(highs, high)
		f.scatter(mids, mid)
		return f.waits(f.each, mid)
	}},
	{"budgets", "the high pods of one node may leave it, and those of the others may not", func(f *fragmented) bool {
		f.loose = 1
		f.rows(func(int) int { return f.each / 2 })
		return f.waits(f.each, high)
	}},
	{"pinned", "pods of a DaemonSet hold a device of each node but one", func(f *fragmented) bool {
		at := f.r.IntN(len(f.nodes))
		for i := range f.nodes {
			if i != at {
				f.pods = append(f.pods, owned(f.pod(1, high).On(f.nodes[i].Name).Obj()))
				f.free[i]--
			}
		}
		f.rows(func(i int) int { return min(f.each/2, f.free[i]) })
		if f.each < 3 && len(f.nodes) < 3 {
			return false
		}
		return f.waits(f.each, high)
	}},
	{"chain", "a pod may use its node and the next one, and only the last node has low pods: all high pods move on by one node", func(f *fragmented) bool {
		last := len(f.nodes) - 1
		for i := range last {
			for f.free[i] > 0 {
				f.runs(i, 1+f.r.IntN(max(1, f.free[i]/2)), high, f.nodes[i].Name, f.nodes[i+1].Name)
			}
		}
		return f.waits(f.each, high, f.nodes[0].Name)
	}},
	{"uneven", "nodes of several sizes; the pod that waits needs the largest, which is full of small high pods", func(f *fragmented) bool {
		room := 0
		for i := range f.nodes[1:] {
			f.shrink(i, f.r.IntN(f.each/2+1))
			room += f.free[i]
		}
		last := len(f.nodes) - 1
		for range f.each {
			f.runs(last, 1, high)
		}
		for room -= f.each; room > 0; {
			if i := f.r.IntN(last); f.free[i] > 0 {
				n := 1 + f.r.IntN(min(f.free[i], room, 3))
				f.runs(i, n, high)
				room -= n
			}
		}
		return room == 0 && f.waits(f.each, high)
	}},
	{"threequarters", "the pod that waits needs more than half a node, and each node has a big high pod and small ones", func(f *fragmented) bool {
		if f.each < 4 {
			return false
		}
		for i := range f.nodes {
			f.runs(i, f.each/4, high)
			f.runs(i, f.each/4, high)
		}
		return f.waits(f.each-f.each/4, high)
	}},
}

// newFragmented makes a cluster of a kind, with low pods on all devices that are left, and returns the best number of pods by priority.
func newFragmented(kind, nodes, each int, seed uint64) (f *fragmented, best map[int32]int, ok bool) {
	f = &fragmented{r: rand.New(rand.NewPCG(seed, uint64(1000*kind+20*nodes+each))), each: each, loose: nodes}
	for i := range nodes {
		f.nodes = append(f.nodes, node(fmt.Sprintf("g%d", i), "a", fmt.Sprintf("cpu=64,memory=512Gi,%s=%d", gpu, each)))
		f.free = append(f.free, each)
	}
	if !kinds[kind].fill(f) {
		return nil, nil, false
	}
	best, left := map[int32]int{}, 0
	for i := range f.nodes {
		n := f.nodes[i].Status.Allocatable[gpu]
		for left += int(n.Value()); f.free[i] > 0; {
			f.runs(i, 1, low)
		}
	}
	for _, list := range [][]*v1.Pod{f.pods, f.pending} {
		for _, p := range list {
			if *p.Spec.Priority > low {
				n := p.Spec.Containers[0].Resources.Requests[gpu]
				best[*p.Spec.Priority]++
				left -= int(n.Value())
			}
		}
	}
	if left < 0 {
		return nil, nil, false
	}
	lows := 0
	for _, p := range f.pods {
		if *p.Spec.Priority == low {
			lows++
		}
	}
	best[low] = min(left, lows)
	return f, best, true
}

// pod makes a pod of some devices for some nodes; none: for all.
func (f *fragmented) pod(size int, priority int32, nodes ...string) testkit.PodBuilder {
	f.next++
	p := testkit.Pod(fmt.Sprintf("p%d", f.next)).Priority(priority).Request(fmt.Sprintf("cpu=100m,%s=%d", gpu, size))
	if len(nodes) > 0 {
		p = p.RequireNodes(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: nodes}}})
	}
	return p
}

// runs puts a pod on a node. A budget protects a pod above low that is not on one of the loose nodes.
func (f *fragmented) runs(i, size int, priority int32, nodes ...string) {
	p := f.pod(size, priority, nodes...)
	if priority > low && i >= f.loose {
		p = p.Labels("app=kept")
		if len(f.budgets) == 0 {
			f.budgets = []*policyv1.PodDisruptionBudget{budget("kept", 0)}
		}
	}
	f.free[i] -= size
	f.pods = append(f.pods, p.On(f.nodes[i].Name).Obj())
}

// shrink takes devices from a node without pods.
func (f *fragmented) shrink(i, n int) {
	f.free[i] -= n
	f.nodes[i].Status.Allocatable[gpu] = *resource.NewQuantity(int64(f.free[i]), resource.DecimalSI)
}

// rows puts so many high pods of one device on each node.
func (f *fragmented) rows(of func(i int) int) {
	for i := range f.nodes {
		for range of(i) {
			f.runs(i, 1, high)
		}
	}
}

// waits adds a pod to the queue.
func (f *fragmented) waits(size int, priority int32, nodes ...string) bool {
	f.pending = append(f.pending, f.pod(size, priority, nodes...).Obj())
	return true
}

// scatter puts pods on random nodes with room. Pods for which no room is left wait.
func (f *fragmented) scatter(sizes []int, priority int32) {
	f.r.Shuffle(len(sizes), func(a, b int) { sizes[a], sizes[b] = sizes[b], sizes[a] })
	for _, n := range sizes {
		placed := false
		for _, i := range f.r.Perm(len(f.nodes)) {
			if placed = f.free[i] >= n; placed {
				f.runs(i, n, priority)
				break
			}
		}
		if !placed {
			f.waits(n, priority)
		}
	}
}
