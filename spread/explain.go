package spread

import (
	"fmt"
)

// Skew has the numbers of one DoNotSchedule constraint on one node (rule S3.2).
type Skew struct {
	Constraint int    // index in the pod's list or in the default constraints
	Key, Value string // the topology key, and its value on the node
	Missing    bool   // the node lacks the key; then all numbers are 0
	Counted    bool   // pods on this node count: the node has all keys and the policies accept it
	Pods       int    // number of matching pods in the domain
	Self       int    // 1 when the pod matches its own selector, otherwise 0
	Minimum    int    // the global minimum
	MaxSkew    int
	Allows     bool // the constraint allows the node
}

// value returns the skew with the pod: Pods + Self - Minimum.
func (s Skew) value() int { return s.Pods + s.Self - s.Minimum }

// String returns the numbers as text, such as "zone=zoneA: 2 + 1 - 1 = 2 > 1".
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

func (s *hardState) Explain(i int) []Skew {
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
