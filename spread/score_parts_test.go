package spread

import v1 "k8s.io/api/core/v1"

// scorePart is the part of one ScheduleAnyway constraint in the raw score of one node.
type scorePart struct {
	missing bool  // the node lacks the key; then the constraint adds nothing
	pods    int   // number of matching pods in the domain, for the hostname on the node
	size    int64 // number of domains among the feasible nodes, for the hostname of nodes
	weight  float64
	score   float64 // pods * weight + maxSkew - 1
}

// explain returns the part of every constraint in the raw score of slot i, with the weights of the last Weigh. It returns
// nil for a free slot, for an ignored node and without constraints.
func (s *softState) explain(i int) []scorePart {
	if s.skips() || i < 0 || i >= len(s.cols[0].ids) || s.cluster.Node(i) == nil || s.Ignored(i) {
		return nil
	}
	out := make([]scorePart, len(s.cols))
	for k := range s.cols {
		col, c := &s.cols[k], &s.soft.constraints[k]
		x := scorePart{missing: col.ids[i] < 0, size: col.size, weight: col.weight}
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
