package spread

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Skew is the arithmetic of one DoNotSchedule constraint on one node.
type Skew struct {
	Constraint int    // place in the pod's list, or in the default constraints
	Key, Value string // topology key, and the node's value of it
	Missing    bool   // the node lacks the key; the numbers are 0 then
	Counted    bool   // pods on this node count: it has all keys and the policies accept it
	Pods       int    // matching pods in the domain
	Self       int    // 1 if the pod matches its own selector
	Minimum    int    // global minimum
	MaxSkew    int
	Allows     bool // the constraint allows the node
}

// value returns the skew that the pod would make: Pods + Self - Minimum.
func (s Skew) value() int { return s.Pods + s.Self - s.Minimum }

// String writes the arithmetic, such as "zone=zoneA: 2 + 1 - 1 = 2 > 1".
func (s Skew) String() string {
	if s.Missing {
		return fmt.Sprintf("no label %s", s.Key)
	}
	sign := "<="
	if !s.Allows {
		sign = ">"
	}
	return fmt.Sprintf("%s=%s: %d + %d - %d = %d %s %d", s.Key, s.Value, s.Pods, s.Self, s.Minimum, s.value(), sign, s.MaxSkew)
}

// Explain returns the numbers of every constraint on the node of slot i, in order; nil for a free slot or without
// constraints. Check rejects with the first that does not allow the node. O(constraints).
func (s *HardState) Explain(i int) []Skew {
	if len(s.cols) == 0 || i < 0 || i >= s.slots || s.cluster.Node(i) == nil {
		return nil
	}
	set := s.cluster.Node(i).Labels
	out := make([]Skew, len(s.cols))
	for k := range s.cols {
		col, c := &s.cols[k], &s.hard.constraints[k]
		x := Skew{Constraint: c.index, Key: c.key, Value: set[c.key], Missing: col.ids[i] < 0, Counted: col.into[i] >= 0}
		if !x.Missing {
			x.Pods, x.Self = int(col.counts[col.ids[i]]), int(col.self)
			x.Minimum, x.MaxSkew = int(col.low), int(col.maxSkew)
			x.Allows = x.value() <= x.MaxSkew
		}
		out[k] = x
	}
	return out
}

// part is what one ScheduleAnyway constraint adds to the raw score of one node.
type part struct {
	constraint int    // place in the pod's list, or in the default constraints
	key, value string // topology key, and the node's value of it
	missing    bool   // the node lacks the key; the constraint adds nothing then
	pods       int    // matching pods in the domain, on the node for the hostname
	size       int64  // domains among the feasible nodes, nodes for the hostname
	weight     float64
	score      float64 // pods * weight + maxSkew - 1
}

// explain returns what every constraint adds to the raw score of slot i in the pass that Weigh ended; nil for a free
// slot, an ignored node or without constraints.
func (s *SoftState) explain(i int) []part {
	if s.skips() || i < 0 || i >= len(s.cols[0].ids) || s.cluster.Node(i) == nil || s.Ignored(i) {
		return nil
	}
	set := s.cluster.Node(i).Labels
	out := make([]part, len(s.cols))
	for k := range s.cols {
		col, c := &s.cols[k], &s.soft.constraints[k]
		x := part{constraint: c.index, key: c.key, value: set[c.key], missing: col.ids[i] < 0, size: col.size, weight: col.weight}
		if !x.missing {
			d := col.ids[i]
			if c.key == v1.LabelHostname {
				d = int32(i)
			}
			x.pods = int(col.counts[d])
			x.score = float64(x.pods)*col.weight + col.skewBase
		}
		out[k] = x
	}
	return out
}
