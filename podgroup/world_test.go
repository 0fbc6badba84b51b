package podgroup

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is the simplest set of groups.
type world struct {
	groups     []*Group
	composites []*Composite
}

func (w *world) Group(namespace, name string) *Group {
	for _, g := range w.groups {
		if g.Name == name && g.Namespace == namespace {
			return g
		}
	}
	return nil
}

func (w *world) Composite(namespace, name string) *Composite {
	for _, c := range w.composites {
		if c.Name == name && c.Namespace == namespace {
			return c
		}
	}
	return nil
}

func (w *world) Groups(namespace string) iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		for _, g := range w.groups {
			if g.Namespace == namespace && !yield(g) {
				return
			}
		}
	}
}

func (w *world) Composites(namespace string) iter.Seq[*Composite] {
	return func(yield func(*Composite) bool) {
		for _, c := range w.composites {
			if c.Namespace == namespace && !yield(c) {
				return
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// group adds a group; minimum 0 is the basic policy. Each group is a minute younger than the one before.
func (w *world) group(name, parent string, minimum int32) *Group {
	g := &Group{ObjectMeta: w.meta(name), Spec: spec(parent, minimum)}
	w.groups = append(w.groups, g)
	return g
}

func (w *world) composite(name, parent string, minimum int32) *Composite {
	c := &Composite{ObjectMeta: w.meta(name), Spec: spec(parent, minimum)}
	w.composites = append(w.composites, c)
	return c
}

func (w *world) meta(name string) metav1.ObjectMeta {
	at := noon.Add(time.Duration(len(w.groups)+len(w.composites)) * time.Minute)
	return metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(at)}
}

func spec(parent string, minimum int32) Spec {
	s := Spec{Parent: parent}
	if minimum != 0 {
		s.Minimum = &minimum
	}
	return s
}

func member(name, group string) *v1.Pod {
	p := testkit.Pod(name).Obj()
	p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	return p
}

// nodes is a cluster by slot.
type nodes []*v1.Node

func (n nodes) Node(i int) *v1.Node { return n[i] }

func (n nodes) all() (slots []int) {
	for i := range n {
		slots = append(slots, i)
	}
	return slots
}

type placed struct {
	pod  *v1.Pod
	slot int
}

func on(list ...placed) iter.Seq2[*v1.Pod, int] {
	return func(yield func(*v1.Pod, int) bool) {
		for _, p := range list {
			if !yield(p.pod, p.slot) {
				return
			}
		}
	}
}
