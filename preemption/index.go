package preemption

import (
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Index is what is worth keeping between two questions about one cluster: the nodes by name, and of each node the pods and
// by priority what they ask for. Tell it of changes by Touch. It belongs to one goroutine.
type Index struct {
	cluster  Cluster
	requests func(p *v1.Pod) (resources.Vector, bool)
	order    []int32  // slots by node name
	names    []string // their names
	sorted   bool
	rows     []levels
}

// levels are the pods of one slot in the cluster's order, and their priorities, the highest first.
type levels struct {
	known, exact bool
	pods         []resident
	steps        []step
}

// resident is a pod with what is often read of it.
type resident struct {
	pod      *v1.Pod
	priority int32
	started  bool
	start    time.Time
}

// step is a priority and what all pods of at least this priority ask for.
type step struct {
	priority int32
	sum      resources.Vector
}

// NewIndex returns an index of the cluster. Nothing is computed before it is needed. A cluster that can tell what a pod
// counts with (PodRequests) allows bounds by which hopeless nodes are not tried.
func NewIndex(c Cluster) *Index {
	x := &Index{cluster: c}
	if k, ok := c.(interface {
		PodRequests(p *v1.Pod) (resources.Vector, bool)
	}); ok {
		x.requests = k.PodRequests
	}
	return x
}

// Touch says that the pods of slot i changed.
func (x *Index) Touch(i int) {
	if i >= 0 && i < len(x.rows) {
		x.rows[i].known = false
	}
}

// TouchNodes says that nodes were added, removed or changed.
func (x *Index) TouchNodes() { x.sorted = false }

// Forget says that anything may have changed.
func (x *Index) Forget() {
	x.sorted = false
	for i := range x.rows {
		x.rows[i].known = false
	}
}

// byName returns the slots that have a node, by name. Most changes of nodes leave the names as they are.
func (x *Index) byName() []int32 {
	if !x.sorted && !x.same() {
		x.sort()
	}
	x.sorted = true
	return x.order
}

// same reports whether the nodes have the slots and names that they had.
func (x *Index) same() bool {
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

func (x *Index) sort() {
	x.order, x.names = x.order[:0], x.names[:0]
	for i := range x.cluster.Len() {
		if x.cluster.Node(i) != nil {
			x.order = append(x.order, int32(i))
		}
	}
	slices.SortFunc(x.order, func(a, b int32) int {
		return strings.Compare(x.cluster.Node(int(a)).Name, x.cluster.Node(int(b)).Name)
	})
	for _, i := range x.order {
		x.names = append(x.names, x.cluster.Node(int(i)).Name)
	}
}

// level returns the priorities of slot i.
func (x *Index) level(i int) *levels {
	if len(x.rows) < x.cluster.Len() {
		x.rows = append(x.rows, make([]levels, x.cluster.Len()-len(x.rows))...)
	}
	l := &x.rows[i]
	if !l.known {
		x.fill(i, l)
	}
	return l
}

func (x *Index) fill(i int, l *levels) {
	l.known, l.exact, l.steps, l.pods = true, x.requests != nil, l.steps[:0], l.pods[:0]
	for p := range x.cluster.Pods(i) {
		q := resident{pod: p, priority: Priority(p)}
		if at := p.Status.StartTime; at != nil {
			q.start, q.started = at.Time, true
		}
		l.pods = append(l.pods, q)
		s := l.at(q.priority)
		if !l.exact {
			continue
		}
		v, ok := x.requests(p)
		if !ok {
			l.exact = false
			continue
		}
		s.sum = s.sum.Grow(len(v))
		s.sum.Add(v)
	}
	for k := 1; k < len(l.steps); k++ {
		s := &l.steps[k]
		s.sum = s.sum.Grow(len(l.steps[k-1].sum))
		s.sum.Add(l.steps[k-1].sum)
	}
	if n := len(l.steps); n > 0 && slices.Contains(l.steps[n-1].sum, math.MaxInt64) {
		l.exact = false // saturated: subtracting and adding up may differ
	}
}

// at returns the step of a priority, a new one if need be.
func (l *levels) at(priority int32) *step {
	k, found := slices.BinarySearchFunc(l.steps, priority, func(s step, p int32) int {
		switch {
		case s.priority > p:
			return -1
		case s.priority < p:
			return 1
		}
		return 0
	})
	if !found {
		var spare resources.Vector
		if n := len(l.steps); n < cap(l.steps) { // memory of an earlier fill
			spare = l.steps[:n+1][n].sum
			clear(spare)
		}
		l.steps = slices.Insert(l.steps, k, step{priority, spare})
	}
	return &l.steps[k]
}

// lowest returns the lowest priority on the slot, MaxInt32 without pods.
func (l *levels) lowest() int32 {
	if len(l.steps) == 0 {
		return math.MaxInt32
	}
	return l.steps[len(l.steps)-1].priority
}

// left returns what the pods of at least the priority ask for, and false when that is not known for certain.
func (l *levels) left(priority int32) (resources.Vector, bool) {
	var sum resources.Vector
	for k := range l.steps {
		if l.steps[k].priority < priority {
			break
		}
		sum = l.steps[k].sum
	}
	return sum, l.exact
}
