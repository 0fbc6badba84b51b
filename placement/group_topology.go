package placement

import (
	"encoding/binary"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/podgroup"
)

// topology is the placements of the whole cluster by a topology key. It keeps which of them are alike, so that a decision does not look at
// every node again. It is made again when the object of a node changes.
type topology struct {
	key        string
	placements []podgroup.Placement // callers must not change them
	of         []int32              // by slot: the place of its placement; -1: it is in none
	rows       []int32              // by placement: equal numbers are equal rows of the nodes, in their order
	numbers    map[string]int32     // of these
	locals     reuse.Locals         // the members that says is about
	says       []int32              // by placement: equal numbers are equal words of the plugins about the nodes, in their order
	buffer     []byte

	asked string      // the members, their order and the minimum of the group that kept is about
	kept  []keptTrial // by placement
}

// unknownRows is the number of a placement a row of which has changed.
const unknownRows = -1

func newTopology(c Cluster, order []int, key string) *topology {
	x := &topology{key: key, of: make([]int32, c.Len()), numbers: map[string]int32{}}
	x.placements, _ = podgroup.Placements(c, order, key, func(func(*v1.Pod, int) bool) {}) // the errors are about members
	x.rows = make([]int32, len(x.placements))
	for i := range x.of {
		x.of[i] = -1
	}
	for at, in := range x.placements {
		x.rows[at] = unknownRows
		for _, i := range in.Slots {
			x.of[i] = int32(at)
		}
	}
	return x
}

// begin forgets numbers when there are many. Numbers are compared within one decision.
func (x *topology) begin() {
	if len(x.numbers) > maxRowNumbers {
		clear(x.numbers)
		x.kept = nil
		for at := range x.rows {
			x.rows[at] = unknownRows
		}
	}
}

// rowsOf returns the number of a placement's rows.
func (x *topology) rowsOf(at int, row []int32) int32 {
	if x.rows[at] == unknownRows {
		b := x.buffer[:0]
		for _, i := range x.placements[at].Slots {
			b = binary.AppendUvarint(b, uint64(row[i]))
		}
		x.rows[at], x.buffer = number(x.numbers, b), b
	}
	return x.rows[at]
}

// learn numbers what the plugins say about the placements for some members, unless it is known.
func (x *topology) learn(locals *reuse.Locals) {
	if x.says != nil && x.locals.Same(locals) {
		return
	}
	x.locals, x.says, x.kept = *locals, make([]int32, len(x.placements)), nil
	numbers := map[string]int32{}
	for at, in := range x.placements {
		b := x.buffer[:0]
		for _, i := range in.Slots {
			b = locals.Append(b, i)
		}
		x.says[at], x.buffer = number(numbers, b), b
	}
}

// trialsOf returns the trials that are kept of groups like this one, by placement. Members is the order of kinds among the locals, and what
// else their trials depend on.
func (x *topology) trialsOf(members []byte) []keptTrial {
	if x.kept == nil || x.asked != string(members) {
		x.asked, x.kept = string(members), make([]keptTrial, len(x.placements))
	}
	return x.kept
}

// number returns the number of a text, the next one for a new text.
func number(numbers map[string]int32, text []byte) int32 {
	n, known := numbers[string(text)]
	if !known {
		n = int32(len(numbers))
		numbers[string(text)] = n
	}
	return n
}
