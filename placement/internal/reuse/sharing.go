package reuse

import (
	"slices"

	"github.com/podberth/podberth/placement/internal/hooks"
)

// member is a kind with heaps, and the key of pods that come again and again.
type member struct {
	*podKind
	key string
}

// sharing says which pods share a kind with heaps: those with equal requests, equal statics, and states with equal keys. A new pod whose keys are equal
// joins. It holds for the running pods of that time: a term of a later one may match some of the pods and not the others, which then part.
type sharing struct {
	sharedKey string   // by which pods find the kind
	sharers   []sharer // beside the pod that the kind was made for
	parted    bool     // the pod that is asked about has left
}

// sharer is a pod that shares a kind.
type sharer struct {
	key     string
	counted []counted // without states
}

// join adds a pod whose keys are equal now. Terms without pods are not in the keys: they count as new when they get pods again.
func (s *podKind) join(key string, c []counted) {
	if key == s.madeFor {
		return
	}
	s.sharers = append(s.sharers, sharer{key, c})
	for id := range s.effects.terms {
		if _, nodes, _ := s.engine.log.TermSet(int32(id)); len(nodes) == 0 {
			s.effects.terms[id] = 0
		}
	}
}

// learnTerms learns what the term sets that have pods do to the states, when the keys have just been made. Any other is new.
func (s *podKind) learnTerms() {
	if !s.heaps || !s.usable {
		return
	}
	x := &s.effects
	sets := s.engine.log.TermSets()
	x.terms = slices.Grow(x.terms, sets)
	for id := range int32(sets) {
		x.terms = append(x.terms, 0)
		switch _, nodes, _ := s.engine.log.TermSet(id); {
		case len(nodes) == 0:
		case slices.ContainsFunc(s.counted, func(c counted) bool { return c.compiled.Matched(id) }):
			x.learn(s, &x.terms, id)
		default:
			x.terms[id] = -1
		}
	}
}

// part takes leave of the pods to which a new term set does something, all of them if it does something to the pod that the kind was made for. They find
// a kind again when they come.
func (s *podKind) part(id int32, all bool) {
	e := s.engine
	if all {
		s.hide()
		s.parted = s.parted || s.podKey != s.madeFor
	}
	s.sharers = slices.DeleteFunc(s.sharers, func(x sharer) bool {
		leaves := all || slices.ContainsFunc(x.counted, func(c counted) bool {
			m, ok := c.compiled.(hooks.Meeting)
			return ok && m.Meets(id)
		})
		if leaves {
			delete(e.kinds, x.key)
			s.parted = s.parted || x.key == s.podKey
		}
		return leaves
	})
}

// hide lets no other pod find the kind.
func (s *podKind) hide() {
	if e := s.engine; e.sharedKinds[s.sharedKey] == s {
		delete(e.sharedKinds, s.sharedKey)
	}
}

// leaveOthers makes the kind that of the pod that is asked about alone.
func (s *podKind) leaveOthers() {
	s.hide()
	for _, x := range append(s.sharers, sharer{key: s.madeFor}) {
		if x.key != s.podKey {
			delete(s.engine.kinds, x.key)
		}
	}
	s.madeFor, s.sharing = s.podKey, sharing{}
}
