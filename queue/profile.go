package queue

import (
	"slices"
)

// profile is a compiled Profile. known is false for the profile of a schedulerName that nobody configured.
type profile struct {
	name    string
	known   bool
	gates   []Gate
	plugins map[string]*plugin
	listed  []*plugin // those that registered something, in order of registration
}

// plugin is one plugin of one profile with the pods that wait for it. An event visits the pods of the plugins that
// registered it and no others.
type plugin struct {
	name     string
	rows     []Registration
	rejected waiting // unschedulable, ungated pods that it rejected
	gated    waiting // pods that it gates
	count    int     // queued pods that record it (scheduler_unschedulable_pods)
}

// wait ties an entry to one of its rejecters.
type wait struct {
	plugin  *plugin
	pending bool
	at      int // in plugin.rejected or plugin.gated, -1 when in neither
}

// waiting is a set of entries: slot i holds the entry and which of its waits the slot belongs to.
type waiting struct {
	slots []slot
}

type slot struct {
	entry *Entry
	wait  int
}

func (w *waiting) add(e *Entry, i int) {
	e.waits[i].at = len(w.slots)
	w.slots = append(w.slots, slot{e, i})
}

func (w *waiting) remove(at int) {
	last := len(w.slots) - 1
	moved := w.slots[last]
	w.slots[at] = moved
	moved.entry.waits[moved.wait].at = at
	w.slots[last] = slot{}
	w.slots = w.slots[:last]
}

func newProfile(name string, p Profile, o *Options) *profile {
	c := &profile{name: name, known: true, gates: p.Gates, plugins: map[string]*plugin{}}
	for _, r := range p.Events {
		pl := c.plugin(r.Plugin)
		if len(pl.rows) == 0 {
			c.listed = append(c.listed, pl)
		}
		if o.Legacy.CycleCounter {
			r.Hint = nil
		}
		pl.rows = append(pl.rows, r)
	}
	if o.addsTaintRows() {
		for _, pl := range c.listed {
			pl.addTaintRow()
		}
	}
	return c
}

// addTaintRow registers (Node, UpdateNodeTaint) for a plugin that hears of new nodes but not of taints.
func (p *plugin) addTaintRow() {
	var actions Action
	for _, r := range p.rows {
		if r.Event.Resource == nodeKind {
			actions |= r.Event.Action
		}
	}
	if actions&Add != 0 && actions&UpdateNodeTaint == 0 {
		p.rows = append(p.rows, Registration{Plugin: p.name, Event: Event{Resource: "Node", Action: UpdateNodeTaint}})
	}
}

// plugin returns the plugin with that name; a new plugin has no registrations.
func (p *profile) plugin(name string) *plugin {
	pl := p.plugins[name]
	if pl == nil {
		pl = &plugin{name: name}
		p.plugins[name] = pl
	}
	return pl
}

func (q *Queue) matches(r *Registration, arriving Event) bool {
	if q.o.Legacy.CycleCounter {
		return r.Event.sharesBit(arriving)
	}
	return r.Event.matches(arriving)
}

// hears reports whether the plugin registered an event that covers the arriving one.
func (q *Queue) hears(p *plugin, arriving Event) bool {
	for i := range p.rows {
		if q.matches(&p.rows[i], arriving) {
			return true
		}
	}
	return false
}

// gateHears reports whether a gate registered an event that covers the arriving one, in any profile: the events of gates
// are looked up by the name alone.
func (q *Queue) gateHears(gate string, arriving Event) bool {
	for _, p := range q.profiles {
		if pl := p.plugins[gate]; pl != nil && q.hears(pl, arriving) {
			return true
		}
	}
	return false
}

// interesting reports whether some profile registered the event. A wildcard event always is.
func (q *Queue) interesting(arriving Event) bool {
	if arriving.isWildcard() {
		return true
	}
	for _, p := range q.profiles {
		for _, pl := range p.listed {
			if q.hears(pl, arriving) {
				return true
			}
		}
	}
	return false
}

// profileOf returns the profile of a schedulerName. A name that is not configured gets an empty profile of its own.
func (q *Queue) profileOf(name string) *profile {
	if p, ok := q.byName[name]; ok {
		return p
	}
	p := &profile{name: name, plugins: map[string]*plugin{}}
	q.byName[name] = p
	return p
}

// resolve renews the entry's waits from its rejecters. The entry is not enlisted.
func (e *Entry) resolve() {
	e.waits = e.waits[:0]
	for _, name := range e.Rejecters {
		e.waits = append(e.waits, wait{plugin: e.profile.plugin(name), pending: slices.Contains(e.PendingPlugins, name), at: -1})
	}
}

// wakesAlways reports whether every interesting event concerns the entry, because no plugin has registered the events for it.
func (e *Entry) wakesAlways() bool { return !e.profile.known || len(e.waits) == 0 }

// enlist counts a queued entry under its rejecters and, where it waits for events, files it under them.
func (q *Queue) enlist(e *Entry) {
	e.resolve()
	for i := range e.waits {
		w := &e.waits[i]
		w.plugin.count++
		switch {
		case e.place == Gated && w.plugin.name == e.GatingPlugin:
			w.plugin.gated.add(e, i)
		case e.place == Unschedulable && e.profile.known:
			w.plugin.rejected.add(e, i)
		}
	}
	if e.place == Unschedulable && e.wakesAlways() {
		e.loose = len(q.loose)
		q.loose = append(q.loose, e)
	}
	q.joinGroup(e)
}

// delist undoes enlist. The entry must still have the place that it had then.
func (q *Queue) delist(e *Entry) {
	q.leaveGroup(e)
	if e.place == Unschedulable && e.wakesAlways() {
		last := len(q.loose) - 1
		q.loose[e.loose] = q.loose[last]
		q.loose[e.loose].loose = e.loose
		q.loose[last] = nil
		q.loose = q.loose[:last]
	}
	for i := range e.waits {
		w := &e.waits[i]
		w.plugin.count--
		if w.at < 0 {
			continue
		}
		if e.place == Gated {
			w.plugin.gated.remove(w.at)
		} else {
			w.plugin.rejected.remove(w.at)
		}
	}
}
