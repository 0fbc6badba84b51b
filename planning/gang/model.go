package gang

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/volumes"
)

// model is the group and the cluster as the search sees them.
type model struct {
	*proof.Subject
	q       *proof.Question
	s       *cluster.Snapshot
	placer  *placement.Placer
	slots   []int // of nodes
	kinds   []kind
	of      []int    // kind of each member
	columns []int    // of resources that members ask for and the filters count
	free    []int64  // by slot, then by column
	class   []string // by slot: slots of one class differ in amounts alone
	coupled bool     // amounts do not decide alone
	ordered bool     // the order of members matters
}

// kind is members of one group that the filters do not tell apart.
type kind struct {
	leaf    *podgroup.Node
	members []int
	pod     *v1.Pod
	needs   []int64 // by column
	open    []bool  // by slot: what lasting rejections leave
}

func newModel(q *proof.Question) (*model, error) {
	x, err := q.Subject()
	if err != nil {
		return nil, err
	}
	m := &model{Subject: x, q: q, s: q.Snapshot.Fork(), coupled: q.Nominated != nil}
	for _, i := range m.s.Order() {
		m.slots = append(m.slots, int(i))
	}
	m.placer = must.Get(placement.NewPlacer(m.s, x.Profile))
	if err := m.sort(); err != nil {
		return nil, err
	}
	m.measure()
	m.classify()
	return m, nil
}

// sort finds the kinds and asks the filters about each.
func (m *model) sort() error {
	known, facts := map[string]int{}, map[string]kind{}
	for k, pod := range m.Members {
		if same := m.twin(k); same >= 0 {
			m.kinds[same].members = append(m.kinds[same].members, k)
			m.of = append(m.of, same)
			continue
		}
		alone := proof.Alone(pod)
		text := m.Profile.PodKey(alone)
		if text == "" {
			text = fmt.Sprint(k)
		}
		name := m.Leaf[k].Name + "\x00" + text
		at, ok := known[name]
		if !ok {
			at = len(m.kinds)
			known[name] = at
			fact, asked := facts[text]
			if !asked {
				var err error
				if fact.open, err = m.ask(alone); err != nil {
					return fmt.Errorf("gang: pod %s: %w", podinfo.Name(pod), err)
				}
				facts[text] = fact
			}
			m.kinds = append(m.kinds, kind{leaf: m.Leaf[k], pod: alone, open: fact.open})
		}
		m.kinds[at].members = append(m.kinds[at].members, k)
		m.of = append(m.of, at)
	}
	return nil
}

// twin returns the kind of a member whose template is that of another member of its group; -1 for none.
func (m *model) twin(k int) int {
	pod := m.Members[k]
	return slices.IndexFunc(m.kinds, func(x kind) bool {
		o := m.Members[x.members[0]]
		return x.leaf == m.Leaf[k] && len(pod.Spec.ResourceClaims) == 0 && volumes.Ignores(pod) && maps.Equal(o.Labels, pod.Labels) && maps.Equal(o.Annotations, pod.Annotations) &&
			reflect.DeepEqual(&o.Spec, &pod.Spec) && reflect.DeepEqual(o.OwnerReferences, pod.OwnerReferences)
	})
}

// ask returns the slots that the filters leave to a pod, as far as their rejections last, and notes what kind of filters they are.
func (m *model) ask(pod *v1.Pod) ([]bool, error) {
	a := m.placer.Prepare(pod)
	if a.Pre.Err != nil {
		return nil, a.Pre.Err
	}
	m.ordered = m.ordered || !proof.AllLasting(a, pod)
	m.coupled = m.coupled || m.ordered || !volumes.Ignores(pod) || len(pod.Spec.ResourceClaims) > 0
	for _, p := range a.Predicates {
		if _, looks := p.(placement.Trialer); looks && p.Name() != plugins.NodeResourcesFit {
			m.coupled = true
		}
	}
	open, out := a.Candidates(), make([]bool, m.s.Len())
	if a.Rejected() {
		if !m.ordered {
			return out, nil
		}
		open = m.slots
	}
	for _, i := range open {
		out[i] = !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool { return proof.Lasting(p.Name(), pod) && p.Check(i) != 0 })
	}
	return out, nil
}

// measure reads what members ask for and what nodes have left.
func (m *model) measure() {
	if len(m.slots) == 0 {
		return
	}
	var used []resources.Vector
	probe := m.slots[0]
	for k := range m.kinds {
		before := slices.Clone(m.s.Requested(probe))
		must.Do(m.s.Assume(m.kinds[k].pod, probe))
		r := slices.Clone(m.s.Requested(probe))
		for c := range r {
			r[c] -= before.At(c)
		}
		used = append(used, r)
		must.Do(m.s.Remove(m.kinds[k].pod))
	}
	for c := range m.s.Schema().Len() {
		at := slices.IndexFunc(used, func(r resources.Vector) bool { return r.At(c) > 0 })
		if at < 0 {
			continue
		}
		if m.counts(m.kinds[at].pod, c) {
			m.columns = append(m.columns, c)
		} else {
			m.coupled = true
		}
	}
	for k := range m.kinds {
		for _, c := range m.columns {
			m.kinds[k].needs = append(m.kinds[k].needs, used[k].At(c))
		}
	}
	m.free = make([]int64, m.s.Len()*len(m.columns))
	for _, i := range m.slots {
		for at, c := range m.columns {
			m.free[i*len(m.columns)+at] = m.s.Allocatable(i).At(c) - m.s.Requested(i).At(c)
		}
	}
}

// counts reports whether NodeResourcesFit rejects every node for a pod that asks for more of a resource than there is: a profile may ignore a
// resource, and devices may stand for it.
func (m *model) counts(pod *v1.Pod, column int) bool {
	name := m.s.Schema().Name(column)
	huge := pod.DeepCopy()
	if name != v1.ResourcePods {
		for k := range huge.Spec.Containers {
			r := &huge.Spec.Containers[k].Resources
			if r.Requests == nil {
				r.Requests = v1.ResourceList{}
			}
			r.Requests[name] = *resource.NewQuantity(math.MaxInt64/2000, resource.DecimalSI)
		}
	}
	for _, p := range m.placer.Prepare(huge).Predicates {
		if p.Name() == plugins.NodeResourcesFit {
			return name == v1.ResourcePods || !slices.ContainsFunc(m.slots, func(i int) bool { return p.Check(i) == 0 })
		}
	}
	return false
}

// classify finds slots that differ in amounts alone.
func (m *model) classify() {
	m.class = make([]string, m.s.Len())
	var keys []string
	for _, n := range m.Tree.Nodes() {
		if key := m.key(n); key != "" {
			keys = append(keys, key)
		}
	}
	for _, i := range m.slots {
		var b strings.Builder
		for k := range m.kinds {
			fmt.Fprintf(&b, "%t,", m.kinds[k].open[i])
		}
		for _, key := range keys {
			v, ok := m.s.Node(i).Labels[key]
			fmt.Fprintf(&b, "%t%q", ok, v)
		}
		m.class[i] = b.String()
	}
}

// left returns what a slot has free.
func (m *model) room(i int) []int64 { return m.free[i*len(m.columns) : (i+1)*len(m.columns)] }

// domains returns where a node of the tree may go inside some slots.
func (m *model) domains(n *podgroup.Node, within []int) []podgroup.Placement {
	key := m.key(n)
	if key == "" {
		return []podgroup.Placement{{Slots: within}}
	}
	return must.Get(podgroup.Placements(m.q.Snapshot, within, key, func(yield func(*v1.Pod, int) bool) {
		for _, leaf := range n.Leaves() {
			for pod, slot := range m.q.Snapshot.Members(leaf.Namespace, leaf.Name) {
				if !yield(pod, slot) {
					return
				}
			}
		}
	}))
}

// below returns the kinds below a node of the tree.
func (m *model) below(n *podgroup.Node) (out []int) {
	leaves := n.Leaves()
	for k := range m.kinds {
		if slices.Contains(leaves, m.kinds[k].leaf) {
			out = append(out, k)
		}
	}
	return out
}
