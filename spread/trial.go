package spread

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/resources"
)

// Trial gives the answers of a [HardState] as if some pods were added or removed: victims of preemption and nominated pods.
// It changes its counts exactly as v1.37.2's AddPod and RemovePod do (rule S5.3). These differ from a fresh count in two
// cases:
//
//  1. a pod that is being deleted was not counted, but is subtracted when it is removed, so that a count can become -1 and
//     the other domains fail;
//  2. the empty selector, which counted no pod, matches here.
//
// [HardState] has neither exception. A node without all keys, or that a constraint's policies exclude, is left alone as
// in the count. After changes in several domains v1.37.2 may use too large a minimum; a Trial always has the true one.
//
// A Trial does not change its HardState and does not follow it: call NewTrial again when the state has moved. A Trial is
// not safe for concurrent use. Several trials of one state are safe side by side.
type Trial interface {
	// Check returns the verdict on slot i, as HardState.Check does, with the changes of the trial.
	Check(i int) resources.Verdict
	// Add counts the pod on slot i, and Remove subtracts it.
	Add(pod *v1.Pod, i int)
	Remove(pod *v1.Pod, i int)
	// Reset undoes every change.
	Reset()
}

type trial struct {
	state *hardState
	cols  []hardColumn // copies of the trial; counts are shared with the state until copied is set
	own   []bool
	log   []trialMove
}

type trialMove struct{ k, d, n int32 }

func (s *hardState) NewTrial() Trial {
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
