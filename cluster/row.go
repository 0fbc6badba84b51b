package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// row is what a slot holds in addition to the node and the vectors.
type row struct {
	own       *owner
	pods      []entry
	sets      []groupPlace
	terms     []groupPlace
	ports     []*v1.Pod // of pods, those with host ports
	saturated bool      // a sum reached an end of int64 and must be computed from the pods
}

type entry struct {
	pod  *v1.Pod
	info *info
	hash uint32 // of the pod's namespace and name
}

// podKey is the namespace and name of a pod.
type podKey struct{ namespace, name string }

func keyOf(pod *v1.Pod) podKey { return podKey{pod.Namespace, pod.Name} }

func (s *Snapshot) row(slot int) *row { return s.rows.at(slot) }

func (s *Snapshot) writeRow(slot int) *row {
	p := s.rows.write(s.own, slot)
	if r := *p; r.own != s.own {
		*p = &row{
			own: s.own, pods: slices.Clone(r.pods), sets: slices.Clone(r.sets), terms: slices.Clone(r.terms),
			ports: slices.Clone(r.ports), saturated: r.saturated,
		}
	}
	return *p
}

// insert puts a pod of that hash into a slot, at a position among its pods.
func (s *Snapshot) insert(pod *v1.Pod, hash uint32, info *info, slot, at int) {
	if !s.valid(info) {
		info = s.prepare(pod)
	}
	r := s.writeRow(slot)
	if at == len(r.pods) {
		r.pods = append(r.pods, entry{pod, info, hash})
	} else {
		r.pods = slices.Insert(r.pods, at, entry{pod, info, hash})
	}
	s.enter(hash, slot)
	s.enrol(pod)
	s.join(r, info, slot)
	s.sum(r, slot, nil, info)
	if info.ports {
		r.ports = append(r.ports, pod)
	}
	s.record(undo{kind: undoInsert, slot: slot, at: at})
	s.logPod(slot, info, 1)
}

// take removes the pod at a position of a slot.
func (s *Snapshot) take(slot, at int) {
	r := s.writeRow(slot)
	e := r.pods[at]
	last := len(r.pods) - 1
	copy(r.pods[at:], r.pods[at+1:])
	r.pods[last] = entry{}
	r.pods = r.pods[:last]
	s.expel(e.pod)
	s.leave(r, e.info)
	s.sum(r, slot, e.info, nil)
	if e.info.ports {
		r.ports = slices.DeleteFunc(r.ports, func(p *v1.Pod) bool { return p == e.pod })
	}
	s.erase(e.hash, slot)
	s.record(undo{kind: undoTake, slot: slot, at: at, pod: e.pod, info: e.info})
	s.logPod(slot, e.info, -1)
}

// replace puts a newer object in the place of a pod.
func (s *Snapshot) replace(pod *v1.Pod, info *info, slot, at int) {
	if !s.valid(info) {
		info = s.prepare(pod)
	}
	r := s.writeRow(slot)
	e := r.pods[at]
	r.pods[at] = entry{pod, info, e.hash}
	s.expel(e.pod)
	s.enrol(pod)
	if countSame(e.info, info) {
		s.logPod(slot, info, 0)
	} else {
		s.leave(r, e.info)
		s.join(r, info, slot)
		s.sum(r, slot, e.info, info)
		s.logPod(slot, e.info, -1)
		s.logPod(slot, info, 1)
	}
	if e.info.ports || info.ports {
		r.ports = r.ports[:0]
		for _, e := range r.pods {
			if e.info.ports {
				r.ports = append(r.ports, e.pod)
			}
		}
	}
	s.record(undo{kind: undoReplace, slot: slot, at: at, pod: e.pod, info: e.info})
}

// join counts a pod in the groups of its slot.
func (s *Snapshot) join(r *row, info *info, slot int) {
	r.sets = s.sets.add(s.own, info.set, slot, r.sets)
	if info.terms >= 0 {
		r.terms = s.terms.add(s.own, info.terms, slot, r.terms)
	}
}

// leave is the opposite of join.
func (s *Snapshot) leave(r *row, info *info) {
	var moved int
	var pos int32
	if r.sets, moved, pos = s.sets.remove(s.own, info.set, r.sets); moved >= 0 {
		movePlace(s.writeRow(moved).sets, info.set, pos)
	}
	if info.terms >= 0 {
		if r.terms, moved, pos = s.terms.remove(s.own, info.terms, r.terms); moved >= 0 {
			movePlace(s.writeRow(moved).terms, info.terms, pos)
		}
	}
}

// sum subtracts out from the sums of a slot and adds in. Either may be nil. The row must have its new pods already, because
// recount computes saturated sums from them.
func (s *Snapshot) sum(r *row, slot int, out, in *info) {
	saturated := r.saturated
	if !saturated && out != nil {
		saturated = s.requested.write(s.own, slot, len(out.request)).Sub(out.request)
		saturated = s.addNonZero(slot, -out.cpu, -out.memory) || saturated
	}
	if !saturated && in != nil {
		saturated = s.requested.write(s.own, slot, len(in.request)).Add(in.request)
		saturated = s.addNonZero(slot, in.cpu, in.memory) || saturated
	}
	if saturated {
		s.recount(r, slot)
	}
}

// recount computes the sums of a slot from its pods: a sum that saturated cannot be undone by subtraction.
func (s *Snapshot) recount(r *row, slot int) {
	r.saturated = false
	*s.nonZero.write(s.own, slot) = [2]int64{}
	width := 0
	for _, e := range r.pods {
		width = max(width, len(e.info.request))
	}
	sum := s.requested.write(s.own, slot, width)
	clear(sum)
	for _, e := range r.pods {
		if sum.Add(e.info.request) {
			r.saturated = true
		}
		if s.addNonZero(slot, e.info.cpu, e.info.memory) {
			r.saturated = true
		}
	}
}

// addNonZero adds to the non-zero requests of a slot and reports whether a sum saturated.
func (s *Snapshot) addNonZero(slot int, cpu, memory int64) bool {
	add := [2]int64{cpu, memory}
	return resources.Vector(s.nonZero.write(s.own, slot)[:]).Add(add[:])
}

// find returns the position of the pod of that hash, namespace and name, -1 when it is not there. A nil row has no pods.
func (r *row) find(hash uint32, namespace, name string) int {
	if r == nil {
		return -1
	}
	for i := len(r.pods) - 1; i >= 0; i-- { // assumed pods are at the end
		if r.pods[i].hash != hash {
			continue
		}
		if p := r.pods[i].pod; p.Name == name && p.Namespace == namespace {
			return i
		}
	}
	return -1
}

// has reports whether a pod of that hash is there. A nil row has no pods.
func (r *row) has(hash uint32) bool {
	return r != nil && slices.ContainsFunc(r.pods, func(e entry) bool { return e.hash == hash })
}
