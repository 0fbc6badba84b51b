package devices

import (
	"encoding/binary"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/internal/key"
)

// maxShapes bounds the shapes that an allocator keeps, and maxClasses the classes of each: what grows larger is dropped and
// made again.
const (
	maxShapes  = 128
	maxClasses = 1 << 16
)

// shape is what all searches for equal claims share. Nodes are of one class when they offer the same: pools in the same
// order and state, whose devices are alike in all that the claims read and in what allocations hold. The search gives the
// same answer for all nodes of a class, names of devices aside, and runs once for each class.
type shape struct {
	kept       map[string]*kept // by the containers of pods with extended resources
	programs   []*program       // selectors of the claims
	attributes []string         // of their constraints
	nodes      []nodeClass      // by view.number
	classes    map[string]int32
	answers    []answer // by class
	buffer     []byte
	stopped    bool // Options.Stop ended a search
}

// nodeClass is the class that a node had at a revision of its view.
type nodeClass struct {
	view     *view
	revision uint64
	class    int32
}

// answer is what a search found.
type answer struct {
	known bool
	ok    bool
	err   error // ErrInvalidPools, of a cut search, or nil; other errors name their node's devices and are not kept
	score int64
	once  bool // serves one question only
}

// ask searches on a node, or uses the answer for another node of its class. Only solve gives the choices.
func (s *Search) ask(v *view) answer {
	class := s.classOf(v)
	if class >= 0 && s.shape.answers[class].known {
		a := s.shape.answers[class]
		s.shape.answers[class].known = !a.once
		return a
	}
	a := answer{known: true}
	if a.ok, a.err = s.solve(v.node); a.ok {
		a.score = s.score()
		for k := range s.claims {
			if _, err := s.nodeSelector(k); err != nil {
				a.ok, a.err = false, err
				break
			}
		}
	}
	if class >= 0 && (a.err == nil || a.err == ErrInvalidPools || cut(a.err)) {
		a.once = errors.Is(a.err, ErrStopped)
		s.shape.stopped = s.shape.stopped || a.once
		s.shape.answers[class] = a
	}
	return a
}

// classOf returns the class of a node, or -1 for a node that shares no answers.
func (s *Search) classOf(v *view) int32 {
	if s.allocator.inventory.coupled || v.err != nil {
		return -1
	}
	if s.shape == nil {
		s.shape = s.allocator.shapeOf(s)
	}
	sh := s.shape
	if v.number >= len(sh.nodes) {
		sh.nodes = append(sh.nodes, make([]nodeClass, max(len(s.allocator.views), v.number+1)-len(sh.nodes))...)
	}
	k := &sh.nodes[v.number]
	revision := v.revision(s.ledger)
	if k.view == v && k.revision == revision {
		return k.class
	}
	class := int32(-1)
	if signature := s.sign(v); signature != nil {
		class = sh.class(signature)
	}
	sh.nodes[v.number] = nodeClass{v, revision, class}
	return class
}

// class returns the class of a signature.
func (sh *shape) class(signature []byte) int32 {
	if class, ok := sh.classes[string(signature)]; ok {
		return class
	}
	if len(sh.answers) >= maxClasses {
		clear(sh.classes)
		clear(sh.nodes)
		sh.answers = sh.answers[:0]
	}
	class := int32(len(sh.answers))
	sh.classes[string(signature)] = class
	sh.answers = append(sh.answers, answer{})
	return class
}

// shapeOf returns the shape of the claims of a search.
func (a *Allocator) shapeOf(s *Search) *shape {
	var text []byte
	for k := range s.claims {
		spec := &s.claims[k].object.Spec.Devices
		for _, part := range []any{spec.Requests, spec.Constraints} {
			text = appendJSON(text, part)
		}
		for j := range s.claims[k].asks {
			for _, r := range s.claims[k].asks[j].alternatives {
				text = key.Int(text, int64(a.classID(r.class)))
			}
		}
	}
	if sh := a.shapes[string(text)]; sh != nil {
		return sh
	}
	if len(a.shapes) >= maxShapes {
		clear(a.shapes)
	}
	sh := a.newShape(s)
	a.shapes[string(text)] = sh
	return sh
}

// classID gives each object of a class a number; nil has one too.
func (a *Allocator) classID(class *resourcev1.DeviceClass) int32 {
	id, ok := a.classIDs[class]
	if !ok {
		id = int32(len(a.classIDs))
		a.classIDs[class] = id
	}
	return id
}

func (a *Allocator) newShape(s *Search) *shape {
	sh := &shape{kept: map[string]*kept{}, classes: map[string]int32{}}
	for k := range s.claims {
		for _, x := range s.claims[k].asks {
			for _, r := range x.alternatives {
				for _, ref := range r.selectors {
					if !slices.Contains(sh.programs, ref.program) {
						sh.programs = append(sh.programs, ref.program)
					}
				}
			}
		}
		for _, c := range s.claims[k].constraints {
			if !slices.Contains(sh.attributes, c.attribute) {
				sh.attributes = append(sh.attributes, c.attribute)
			}
		}
	}
	return sh
}

// sign returns all that the search reads of a view, without the names of private pools and their devices. It is nil when a
// selector fails: the error belongs to one device.
func (s *Search) sign(v *view) []byte {
	b := s.shape.buffer[:0]
	for _, p := range v.pools {
		b = append(b, byte(p.state))
		if p.state != complete {
			continue
		}
		b = key.Flag(b, p.group.private)
		b = binary.AppendUvarint(b, uint64(s.allocator.setsOf(p)))
		b = binary.AppendUvarint(b, uint64(len(p.devices)))
		for _, d := range p.devices {
			var ok bool
			if b, ok = s.signDevice(b, p, d, v.node); !ok {
				return nil
			}
		}
	}
	s.shape.buffer = b
	return b
}

func (s *Search) signDevice(b []byte, p *pool, d *device, node *v1.Node) ([]byte, bool) {
	if !p.group.private {
		b = binary.AppendUvarint(b, uint64(d.index))
		if d.slice.each {
			ok, _ := d.reach.has(node) // a selector that cannot be parsed fails on every node
			b = key.Flag(b, ok)
		}
	}
	return s.signContent(b, d)
}

// signContent appends what the search reads of a device besides its place.
func (s *Search) signContent(b []byte, d *device) ([]byte, bool) {
	b = key.Flag(key.Flag(b, s.ledger.dedicated[d.index] > 0), s.ledger.shares[d.index] > 0)
	consumed := s.ledger.consumed[d.index]
	var names []resourcev1.QualifiedName
	for name := range consumed { // none for most devices; maps.Keys would allocate
		names = append(names, name)
	}
	slices.Sort(names)
	b = key.Len(b, len(names))
	for _, name := range names {
		b = appendAmount(key.Text(b, name), consumed[name])
	}
	b = binary.AppendVarint(b, int64(d.kind))
	for _, program := range s.shape.programs {
		ok, err := s.allocator.matches(program, d)
		if err != nil {
			return nil, false
		}
		b = key.Flag(b, ok)
	}
	for _, name := range s.shape.attributes {
		b = binary.AppendUvarint(b, uint64(s.allocator.valueOf(d, name)))
	}
	return b, true
}

// number gives equal numbers from 1 to equal texts. Texts of different kinds may have the same number.
func (a *Allocator) number(text []byte) int32 {
	n, ok := a.numbers[string(text)]
	if !ok {
		n = int32(len(a.numbers)) + 1
		a.numbers[string(text)] = n
	}
	return n
}

// valueOf returns the number of a device's value of an attribute. To lack the attribute is a value too.
func (a *Allocator) valueOf(d *device, name string) int32 {
	return a.number(key.Optional(nil, attribute(d, name), appendAttribute))
}

// setsOf returns the number of a pool's counter sets.
func (a *Allocator) setsOf(p *pool) int32 {
	var lines []string
	for id, c := range p.sets {
		lines = append(lines, string(appendAmount(key.Text(key.Text(nil, id.set), id.name), c.value)))
	}
	slices.Sort(lines)
	return a.number(key.Texts(nil, lines))
}

// score returns the sum of the scores of the chosen alternatives (rule U8.7). An alternative without devices scores nothing.
func (s *Search) score() (sum int64) {
	for claim := range s.claims {
		for k, x := range s.claims[claim].asks {
			if !x.first {
				continue
			}
			at := s.chosen[claim][k]
			id := x.alternatives[at].id
			if slices.ContainsFunc(s.choices, func(c choice) bool { return c.request.id == id }) {
				sum += int64(best - at)
			}
		}
	}
	return sum
}
