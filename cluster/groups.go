package cluster

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// This file has the groups of pods. A Snapshot is a podgroup.Objects.

// Group returns the group of that namespace and name, nil when the snapshot has no object of it.
func (s *Snapshot) Group(namespace, name string) *podgroup.Group {
	g, _ := s.objects.groups.get(namespace, name)
	return g
}

// Composite returns the composite group of that namespace and name, nil when the snapshot has no object of it.
func (s *Snapshot) Composite(namespace, name string) *podgroup.Composite {
	c, _ := s.objects.composites.get(namespace, name)
	return c
}

// Groups yields the groups of a namespace by name.
func (s *Snapshot) Groups(namespace string) iter.Seq[*podgroup.Group] {
	return s.objects.groups.in(namespace)
}

// Composites yields the composite groups of a namespace by name.
func (s *Snapshot) Composites(namespace string) iter.Seq[*podgroup.Composite] {
	return s.objects.composites.in(namespace)
}

// Members yields the pods of a group that are on nodes, assumed or bound, terminating pods included, with their slots. They come by name.
// Orphans are members too, with slot -1. The group needs no object. The snapshot must not change while the caller reads the members.
func (s *Snapshot) Members(namespace, group string) iter.Seq2[*v1.Pod, int] {
	return func(yield func(*v1.Pod, int) bool) {
		for p := range s.members.in(memberSpace(namespace, group)) {
			if !yield(p, s.podSlot(p.Namespace, p.Name)) {
				return
			}
		}
	}
}

// memberSpace is the space of a group in the table of members. No namespace has a slash.
func memberSpace(namespace, group string) string { return namespace + "/" + group }

// enrol counts a pod as a member of its group. Pods without a group cost nothing.
func (s *Snapshot) enrol(pod *v1.Pod) {
	if group, ok := podgroup.Of(pod); ok {
		s.members.put(s.own, memberSpace(pod.Namespace, group), podinfo.Name(pod), pod)
	}
}

// expel is the opposite of enrol.
func (s *Snapshot) expel(pod *v1.Pod) {
	if group, ok := podgroup.Of(pod); ok {
		s.members.remove(s.own, memberSpace(pod.Namespace, group), podinfo.Name(pod))
	}
}
