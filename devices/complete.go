package devices

import (
	"encoding/binary"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Complete answers whether the node can serve the claims at all. It returns v1.37's allocation where v1.37 finds one. Else it
// searches again without v1.37's quirks ([Options.Corrected]): results with ok are then an allocation that keeps all rules of
// the API, and ok false without an error proves that there is none.
//
// Of devices that are alike the second search tries one, so it also ends where v1.37's search would run into its time-out.
// The errors are those of Allocate; [ErrSteps] says that the proof needs more than [Options.Steps] devices.
func (s *Search) Complete(node *v1.Node) (results []resourcev1.AllocationResult, ok bool, err error) {
	if results, ok, _ = s.Allocate(node); ok {
		return results, true, nil
	}
	if s.corrected == nil {
		options := s.options.Corrected()
		a := NewAllocator(s.ledger, s.allocator.classes, s.allocator.compiler, options)
		claims := make([]*resourcev1.ResourceClaim, len(s.claims))
		for k := range s.claims {
			claims[k] = s.claims[k].object
		}
		s.corrected = a.Compile(claims...)
		s.corrected.tried = map[int32]int32{}
		s.corrected.shape = a.newShape(s.corrected)
	}
	clear(s.corrected.tried)
	clear(s.corrected.left)
	return s.corrected.Allocate(node)
}

// alike returns a number above 0 that is equal for devices of one pool which the search can exchange, and 0 for a device that
// it cannot exchange for another.
func (s *Search) alike(x candidate) int32 {
	tried := s.tried
	if tried == nil && s.outlook != nil && s.outlook.exact {
		tried = s.outlook.classes
	}
	if tried == nil || x.device.slice.each {
		return 0
	}
	for k := range s.choices {
		if s.choices[k].device == x.device {
			return 0
		}
	}
	return s.classIn(tried, x)
}

// classIn returns the class of a device, and keeps it in known: a number above 0, or 0 for a device that is in no class.
func (s *Search) classIn(known map[int32]int32, x candidate) int32 {
	class, ok := known[x.device.index]
	if ok || x.device.slice.each {
		return class
	}
	b := binary.AppendUvarint(nil, uint64(x.pool.group.at))
	if b, ok = s.signContent(b, x.device); ok {
		class = s.allocator.number(b)
	}
	known[x.device.index] = class
	return class
}
