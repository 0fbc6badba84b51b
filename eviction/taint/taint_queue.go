package taint

import (
	"slices"
	"time"
)

// taintQueue holds the names of a zone's nodes that wait for their NoExecute taint (rule XZ5.3). Names are unique, and
// ordered by the time from which they are due, then by insertion. A handled name stays known, and Add refuses it until
// Remove: so a node is tainted once while it is not ready. The zero value is empty.
type taintQueue struct {
	waiting []waiting
	known   map[string]bool
	next    int
}

type waiting struct {
	name  string
	due   time.Time
	order int
}

// Add puts a name into the queue, due at now. It returns false and does nothing when the name is known.
func (q *taintQueue) Add(name string, now time.Time) bool {
	if q.known[name] {
		return false
	}
	if q.known == nil {
		q.known = map[string]bool{}
	}
	q.known[name] = true
	q.insert(waiting{name, now, q.next})
	q.next++
	return true
}

func (q *taintQueue) insert(w waiting) {
	i, _ := slices.BinarySearchFunc(q.waiting, w, func(a, b waiting) int {
		if c := a.due.Compare(b.due); c != 0 {
			return c
		}
		return a.order - b.order
	})
	q.waiting = slices.Insert(q.waiting, i, w)
}

// Remove removes a name, waiting or handled, and reports whether the name was known.
func (q *taintQueue) Remove(name string) bool {
	if !q.known[name] {
		return false
	}
	delete(q.known, name)
	q.waiting = slices.DeleteFunc(q.waiting, func(w waiting) bool { return w.name == name })
	return true
}

// Len returns the number of names that wait.
func (q *taintQueue) Len() int { return len(q.waiting) }

// Names returns the waiting names, in order.
func (q *taintQueue) Names() []string {
	names := make([]string, len(q.waiting))
	for i, w := range q.waiting {
		names[i] = w.name
	}
	return names
}

// Serve handles waiting names while the limiter accepts. It takes a token before it looks at the first name; the token is
// lost when that name is not due.
func (q *taintQueue) Serve(l *tokenBucket, now time.Time, handle func(name string)) {
	for len(q.waiting) > 0 && l.Accept(now) {
		head := q.waiting[0]
		if head.due.After(now) {
			return
		}
		q.waiting = q.waiting[1:]
		handle(head.name)
	}
}
