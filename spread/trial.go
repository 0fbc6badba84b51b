package spread

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/resources"
)

type trial struct {
	state *hardState
	cols  []hardColumn // copies of the trial; counts are shared with the state until copied is set
	own   []bool
	log   []trialMove
}

type trialMove struct{ k, d, n int32 }

func (s *hardState) NewTrial() affinity.Trial {
	return &trial{state: s, cols: append([]hardColumn(nil), s.cols...), own: make([]bool, len(s.cols))}
}

func (t *trial) Check(i int) resources.Verdict {
	s := *t.state
	s.cols = t.cols
	return s.Check(i)
}

func (t *trial) Add(pod *v1.Pod, i int) { t.move(pod, i, 1) }

func (t *trial) Remove(pod *v1.Pod, i int) { t.move(pod, i, -1) }

func (t *trial) move(pod *v1.Pod, i int, n int32) { t.apply(t.effect(pod), i, n) }

// OfLabels is that of [engine.Moving].
func (t *trial) OfLabels(pod *v1.Pod) engine.Move {
	e := t.effect(pod)
	if e == 0 {
		return nil
	}
	return func(i int, n int32) { t.apply(e, i, n) }
}

// effect returns what Add and Remove count for a pod. Unlike that of Hard it depends only on namespace and labels.
func (t *trial) effect(pod *v1.Pod) effect {
	ss := &t.state.hard.selectors
	if len(t.cols) == 0 || pod.Namespace != ss.namespace {
		return 0
	}
	return effect(ss.matches(pod.Labels))
}

func (t *trial) apply(mask effect, i int, n int32) {
	if mask == 0 {
		return
	}
	for k := range t.cols {
		col := &t.cols[k]
		if mask>>col.selector&1 == 0 || uint(i) >= uint(len(col.into)) || col.into[i] < 0 {
			continue
		}
		if !t.own[k] {
			*col, t.own[k] = col.clone(), true
		}
		d := col.into[i]
		col.add(d, n)
		t.log = append(t.log, trialMove{int32(k), d, n})
	}
}

func (t *trial) Reset() {
	for j := len(t.log) - 1; j >= 0; j-- {
		m := t.log[j]
		t.cols[m.k].add(m.d, -m.n)
	}
	t.log = t.log[:0]
}
