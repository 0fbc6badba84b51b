package spread

import (
	"math/bits"
	"slices"

	"github.com/podberth/podberth/internal/view"
)

// column has the domains of all slots for one constraint.
type column struct {
	ids     []int32 // by slot: the domain of its label value, -1 without the label
	into    []int32 // by slot: the domain in which its pods count, -1 when they do not count; the same slice as ids when all count
	domains int     // all domains are below it
	have    int     // slots with the label
	unique  bool    // every domain has one slot
}

// layOut returns the column of every constraint. With all, a node that lacks a key counts in no column.
func (e *evaluator) layOut(c Cluster, all bool) []column {
	n := c.Len()
	cols := make([]column, len(e.constraints))
	partial := 0 // the different keys that some slot lacks
	for k := range cols {
		if j := e.firstWithKey(k); j < k {
			cols[k] = cols[j]
			continue
		}
		if cols[k] = labelColumn(c, e.constraints[k].key); cols[k].have < n {
			partial++
		}
	}
	var out []bool // slots that lack a key
	if all && partial > 0 && slices.ContainsFunc(e.constraints, func(x constraint) bool { return x.key != e.constraints[0].key }) {
		out = make([]bool, n)
		for k := range cols {
			if e.firstWithKey(k) == k {
				for i, d := range cols[k].ids {
					if d < 0 {
						out[i] = true
					}
				}
			}
		}
	}
	bits := e.inclusion.exclusions(c)
	for k := range cols {
		cols[k].into = counted(cols[k].ids, out, bits, e.constraints[k].honours)
	}
	return cols
}

// counted returns ids with -1 for the slots that lack a key or are excluded. It returns ids itself when there is no such
// slot.
func counted(ids []int32, out []bool, bits []uint8, honours uint8) []int32 {
	if honours == 0 {
		bits = nil
	}
	into, own := ids, false
	for i := range max(len(out), len(bits)) {
		if ids[i] >= 0 && (out != nil && out[i] || bits != nil && bits[i]&honours != 0) {
			if !own {
				into, own = slices.Clone(ids), true
			}
			into[i] = -1
		}
	}
	return into
}

// labelColumn returns the domain of each slot's label value: the cluster's own numbers when it has them.
func labelColumn(c Cluster, key string) (col column) {
	col.ids, col.domains, col.have = view.Domains(c, key)
	col.unique = col.domains >= col.have && distinct(col.ids, col.domains) == col.have
	return col
}

// whole reports whether every slot with the label counts.
func (col *column) whole() bool { return len(col.ids) == 0 || &col.ids[0] == &col.into[0] }

// distinct returns how many different numbers other than -1 ids has. The numbers below domains need not all be in use.
func distinct(ids []int32, domains int) int {
	seen := make([]uint64, domains/64+1) // a bit for each number
	for _, d := range ids {
		if d >= 0 {
			seen[uint32(d)/64] |= 1 << (uint32(d) % 64)
		}
	}
	n := 0
	for _, word := range seen {
		n += bits.OnesCount64(word)
	}
	return n
}

// values returns the label value of every domain of a column.
func (e *evaluator) values(c Cluster, k int, col *column) []string {
	out := make([]string, col.domains)
	known := make([]bool, col.domains)
	for i, d := range col.ids {
		if d >= 0 && !known[d] {
			if node := c.Node(i); node != nil {
				out[d], known[d] = node.Labels[e.constraints[k].key], true
			}
		}
	}
	return out
}
