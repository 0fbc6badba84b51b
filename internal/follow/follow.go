// Package follow has what all work has in common that outlasts the question for which it was done: how far it has followed the cluster.
//
//	reached := x.cursor.Read(log, func(e *cluster.Event) { ... }) // before what is kept is used
//	if !reached { ... }                                             // make everything again
//
// Kept work follows when somebody needs it, not when something changes. An event of pods on a slot concerns that slot alone. An event without
// a slot says in its Node whom it concerns (internal/view). docs/engine.md has the places that keep work. The engine of a plan reads the
// events of many followers at once, and so has a cursor of its own.
package follow

import "github.com/podberth/podberth/cluster"

// Log is a cluster that says what changed since a version; see cluster.Snapshot.
type Log interface {
	Version() uint64
	Since(version uint64, yield func([]cluster.Event)) bool
}

// Cursor is the version of a cluster that something kept has followed. The zero value is the start.
type Cursor struct{ Version uint64 }

// At returns the cursor of something that is made now.
func At(log Log) Cursor { return Cursor{log.Version()} }

// Read gives the events since the last call to see, in order, and moves the cursor to the present. It reports false when the log does not reach
// back that far: then events are missing. It costs O(events).
func (c *Cursor) Read(log Log, see func(e *cluster.Event)) bool {
	from := c.Version
	if c.Version = log.Version(); c.Version == from {
		return true
	}
	return log.Since(from, func(events []cluster.Event) {
		for k := range events {
			see(&events[k])
		}
	})
}
