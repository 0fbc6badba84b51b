package affinity

import v1 "k8s.io/api/core/v1"

// Explanation is the count in the node's domain of one topology key, for one kind of required terms.
type Explanation struct {
	Anti     bool   // true: anti-affinity terms; false: affinity terms of the pod
	Existing bool   // true: terms of running pods that match the pod; false: terms of the pod
	First    bool   // only for affinity: the pod may be the first of its group, so no running pod has to match
	Key      string // the topology key
	Value    string // the node's value of the key: the domain
	Has      bool   // whether the node has the key; false: there is no domain, and Count is 0
	// Count is, for affinity terms, the number of running pods in the domain that match all of them. For anti-affinity
	// terms it is the number of matches, summed over the terms with the key. For terms of running pods (Existing) it is the
	// number of terms.
	Count int
}

func (s *state) Explain(i int) []Explanation {
	var out []Explanation
	first := s.self && s.affinityCells == 0
	for _, k := range s.affinityCols {
		terms := int32(0)
		for t := range s.affinity {
			if s.affinity[t].key == s.columns[k].key {
				terms++
			}
		}
		x := s.explain(k, i, s.columns[k].affinity)
		x.First = first
		x.Count /= int(terms) // a pod counts once for each term with the key
		out = append(out, x)
	}
	for _, k := range s.antiCols {
		x := s.explain(k, i, s.columns[k].anti)
		x.Anti = true
		out = append(out, x)
	}
	for k := range s.columns {
		if x := s.explain(k, i, s.columns[k].existing); x.Count > 0 {
			x.Anti, x.Existing = true, true
			out = append(out, x)
		}
	}
	return out
}

// explain returns the count of column k in the domain of slot i.
func (s *state) explain(k, i int, counts []int32) Explanation {
	col := &s.columns[k]
	x := Explanation{Key: col.key}
	if d := col.domain(i); d >= 0 {
		x.Has, x.Count = true, int(countIn(counts, d))
		if n := s.cluster.Node(i); n != nil {
			x.Value = n.Labels[col.key]
		}
	}
	return x
}

func (s *state) Selected(p *v1.Pod) (affinity, anti []int) {
	for k := range s.affinity {
		if s.affinity[k].matches(p) {
			affinity = append(affinity, k)
		}
	}
	for k := range s.anti {
		if s.anti[k].matches(p) {
			anti = append(anti, k)
		}
	}
	return affinity, anti
}
