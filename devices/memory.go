package devices

import (
	"encoding/binary"
	"slices"

	"github.com/podberth/podberth/internal/key"
)

// maxFailed bounds the states that a search remembers.
const maxFailed = 1 << 14

// enter begins a request. With an exact outlook the search remembers which states led to no allocation.
func (s *Search) enter(at position, x *ask) outcome {
	o := s.outlook
	if o == nil || !o.exact || len(s.choices) == 0 {
		return s.alternatives(at, x)
	}
	state := s.stateAt(at)
	if o.failed[state] {
		return failed
	}
	out := s.alternatives(at, x)
	if out == failed && len(o.failed) < maxFailed {
		o.failed[state] = true
	}
	return out
}

// stateAt returns all on which the rest of the search depends at the beginning of a request: how many devices of each class are used
// and for what, and what the constraints of the claim ask of further devices. Which of the devices of a class are used makes no
// difference.
func (s *Search) stateAt(at position) string {
	var used []uint64
	for k := range s.choices {
		if c := &s.choices[k]; !c.shared {
			used = append(used, s.useOf(key.Flag(binary.AppendUvarint([]byte{0}, uint64(c.claim)), c.request.admin), c.candidate))
		} else if !slices.ContainsFunc(s.choices[:k], func(b choice) bool { return b.device == c.device }) {
			used = append(used, s.useOf(s.shares(c.device), c.candidate))
		}
	}
	slices.Sort(used)
	b := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(at.claim)), uint64(at.ask))
	for _, x := range used {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	for k := range s.constraints[at.claim] {
		b = s.constraints[at.claim][k].appendState(b)
	}
	return string(b)
}

// shares returns the requests that share a device.
func (s *Search) shares(d *device) []byte {
	var ids []int
	for k := range s.choices {
		if c := &s.choices[k]; c.device == d {
			ids = append(ids, c.request.id)
		}
	}
	slices.Sort(ids)
	b := []byte{1}
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return b
}

// useOf numbers the use of a device together with the class of the device, or with the device when it is in no class.
func (s *Search) useOf(use []byte, x candidate) uint64 {
	n, ok := s.outlook.uses[string(use)]
	if !ok {
		n = uint64(len(s.outlook.uses))
		s.outlook.uses[string(use)] = n
	}
	place := uint64(s.classIn(s.outlook.classes, x))
	if place == 0 {
		place = 1<<31 | uint64(x.device.index)
	}
	return n<<32 | place
}

// appendState appends what a constraint asks of further devices of later requests.
func (c *constraint) appendState(b []byte) []byte {
	if !c.distinct {
		if c.count == 0 {
			return append(b, 0)
		}
		return appendAttribute(append(b, 1), *c.value)
	}
	var values []string
	for _, a := range c.last {
		values = append(values, string(appendAttribute(nil, *a)))
	}
	for _, a := range c.all {
		values = append(values, string(appendAttribute(nil, *a)))
	}
	slices.Sort(values)
	return key.Texts(b, values)
}
