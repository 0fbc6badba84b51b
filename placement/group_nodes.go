package placement

import (
	"encoding/binary"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// groupNodes is what decisions about groups keep of the nodes of a plan that has a change log: the rows of each node as a number, and the
// placements of the whole cluster by topology key.
type groupNodes struct {
	cluster    Cluster
	log        follow.Log
	cursor     follow.Cursor
	row        []int32          // by slot; equal numbers are equal rows
	numbers    map[string]int32 // of rows
	times      uint64           // how often the numbers began again
	topologies map[string]*topology
	buffer     []byte
}

// nodesOfGroups returns what is kept of the nodes; the plan must have a change log.
func (p *Plan) nodesOfGroups() *groupNodes {
	if p.groups == nil {
		p.groups = &groupNodes{cluster: p.cluster, log: p.log}
	}
	return p.groups
}

// maxRowNumbers is how many rows have numbers before the numbers begin again.
const maxRowNumbers = 1 << 18

// follow brings the rows to the version of the cluster.
func (k *groupNodes) follow() {
	again := k.row == nil || len(k.row) != k.cluster.Len() || len(k.numbers) > maxRowNumbers
	if !again {
		reached := k.cursor.Read(k.log, func(e *cluster.Event) {
			switch {
			case e.Node == view.Everything:
				again = true
			case e.Node >= 0:
				k.judge(int(e.Node))
				if e.Set < 0 && e.N == 0 { // the object of the node
					clear(k.topologies)
				}
			}
		})
		if reached && !again {
			return
		}
	}
	k.cursor = follow.At(k.log)
	if again {
		k.row, k.numbers, k.times = make([]int32, k.cluster.Len()), map[string]int32{}, k.times+1
	}
	k.topologies = map[string]*topology{}
	for i := range k.row {
		k.judge(i)
	}
}

// judge gives the rows of a slot their number.
func (k *groupNodes) judge(i int) {
	if i >= len(k.row) || k.cluster.Node(i) == nil {
		return
	}
	cpu, memory := k.cluster.NonZero(i)
	b := binary.AppendVarint(binary.AppendVarint(k.buffer[:0], cpu), memory)
	b = appendVector(appendVector(b, k.cluster.Allocatable(i)), k.cluster.Requested(i))
	k.buffer = b
	n := number(k.numbers, b)
	if n == k.row[i] {
		return
	}
	k.row[i] = n
	for _, x := range k.topologies {
		if at := x.of[i]; at >= 0 {
			x.rows[at] = unknownRows
		}
	}
}

// appendVector appends the amounts of a vector, and how many there are.
func appendVector(dst []byte, v resources.Vector) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	for _, amount := range v {
		dst = binary.AppendVarint(dst, amount)
	}
	return dst
}

// whole returns the placements by a topology key, as they are now.
func (k *groupNodes) whole(order []int, key string) *topology {
	k.follow()
	x := k.topologies[key]
	if x == nil {
		x = newTopology(k.cluster, order, key)
		k.topologies[key] = x
	}
	return x
}
