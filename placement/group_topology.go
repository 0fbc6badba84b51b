package placement

import (
	"encoding/binary"
	"slices"

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
	buffer     []byte
	asked      []*groupsAsked // the latest first
}

// groupsAsked is what is kept of groups with equal members.
type groupsAsked struct {
	members string // their keys, their order and the minimum of the group
	locals  reuse.Locals
	says    []int32     // by placement: equal numbers are equal words of the plugins about the nodes, in their order
	kept    []keptTrial // by placement
}

// manyAsked is of how many groups a topology keeps something.
const manyAsked = 8

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
		x.asked = nil
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

// ask returns what is kept of groups with these members, who have these keys.
func (x *topology) ask(locals reuse.Locals, members string) *groupsAsked {
	says := func(y *groupsAsked) bool { return y.locals.Same(&locals) }
	at := slices.IndexFunc(x.asked, func(y *groupsAsked) bool { return y.members == members && says(y) })
	if at < 0 {
		y := &groupsAsked{members: members, locals: locals, kept: make([]keptTrial, len(x.placements))}
		if like := slices.IndexFunc(x.asked, says); like >= 0 {
			y.says = x.asked[like].says
		} else {
			y.says = x.learn(&locals)
		}
		at = min(len(x.asked), manyAsked-1)
		x.asked = append(x.asked[:at], y)
	}
	y := x.asked[at]
	copy(x.asked[1:], x.asked[:at])
	x.asked[0] = y
	return y
}

// learn numbers what the plugins say about the placements for some members.
func (x *topology) learn(locals *reuse.Locals) []int32 {
	says, numbers := make([]int32, len(x.placements)), map[string]int32{}
	for at, in := range x.placements {
		b := x.buffer[:0]
		for _, i := range in.Slots {
			b = locals.Append(b, i)
		}
		says[at], x.buffer = number(numbers, b), b
	}
	return says
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
