package preemption

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Index keeps data that several requests about one cluster share: the nodes by name, and the pods of each node with the
// requests of each priority. The caller reports every change of the cluster. An Index belongs to one goroutine, and [NewIndex] makes it.
type Index interface {
	// Touch reports that the pods of slot i changed. A slot that the index does not know is ignored.
	Touch(i int)
	// TouchNodes reports that nodes were added, removed or changed.
	TouchNodes()
	// Forget reports that anything may have changed.
	Forget()

	memory() *index
}

type index struct {
	cluster  Cluster
	requests func(p *v1.Pod) (resources.Vector, bool)
	order    []int32  // slots by node name
	names    []string // their names
	sorted   bool
	rows     []levels

	changes   uint64   // calls of Touch
	touched   []uint64 // by slot: changes at the latest Touch
	forgotten uint64   // calls of Forget
	sorts     uint64   // how often order changed
}

// levels are the pods of one slot in the cluster's order, and their priorities, the highest first.
type levels struct {
	known  bool
	lowest int32 // priority, MaxInt32 without pods
	pods   []resident
	again  bool // left was called since the pods are known
	summed bool // the steps are computed
	exact  bool
	steps  []priorityStep
}

// resident is a pod with the values that are read often.
type resident struct {
	pod      *v1.Pod
	priority int32
	started  bool
	start    time.Time
}

// priorityStep is a priority, and the sum of the requests of all pods of at least this priority.
type priorityStep struct {
	priority int32
	sum      resources.Vector
}

// NewIndex returns an index of the cluster. The index computes nothing before it is needed. If the cluster has the method
// PodRequests(p *v1.Pod) ([resources.Vector], bool), the index also rules out nodes that cannot be made free enough.
// A nil cluster panics at the first use.
func NewIndex(c Cluster) Index { return newIndex(c) }

func newIndex(c Cluster) *index {
	x := &index{cluster: c}
	if k, ok := c.(interface {
		PodRequests(p *v1.Pod) (resources.Vector, bool)
	}); ok {
		x.requests = k.PodRequests
	}
	return x
}

func (x *index) memory() *index { return x }

func (x *index) Touch(i int) {
	if i >= 0 && i < len(x.rows) {
		x.rows[i].known = false
		x.changes++
		x.touched[i] = x.changes
	}
}

// changedAt returns what changes was at the latest change of slot i.
func (x *index) changedAt(i int) uint64 {
	if i < len(x.touched) {
		return x.touched[i]
	}
	return 0
}

func (x *index) TouchNodes() { x.sorted = false }

func (x *index) Forget() {
	x.sorted = false
	x.forgotten++
	for i := range x.rows {
		x.rows[i].known = false
	}
}

// byName returns the slots that have a node, sorted by node name. Most changes of nodes keep the names.
func (x *index) byName() []int32 {
	if !x.sorted && !x.same() {
		x.sort()
	}
	x.sorted = true
	return x.order
}

// same reports whether every node has the slot and name that it had.
func (x *index) same() bool {
	nodes := 0
	for i := range x.cluster.Len() {
		if x.cluster.Node(i) != nil {
			nodes++
		}
	}
	if nodes != len(x.order) {
		return false
	}
	for k, i := range x.order {
		if n := x.cluster.Node(int(i)); n == nil || n.Name != x.names[k] {
			return false
		}
	}
	return true
}

func (x *index) sort() {
	type named struct {
		name string
		slot int32
	}
	list := make([]named, 0, x.cluster.Len())
	for i := range x.cluster.Len() {
		if n := x.cluster.Node(i); n != nil {
			list = append(list, named{n.Name, int32(i)})
		}
	}
	x.sorts++
	slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.name, b.name) })
	x.order, x.names = make([]int32, len(list)), make([]string, len(list))
	for k := range list {
		x.order[k], x.names[k] = list[k].slot, list[k].name
	}
}

// level returns the priorities of slot i.
func (x *index) level(i int) *levels {
	if len(x.rows) < x.cluster.Len() {
		x.rows = append(x.rows, make([]levels, x.cluster.Len()-len(x.rows))...)
		x.touched = append(x.touched, make([]uint64, len(x.rows)-len(x.touched))...)
	}
	l := &x.rows[i]
	if !l.known {
		x.fill(i, l)
	}
	return l
}

func (x *index) fill(i int, l *levels) {
	l.known, l.again, l.summed, l.lowest, l.pods = true, false, false, math.MaxInt32, l.pods[:0]
	for p := range x.cluster.Pods(i) {
		q := resident{pod: p, priority: Priority(p)}
		if at := p.Status.StartTime; at != nil {
			q.start, q.started = at.Time, true
		}
		l.pods, l.lowest = append(l.pods, q), min(l.lowest, q.priority)
	}
}

// left returns what the pods of slot i of at least the priority ask for, and false if that is not certain. The first
// call for a slot returns false: computing the sums costs as much as trying the node.
func (x *index) left(i int, priority int32) (resources.Vector, bool) {
	l := x.level(i)
	if !l.again || x.requests == nil {
		l.again = true
		return nil, false
	}
	if !l.summed {
		x.sum(l)
	}
	var sum resources.Vector
	for k := range l.steps {
		if l.steps[k].priority < priority {
			break
		}
		sum = l.steps[k].sum
	}
	return sum, l.exact
}

// sum computes the steps.
func (x *index) sum(l *levels) {
	l.summed, l.exact, l.steps = true, true, l.steps[:0]
	for k := range l.pods {
		v, ok := x.requests(l.pods[k].pod)
		if !ok {
			l.exact = false
			return
		}
		s := l.at(l.pods[k].priority)
		s.sum = s.sum.Grow(len(v))
		l.exact = !s.sum.Add(v) && l.exact // after saturation, subtracting and adding up may differ
	}
	for k := 1; k < len(l.steps); k++ {
		s := &l.steps[k]
		s.sum = s.sum.Grow(len(l.steps[k-1].sum))
		l.exact = !s.sum.Add(l.steps[k-1].sum) && l.exact
	}
}

// at returns the step of a priority, and inserts a step if there is none.
func (l *levels) at(priority int32) *priorityStep {
	k, found := slices.BinarySearchFunc(l.steps, priority, func(s priorityStep, p int32) int { return cmp.Compare(p, s.priority) })
	if !found {
		var spare resources.Vector
		if n := len(l.steps); n < cap(l.steps) { // memory of an earlier fill
			spare = l.steps[:n+1][n].sum
			clear(spare)
		}
		l.steps = slices.Insert(l.steps, k, priorityStep{priority, spare})
	}
	return &l.steps[k]
}
