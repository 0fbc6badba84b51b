package diagnose

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// common is what diagnoses of several pods over one snapshot share.
type common struct {
	shapes   map[int]string           // by slot; nil: not asked yet
	labels   nodeLabels               // of the nodes; nil: not asked yet
	placer   *placement.Placer        // over base; nil: not asked yet
	base     *cluster.Snapshot        // the cluster as it is
	owned    map[controller][]*v1.Pod // running pods by their controller, in scan order; nil: not asked yet
	untaints map[[2]string]string     // why a taint stays, by the name of the node and the taint
	slots    map[*v1.Pod]int          // of the running pods; nil: not asked yet
	scaler   *bool                    // the cluster autoscaler runs; nil: not asked yet
	kinds    *podKinds                // nil: not asked yet
}

func newCommon() *common { return &common{untaints: map[[2]string]string{}} }

// shapesOf returns the shapes of the nodes: allocatable resources, taints that a new node has too, and those labels that other nodes have.
func (x *common) shapesOf(s *cluster.Snapshot) map[int]string {
	if x.shapes != nil {
		return x.shapes
	}
	shared := map[[2]string]int{}
	for _, i := range s.Order() {
		for k, v := range s.Node(int(i)).Labels {
			shared[[2]string{k, v}]++
		}
	}
	x.shapes = map[int]string{}
	for _, i := range s.Order() {
		n := s.Node(int(i))
		var b strings.Builder
		for _, r := range slices.Sorted(maps.Keys(n.Status.Allocatable)) {
			b.WriteString(string(r) + "=" + decimal(resources.Value(r, n.Status.Allocatable[r])) + ",")
		}
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			if shared[[2]string{k, n.Labels[k]}] > 1 {
				b.WriteString(k + "=" + n.Labels[k] + ",")
			}
		}
		for _, t := range n.Spec.Taints {
			if !passes(n, t) {
				b.WriteString(t.ToString())
			}
		}
		x.shapes[int(i)] = b.String()
	}
	return x.shapes
}

// nodeLabels are the keys of the labels of nodes, each with its values.
type nodeLabels map[string]map[string]bool

// labelsOf returns the labels of the nodes.
func (x *common) labelsOf(nodes []*v1.Node) nodeLabels {
	if x.labels == nil {
		x.labels = nodeLabels{}
		for _, n := range nodes {
			for key, value := range n.Labels {
				values := x.labels[key]
				if values == nil {
					values = map[string]bool{}
					x.labels[key] = values
				}
				values[value] = true
			}
		}
	}
	return x.labels
}

// controller is who makes pods.
type controller struct{ namespace, kind, name string }

// ownedBy returns the running pods of a controller.
func (x *common) ownedBy(s *cluster.Snapshot, slots []int, namespace string, by *metav1.OwnerReference) []*v1.Pod {
	if x.owned == nil {
		x.owned = map[controller][]*v1.Pod{}
		for _, i := range slots {
			for p := range s.Pods(i) {
				if c := metav1.GetControllerOfNoCopy(p); c != nil {
					key := controller{p.Namespace, c.Kind, c.Name}
					x.owned[key] = append(x.owned[key], p)
				}
			}
		}
	}
	return x.owned[controller{namespace, by.Kind, by.Name}]
}

// slotsOf returns the slots of the running pods.
func (x *common) slotsOf(s *cluster.Snapshot, slots []int) map[*v1.Pod]int {
	if x.slots == nil {
		x.slots = map[*v1.Pod]int{}
		for _, i := range slots {
			for p := range s.Pods(i) {
				x.slots[p] = i
			}
		}
	}
	return x.slots
}

// podKinds are the running pods in scan order, by what rules between pods read of them.
type podKinds struct {
	pods  []*v1.Pod
	of    []int32   // the kind of each pod
	first []*v1.Pod // a pod of each kind
}

// kindsOf returns the kinds of the running pods.
func (x *common) kindsOf(s *cluster.Snapshot, slots []int) *podKinds {
	if x.kinds != nil {
		return x.kinds
	}
	x.kinds = &podKinds{}
	known := map[podKind]int32{}
	for _, i := range slots {
		for p := range s.Pods(i) {
			kind, terms := s.PodKind(p)
			key := podKind{kind, terms, p.DeletionTimestamp != nil}
			k, ok := known[key]
			if !ok {
				k = int32(len(x.kinds.first))
				known[key], x.kinds.first = k, append(x.kinds.first, p)
			}
			x.kinds.pods, x.kinds.of = append(x.kinds.pods, p), append(x.kinds.of, k)
		}
	}
	return x.kinds
}

// autoscales reports whether the cluster autoscaler runs.
func (x *common) autoscales(s *cluster.Snapshot, slots []int) bool {
	if x.scaler == nil {
		runs := slices.ContainsFunc(slots, func(i int) bool {
			for p := range s.Pods(i) {
				if strings.Contains(p.Name, "autoscaler") && (p.Labels["app"] == "cluster-autoscaler" || p.Labels["app.kubernetes.io/name"] == "cluster-autoscaler" || p.Labels["k8s-app"] == "cluster-autoscaler") {
					return true
				}
			}
			return false
		})
		x.scaler = &runs
	}
	return *x.scaler
}

// placerOf returns a placer over a copy of the cluster as it is. Whoever changes the copy undoes it: what the placer has learned about the nodes is
// then still true.
func (x *common) placerOf(d *diagnosis) (*placement.Placer, *cluster.Snapshot) {
	if x.placer == nil {
		x.base = d.base.Fork()
		x.placer = must.Get(placement.NewPlacer(x.base, d.profileOver(x.base)))
	}
	return x.placer, x.base
}

// trial is a cluster to change and to place pods in, until end.
type trial struct {
	placer *placement.Placer
	s      *cluster.Snapshot
	placed []*v1.Pod
	end    func()
}

// trial returns the cluster as it is. The placer goes to nodes that Options.Where wants alone. One trial ends before the next begins.
func (d *diagnosis) trial() *trial {
	if d.o.Where != nil {
		s := d.base.Fork()
		return &trial{s: s, placer: must.Get(placement.NewPlacer(s, d.where(s))), end: func() {}}
	}
	t := &trial{}
	t.placer, t.s = d.common.placerOf(d)
	mark := t.s.Mark()
	t.end = func() {
		for _, p := range slices.Backward(t.placed) {
			must.Do(t.placer.Forget(p))
		}
		t.s.Rollback(mark)
	}
	return t
}

// place places a pod. ok is false when no node takes it.
func (t *trial) place(p *v1.Pod) (node string, ok bool) {
	dec := t.placer.Decide(p, placement.Options{})
	if !dec.Placed() {
		return "", false
	}
	must.Do(t.placer.Assume(p, dec))
	t.placed = append(t.placed, p)
	return dec.Node, true
}
