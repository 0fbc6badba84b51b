package consolidation

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
)

// shapeOf returns a key that loads have in common whose pods have one controller and ask for the same; "" for a load with volumes or
// claims, which depend on the pod.
func shapeOf(l *load) string {
	spec := &l.old.Spec
	if l.claims || slices.ContainsFunc(spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil }) {
		return ""
	}
	buffer := key.Pairs(key.Controller(key.Text(nil, l.old.Namespace), l.old), l.old.Labels)
	for _, n := range l.asks {
		buffer = key.Int(buffer, n)
	}
	return string(buffer)
}

// instead moves a pod to the place of an equal pod that waits, and gives the other pod its own place. So pods that are spread over
// zones find an order in which no zone has too many.
func (r *run) instead(id int32, way Way) replaced {
	for _, other := range r.places(id, way) {
		if x := r.try(id, r.nodes[r.choice.target[other]].object.Name, way); x.pod != nil {
			r.choice.target[id], r.choice.target[other] = r.choice.target[other], r.choice.target[id]
			return x
		}
	}
	return replaced{}
}

// mostSwaps is how many equal pods are tried for one pod.
const mostSwaps = 4

// places returns equal pods that wait whose places the filters allow a pod, at most mostSwaps.
func (r *run) places(id int32, way Way) (out []int32) {
	if len(r.equal[r.loads[id].shape]) < 2 {
		return nil
	}
	m := r.snapshot.Mark()
	defer r.snapshot.Rollback(m)
	a := r.placer.Prepare(r.lift(id, way))
	if a.Rejected() || a.Pre.Nodes != nil {
		return nil
	}
	tried := map[int32]bool{r.choice.target[id]: true}
	for _, other := range r.equal[r.loads[id].shape] {
		slot, ok := r.choice.target[other]
		if !ok || tried[slot] {
			continue
		}
		tried[slot] = true
		if !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool { return p.Check(int(slot)) != 0 }) {
			if out = append(out, other); len(out) == mostSwaps {
				break
			}
		}
	}
	return out
}
