package main

import (
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
)

// podAndEvent is a pod to decide and what happens before.
type podAndEvent struct {
	pod   *v1.Pod
	event event
}

func (w *world) at(i int) podAndEvent {
	x := podAndEvent{pod: w.pod(i)}
	if w.before != nil {
		x.event = w.before(i)
	}
	return x
}

// first makes the first n pods and events. Both sides get them before the time begins, and the collector runs between: making a pod takes
// up to ten times the memory of deciding about it, and collecting it is not the scheduler's work.
func (w *world) first(n int) []podAndEvent {
	list := make([]podAndEvent, n)
	for i := range list {
		list[i] = w.at(i)
	}
	return list
}

func (b *berth) happen(e event) error {
	if e.remove != nil {
		if err := b.snapshot.Remove(e.remove); err != nil {
			return err
		}
	}
	if e.node != nil {
		return b.snapshot.Set(e.node)
	}
	return nil
}

// compare decides the pods again with podberth, following kube-scheduler's choices, and reports whether all agree.
func compare(w world, answers []answer) (bool, error) {
	b, err := newBerth(w)
	if err != nil {
		return false, err
	}
	agree := true
	for i, a := range answers {
		x := w.at(i)
		if err := b.happen(x.event); err != nil {
			return false, err
		}
		d, text := b.decide(x.pod)
		same, err := b.agrees(x.pod, d, text, a.node, a.message)
		if err != nil {
			return false, err
		}
		if !same {
			agree = false
			fmt.Fprintf(os.Stderr, "pod %d: kube-scheduler says %q %s, podberth %q %s\n", i, a.node, a.message, d.Node, text)
		}
		if a.node != "" {
			if err := b.assume(x.pod, a.node); err != nil {
				return false, err
			}
		}
	}
	return agree, nil
}
