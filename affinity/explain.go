package affinity

import "github.com/podberth/podberth/resources"

// Explanation has the numbers behind verdict and raw score of a slot by inter-pod affinity.
type Explanation struct {
	Verdict resources.Verdict // as Check returns it
	// Affinity and Anti report each topology key of the pod's required affinity and anti-affinity terms. The count is of
	// running pods in the node's domain: those that match all affinity terms, and for Anti the matches of each term added
	// up.
	Affinity, Anti []KeyReport
	// First is set when the pod may be the first of its group: it matches all its own affinity terms and no running pod
	// that does is counted anywhere.
	First bool
	// Existing reports the topology keys for which running pods in the node's domain have required anti-affinity terms
	// that match the pod; the count is of terms.
	Existing []KeyReport
	// Score lists what each topology key adds to the raw score.
	Score []KeyScore
	// Raw is the sum of Score.
	Raw int64
}

// KeyReport is a count in the node's domain of a topology key.
type KeyReport struct {
	Key   string // topologyKey
	Value string // of the node's label; the domain
	Has   bool   // whether the node has the label; false: no domain, Count is 0
	Count int    // in the domain
}

// KeyScore is what the node's domain of a topology key adds to the raw score.
type KeyScore struct {
	Key, Value string
	Sum        int64
}

// Explain returns the numbers behind Check and Raw of slot i. It allocates.
func (s *State) Explain(i int) Explanation {
	x := Explanation{Verdict: s.Check(i)}
	if x.Verdict == unparsable {
		return x
	}
	x.Raw = s.Raw(i)
	x.First = s.self && s.affinityCells == 0
	for _, k := range s.affinityCols {
		terms := 0
		for t := range s.affinity {
			if s.affinity[t].key == s.columns[k].key {
				terms++
			}
		}
		r := s.report(k, i, func(c *column, d int32) int32 { return at(c.affinity, d) })
		r.Count /= terms // a pod is counted once for each term with the key
		x.Affinity = append(x.Affinity, r)
	}
	for _, k := range s.antiCols {
		x.Anti = append(x.Anti, s.report(k, i, func(c *column, d int32) int32 { return at(c.anti, d) }))
	}
	for k := range s.columns {
		if r := s.report(k, i, func(c *column, d int32) int32 { return at(c.existing, d) }); r.Count > 0 {
			x.Existing = append(x.Existing, r)
		}
		col := &s.columns[k]
		if d := col.domain(i); d >= 0 && at(col.score, d) != 0 {
			x.Score = append(x.Score, KeyScore{col.key, s.value(col, i), at(col.score, d)})
		}
	}
	return x
}

func (s *State) report(k, i int, count func(*column, int32) int32) KeyReport {
	col := &s.columns[k]
	r := KeyReport{Key: col.key}
	if d := col.domain(i); d >= 0 {
		r.Has, r.Value, r.Count = true, s.value(col, i), int(count(col, d))
	}
	return r
}

func (s *State) value(col *column, i int) string {
	if n := s.cluster.Node(i); n != nil {
		return n.Labels[col.key]
	}
	return ""
}
