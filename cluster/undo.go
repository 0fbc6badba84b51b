package cluster

import v1 "k8s.io/api/core/v1"

// Mark is a point to which Rollback returns. It belongs to the snapshot that returned it, not to forks. The zero value is no
// mark: Rollback and Commit return false.
type Mark struct {
	depth  int
	serial uint64
}

// open is a mark that has not ended.
type open struct {
	serial uint64
	at     int // length of the undo log when it was taken
}

type undoKind uint8

const (
	undoInsert undoKind = iota
	undoTake
	undoReplace
	undoOccupy
	undoChange
	undoVacate
	undoFunc
)

// undo is one step that Rollback undoes.
type undo struct {
	kind     undoKind
	slot, at int
	pod      *v1.Pod
	info     *info
	node     *v1.Node
	tree     *zoneTree
	order    []int32
	call     func()
}

// Mark begins to record changes, so that Rollback can undo them. Marks nest: Rollback and Commit of a mark also end the marks
// taken after it. While a mark is open, the undo log grows with every change. O(1).
func (s *Snapshot) Mark() Mark {
	s.serial++
	s.open = append(s.open, open{s.serial, len(s.undo)})
	s.recording = true
	return Mark{len(s.open) - 1, s.serial}
}

// Rollback undoes every change since the mark and ends the mark. Nodes, pods, rows, objects and their orders are then what they
// were at the mark. Three things differ:
//
//   - Slots that came since the mark remain, as free slots.
//   - Ids that were given out since the mark stay registered.
//   - The version is larger: Rollback logs further events.
//
// Rollback returns false, and does nothing, when the mark has ended already. O(changes).
func (s *Snapshot) Rollback(m Mark) bool {
	if !s.isOpen(m) {
		return false
	}
	at := s.open[m.depth].at
	s.open = s.open[:m.depth]
	s.recording = false // do not record the steps back
	for len(s.undo) > at {
		n := len(s.undo) - 1
		u := s.undo[n]
		s.undo[n] = undo{}
		s.undo = s.undo[:n]
		s.back(u)
	}
	s.recording = len(s.open) > 0
	return true
}

// Commit ends the mark and keeps the changes. Marks taken before it can still undo them. Commit returns false, and does
// nothing, when the mark has ended already.
func (s *Snapshot) Commit(m Mark) bool {
	if !s.isOpen(m) {
		return false
	}
	s.open = s.open[:m.depth]
	if len(s.open) == 0 {
		clear(s.undo)
		s.undo, s.recording = s.undo[:0], false
	}
	return true
}

// Try calls fn and keeps the changes that it makes when it returns true and no error. Otherwise, also when fn panics, it undoes them, as
// Rollback does. Calls nest. The error is that of fn. fn must not end marks that were taken before it.
func (s *Snapshot) Try(fn func() (keep bool, err error)) error {
	m := s.Mark()
	defer s.Rollback(m) // nothing after Commit
	keep, err := fn()
	if keep && err == nil {
		s.Commit(m)
	}
	return err
}

func (s *Snapshot) isOpen(m Mark) bool {
	return m.depth < len(s.open) && s.open[m.depth].serial == m.serial
}

func (s *Snapshot) record(u undo) {
	if s.recording {
		s.undo = append(s.undo, u)
	}
}

func (s *Snapshot) back(u undo) {
	switch u.kind {
	case undoInsert:
		s.take(u.slot, u.at)
	case undoTake:
		s.insert(u.pod, hashOf(u.pod), u.info, u.slot, u.at)
	case undoReplace:
		s.replace(u.pod, u.info, u.slot, u.at)
	case undoOccupy:
		s.vacate(u.slot)
		s.restoreTree(u.tree, u.order)
	case undoVacate:
		s.occupy(u.slot, u.node)
		s.restoreTree(u.tree, u.order)
	case undoChange:
		s.change(u.slot, u.node)
		s.restoreTree(u.tree, u.order)
	case undoFunc:
		u.call()
	}
}
