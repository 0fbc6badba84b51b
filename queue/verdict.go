package queue

import v1 "k8s.io/api/core/v1"

// verdict is what an event means for a pod that a scheduler rejected.
type verdict uint8

const (
	skip         verdict = iota // stays
	afterBackoff                // worth a retry after the backoff
	immediate                   // worth a retry now: a plugin that it was pending for says so
)

// judge returns the verdict of an event on an entry, the plugin that asked for the retry, and its hint's error:
//
//  1. no rejecters: a retry after backoff
//  2. a wildcard event: the same, unless the event is about another pod
//  3. an unknown profile: the same
//  4. otherwise each rejector's hint on each registered event that covers the arriving event: Queue from a pending plugin is
//     a retry now, Queue from another plugin is a retry after backoff, and without any Queue the pod stays.
func (q *Queue) judge(e *Entry, c *Change) (verdict, *plugin, error) {
	if e.Members != nil {
		return q.judgeMembers(e, c)
	}
	if len(e.waits) == 0 {
		return afterBackoff, nil, nil
	}
	if c.Event.isWildcard() {
		if c.New != nil {
			if pod, ok := c.New.(*v1.Pod); !ok || pod == nil || flightKey(pod) != flightKey(e.Pod) {
				return skip, nil, nil
			}
		}
		return afterBackoff, nil, nil
	}
	if !e.profile.known {
		return afterBackoff, nil, nil
	}
	var by *plugin
	var why error
	found := skip
	for i := range e.waits {
		w := &e.waits[i]
		if found != skip && !w.pending {
			continue
		}
		wants, err := q.wants(w.plugin, e.Pod, c)
		if !wants {
			continue
		}
		if w.pending {
			return immediate, w.plugin, err
		}
		found, by, why = afterBackoff, w.plugin, err
	}
	return found, by, why
}

// wants reports whether a plugin that rejected pod would try it again after the event.
func (q *Queue) wants(p *plugin, pod *v1.Pod, c *Change) (bool, error) {
	for i := range p.rows {
		r := &p.rows[i]
		if !q.matches(r, c.Event) {
			continue
		}
		if r.Hint == nil {
			return true, nil
		}
		if yes, err := r.Hint(pod, c.Old, c.New); yes || err != nil {
			return true, err
		}
	}
	return false, nil
}

// judgeFlight folds the verdicts of the events that arrived during an attempt.
func (q *Queue) judgeFlight(e *Entry, events []Change) (verdict, *plugin, error) {
	found, by, why := skip, (*plugin)(nil), error(nil)
	for i := range events {
		v, p, err := q.judge(e, &events[i])
		if v == skip || v == afterBackoff && found == afterBackoff {
			continue
		}
		found, by, why = v, p, err
		if v == immediate || len(e.PendingPlugins) == 0 {
			break
		}
	}
	return found, by, why
}
