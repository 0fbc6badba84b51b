package reuse

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement/internal/hooks"
)

// forget drops everything except the memory of which pods were seen.
func (e *Engine) forget() {
	e.layouts, e.rows, e.statics, e.classes = map[string]*layout{}, map[string]*rows{}, map[string]*statics{}, map[string]*classes{}
	e.changes, e.columns = nil, e.log.Schema().Len()
	e.present = cursor{version: e.log.Version(), orders: e.present.orders}
	e.nodes = e.nodes[:0]
	for i := range e.log.Len() {
		e.nodes = append(e.nodes, e.log.Node(i))
	}
	// domains that keep their numbers when nodes come and leave, or the log has an event without a node
	_, e.survives = e.log.(interface {
		Domains(key string) (ids []int32, domains, have int)
	})
	if slices.ContainsFunc(e.plugins, func(x hooks.Plugin) bool { return x.Keep == hooks.KeepByNode && len(x.Reads) > 0 }) {
		e.survives = false
	}
	e.forgetStates()
}

// forgetStates drops the kinds with their states, which count pods of all nodes. Layouts go whose states follow other objects.
func (e *Engine) forgetStates() {
	e.stateChanges++
	e.forgotAt = e.stateChanges
	clear(e.failures)
	e.dropKinds(func(s *podKind) bool {
		s.release()
		return true
	})
	maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return l.shifts })
	e.reads = map[string]struct{}{}
	before := e.counting
	e.counting = make([]hooks.Counting, len(e.plugins))
	for k := range e.plugins {
		for _, read := range e.plugins[k].Reads {
			e.reads[read] = struct{}{}
		}
		if e.plugins[k].Keep == hooks.KeepByAllPods {
			e.counting[k] = before[k]
			if _, lasts := before[k].(interface{ Lasts() }); !lasts { // a Counting that lasts checks what it remembers by id
				e.counting[k] = e.plugins[k].Open()
			}
		}
	}
}

// drop forgets what depends on the states of one plugin.
func (e *Engine) drop(plugin int) {
	e.dropKinds(func(s *podKind) bool { return s.stateOf(plugin) != nil })
	maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return slices.Contains(l.plugins, plugin) })
}

// dropKinds drops the kinds that are outdated.
func (e *Engine) dropKinds(outdated func(s *podKind) bool) {
	maps.DeleteFunc(e.kinds, func(_ string, m member) bool { return outdated(m.podKind) })
	maps.DeleteFunc(e.sharedKinds, func(_ string, s *podKind) bool { return outdated(s) })
}

// dropStorage drops what depends on storage objects, and the kinds that could not be made.
func (e *Engine) dropStorage() {
	e.dropKinds(func(s *podKind) bool { return s.static == nil || s.static.storage })
	maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return l.storage })
	maps.DeleteFunc(e.statics, func(_ string, t *statics) bool { return t.storage })
}

// readsStorage reports whether a plugin reads storage objects for the pod.
func (e *Engine) readsStorage(pod *v1.Pod) bool {
	return slices.ContainsFunc(e.plugins, func(x hooks.Plugin) bool { return x.Storage != nil && x.Storage(pod) })
}
