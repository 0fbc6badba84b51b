package queue

import (
	"slices"
	"time"
)

// group has the queued pods of one signature when Options.ShareFailures is set. Fresh pods are active and were never tried.
// Waiting pods wait after a failure that the group shares.
type group struct {
	fresh   []*Entry
	waiting []*Entry
}

// list returns the list that the entry belongs to, nil for none.
func (g *group) list(e *Entry) *[]*Entry {
	switch {
	case e.place == Active && e.Attempts == 0:
		return &g.fresh
	case e.place == Unschedulable && len(e.Rejecters) > 0 && len(e.PendingPlugins) == 0:
		return &g.waiting
	}
	return nil
}

func (q *Queue) joinGroup(e *Entry) {
	if q.groups == nil || e.PodKey == "" {
		return
	}
	g := q.groups[e.PodKey]
	if g == nil {
		g = &group{}
	}
	if l := g.list(e); l != nil {
		q.groups[e.PodKey] = g
		e.group = g
		e.member = len(*l)
		*l = append(*l, e)
	}
}

func (q *Queue) leaveGroup(e *Entry) {
	g := e.group
	if g == nil {
		return
	}
	l := g.list(e)
	last := len(*l) - 1
	(*l)[e.member] = (*l)[last]
	(*l)[e.member].member = e.member
	(*l)[last] = nil
	*l = (*l)[:last]
	e.group = nil
	if len(g.fresh)+len(g.waiting) == 0 {
		delete(q.groups, e.PodKey)
	}
}

// sharesWith returns a waiting pod whose failure a new entry would only repeat, nil for none. A pod with a nomination shares no
// failure, because its preemption has made room on a node.
func (q *Queue) sharesWith(e *Entry) *Entry {
	g := q.groups[e.PodKey] // "" has no group
	if g == nil {
		return nil
	}
	for _, leader := range g.waiting {
		if leader.profile == e.profile && q.nom.Node(leader.Pod) == "" {
			return leader
		}
	}
	return nil
}

// shareFailure makes those equal pods wait that were active before the failed attempt began and were never tried. A pod that
// became active later did so by an event that the attempt may not have seen.
func (q *Queue) shareFailure(e *Entry, popped uint64, now time.Time) {
	if len(e.PendingPlugins) > 0 || q.nom.Node(e.Pod) != "" {
		return
	}
	g := q.groups[e.PodKey]
	if g == nil {
		return
	}
	fresh := slices.Clone(g.fresh)
	slices.SortFunc(fresh, func(a, b *Entry) int { return int(int64(a.seq) - int64(b.seq)) })
	for _, f := range fresh {
		if f.entered <= popped && f.profile == e.profile && q.nom.Node(f.Pod) == "" {
			q.take(f)
			f.Rejecters = e.Rejecters
			q.put(f, Unschedulable, cause{reason: sharedFailure}, now)
		}
	}
}
