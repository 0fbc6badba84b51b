package cluster

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for slots that do not exist.
func TestMisuse(t *testing.T) {
	fresh := func() *Snapshot {
		s, err := New(Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("p").On("a").Obj(), testkit.Pod("lost").On("gone").Obj()}})
		if err != nil {
			panic(err)
		}
		return s
	}
	const noSlot, noID = "a slot is a number from 0 to Len()-1", "the snapshot never returned this id"
	testkit.Misuse(t, map[string]any{
		"New": func(o Objects) { _, _ = New(o) },
		"New nils": func(n *v1.Node, p *v1.Pod, s *v1.Service) {
			_, _ = New(Objects{Nodes: []*v1.Node{n}, Pods: []*v1.Pod{p}, Services: []*v1.Service{s}})
		},
		"Snapshot": fresh,
		"List":     func() Lookup[*v1.Service] { return List[*v1.Service](fresh()) },
		"Set pod":  func(p *v1.Pod) error { return fresh().Set(p) },
		"Set node": func(n *v1.Node) error { return fresh().Set(n) },
		"Set":      func(o *v1.Service) error { return fresh().Set(o) },
		"Remove": func(n *v1.Node, p *v1.Pod, o *v1.Service) error {
			s := fresh()
			_, _ = s.Remove(n), s.Remove(p)
			return s.Remove(o)
		},
		"Finished": Finished,
	}, map[string]string{
		"Snapshot.Allocatable": noSlot,
		"Snapshot.Requested":   noSlot,
		"Snapshot.NonZero":     noSlot,
		"Snapshot.Node":        noSlot,
		"Snapshot.Pods":        noSlot,
		"Snapshot.PortPods":    noSlot,
		"Snapshot.PodSet":      noID,
		"Snapshot.TermSet":     noID,
	})
}
