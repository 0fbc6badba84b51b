package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/resources"
)

// Trial gives the answers of a [State], or of a HardState of package spread, as if some running pods were added or removed, for
// preemption and nominated pods. A Trial changes its counts as AddPod and RemovePod of v1.37.2 do: the comment of the state's NewTrial
// has the rules.
//
// A Trial keeps only the changes. The state must not change before the next Reset. A Trial is not safe for concurrent use,
// but several goroutines may have a Trial of the same state each.
type Trial interface {
	// Check returns the verdict on slot i with the changes, by the rule of the state's Check. No allocation.
	Check(i int) resources.Verdict
	// Add assumes that the pod also runs on slot i. The pod must not be nil.
	Add(pod *v1.Pod, i int)
	// Remove assumes that the pod does not run on slot i. The pod must not be nil.
	Remove(pod *v1.Pod, i int)
	// Reset undoes every change and reads the state again.
	Reset()
}

type trial struct {
	state   *state
	skips   bool
	extra   []column // columns of keys that the state does not have
	changes map[uint64]delta
	scratch effect
	cells   int // change in the number of affinity counts that are not 0
}

// delta is the change of the counts of one domain.
type delta struct{ affinity, anti, existing int32 }

func (s *state) NewTrial() Trial {
	t := &trial{state: s, changes: map[uint64]delta{}}
	t.Reset()
	return t
}

func (t *trial) Reset() {
	clear(t.changes)
	t.extra = t.extra[:0]
	t.cells = 0
	t.skips = t.state.Skip()
}

func (t *trial) Check(i int) resources.Verdict {
	s := t.state
	if len(t.changes) == 0 {
		return s.Check(i)
	}
	unmet := false
	for _, k := range s.affinityCols {
		col := &s.columns[k]
		d := col.domain(i)
		if d < 0 {
			return podAffinityUnmet
		}
		if countIn(col.affinity, d)+t.changes[placeKey(k, d)].affinity <= 0 {
			unmet = true
		}
	}
	if unmet && !(s.self && s.affinityCells+t.cells == 0) {
		return podAffinityUnmet
	}
	for _, k := range s.antiCols {
		col := &s.columns[k]
		if d := col.domain(i); d >= 0 && countIn(col.anti, d)+t.changes[placeKey(k, d)].anti > 0 {
			return podAntiAffinity
		}
	}
	for k := range len(s.columns) + len(t.extra) {
		col := t.at(k)
		if d := col.domain(i); d >= 0 && countIn(col.existing, d)+t.changes[placeKey(k, d)].existing > 0 {
			return existingAntiAffinity
		}
	}
	if s.cluster.Node(i) == nil {
		return podAffinityUnmet
	}
	return 0
}

func (t *trial) Add(pod *v1.Pod, i int) {
	if !t.skips {
		t.state.effect(&t.scratch, pod)
		t.apply(t.scratch, i, 1)
	}
}

func (t *trial) Remove(pod *v1.Pod, i int) {
	if !t.skips {
		t.state.effect(&t.scratch, pod)
		t.apply(t.scratch, i, -1)
	}
}

// by returns how an effect moves the counts; nil for an empty effect.
func (t *trial) by(e effect) engine.Move {
	if len(e) == 0 {
		return nil
	}
	return func(i int, n int32) { t.apply(e, i, n) }
}

// OfLabels is that of [engine.Moving].
func (t *trial) OfLabels(pod *v1.Pod) engine.Move {
	var e effect
	t.state.labelEffect(&e, pod)
	return t.by(e)
}

// OfTerms is that of [engine.MovingTerms].
func (t *trial) OfTerms(m *engine.Memo, id int32, pod *v1.Pod) engine.Move {
	var e effect
	t.state.termEffect(&e, memoOf(m).terms(id, pod))
	return t.by(e)
}

func (t *trial) apply(e effect, i int, n int32) {
	if t.skips {
		return
	}
	for k := range e {
		c := &e[k]
		if c.affinity == 0 && c.anti == 0 && c.existing == 0 {
			continue
		}
		index, col := t.column(c.key)
		d := col.domain(i)
		if d < 0 {
			continue
		}
		before := t.changes[placeKey(index, d)]
		after := before
		after.affinity += c.affinity * n
		after.anti += c.anti * n
		after.existing += c.existing * n
		t.changes[placeKey(index, d)] = after
		base := countIn(col.affinity, d)
		t.cells += notZero(base+after.affinity) - notZero(base+before.affinity)
	}
}

// column returns the column of a key and its number.
func (t *trial) column(key string) (int, *column) {
	n := len(t.state.columns) + len(t.extra)
	for k := range n {
		if col := t.at(k); col.key == key {
			return k, col
		}
	}
	t.extra = append(t.extra, newColumn(t.state.cluster, key))
	return n, t.at(n)
}

// at returns a column by its number. The state's columns come first, then those of the trial.
func (t *trial) at(k int) *column {
	if n := len(t.state.columns); k >= n {
		return &t.extra[k-n]
	}
	return &t.state.columns[k]
}

func placeKey(column int, domain int32) uint64 { return uint64(column)<<32 | uint64(uint32(domain)) }

func notZero(n int32) int {
	if n == 0 {
		return 0
	}
	return 1
}
