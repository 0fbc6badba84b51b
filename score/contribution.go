package score

import (
	"fmt"
	"strings"
)

// Explanation says why a node was chosen over the best of the others.
type Explanation struct {
	Node, RunnerUp       string // RunnerUp is empty when there was no other node
	Total, RunnerUpTotal int64
	Lead                 int64 // Total - RunnerUpTotal; not positive when the choice was not the best
	Parts                []Part
	Flip                 *Flip // the smallest change of one weight that makes another node win; nil: none does
}

// Part is what one plugin or extender had to do with the choice.
type Part struct {
	Name     string
	Weight   int64
	Raw      int64 // of the chosen node, before normalization; for an extender its own score
	Score    int64 // normalized; for an extender times 10
	Weighted int64
	RunnerUp int64   // weighted score of the runner-up
	Share    float64 // of the lead: 1 is all of it, negative works against the choice; 0 when there is no lead
	Flip     *Flip   // the smallest change of this weight alone
}

// Flip is a change of one weight after which Winner has a higher total than the chosen node. A weight of 0 is no weight
// that a configuration can state: it means that the plugin is disabled.
type Flip struct {
	Name     string
	From, To int64 // weights; To is not negative
	Winner   string
}

// Explain takes a decision apart: chosen is the position of the chosen node. The runner-up is the node with the highest
// total among the others, the first of several. The error is a RangeError. chosen out of range gives an empty answer.
// O(nodes x plugins).
func Explain(nodes []string, columns []Column, extenders []ExtenderScores, chosen int) (Explanation, error) {
	totals, err := Totals(nodes, columns, extenders)
	if err != nil || chosen < 0 || chosen >= len(nodes) {
		return Explanation{}, err
	}
	x := Explanation{Node: nodes[chosen], Total: totals[chosen]}
	second := -1
	for i := range totals {
		if i != chosen && (second < 0 || totals[i] > totals[second]) {
			second = i
		}
	}
	if second >= 0 {
		x.RunnerUp, x.RunnerUpTotal, x.Lead = nodes[second], totals[second], totals[chosen]-totals[second]
	}
	for _, c := range parts(nodes, columns, extenders) {
		p := Part{Name: c.Plugin, Weight: c.Weight, Raw: at(c.Raw, chosen), Score: at(c.Scores, chosen)}
		p.Weighted = times(p.Score, p.Weight)
		if second >= 0 {
			p.RunnerUp = times(at(c.Scores, second), c.Weight)
			if x.Lead != 0 {
				p.Share = float64(p.Weighted-p.RunnerUp) / float64(x.Lead)
			}
			p.Flip = flip(nodes, c, totals, chosen)
		}
		if p.Flip != nil && (x.Flip == nil || p.Flip.change() < x.Flip.change()) {
			x.Flip = p.Flip
		}
		x.Parts = append(x.Parts, p)
	}
	return x, nil
}

// parts is the columns with those of the extenders, each on the scale of plugin scores.
func parts(nodes []string, columns []Column, extenders []ExtenderScores) []Column {
	list := append([]Column(nil), columns...)
	for _, e := range extenders {
		own := e
		own.Weight = 1
		scaled := combine(nodes, []ExtenderScores{own})
		raw := make([]int64, len(scaled))
		for i, s := range scaled {
			raw[i] = s / extenderScale
		}
		list = append(list, Column{Plugin: e.Name, Weight: e.Weight, Raw: raw, Scores: scaled})
	}
	return list
}

// flip finds the weight nearest to the present one with which some node beats the chosen one.
func flip(nodes []string, c Column, totals []int64, chosen int) *Flip {
	var best *Flip
	for i := range nodes {
		d := at(c.Scores, chosen) - at(c.Scores, i) // what one more of weight adds to the lead over i
		if i == chosen || d == 0 {
			continue
		}
		lead := max(totals[chosen]-totals[i], 0)
		to := c.Weight - (lead/d + 1) // d > 0: less weight
		if d < 0 {
			to = c.Weight + lead/-d + 1
		}
		f := &Flip{c.Plugin, c.Weight, to, nodes[i]}
		if to >= 0 && (best == nil || f.change() < best.change()) {
			best = f
		}
	}
	return best
}

func (f *Flip) change() int64 { return max(f.To-f.From, f.From-f.To) }

func at(list []int64, i int) int64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// String returns the explanation as a table.
func (x Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", x.Node, x.Total)
	if x.RunnerUp != "" {
		fmt.Fprintf(&b, ", runner-up %s %d, lead %d", x.RunnerUp, x.RunnerUpTotal, x.Lead)
	}
	fmt.Fprintf(&b, "\n%-32s %6s %6s %6s %8s %9s %6s\n", "plugin", "raw", "score", "weight", "weighted", "runner-up", "share")
	for _, p := range x.Parts {
		fmt.Fprintf(&b, "%-32s %6d %6d %6d %8d %9d %5.0f%%\n", p.Name, p.Raw, p.Score, p.Weight, p.Weighted, p.RunnerUp, 100*p.Share)
	}
	switch {
	case x.Flip != nil:
		fmt.Fprintf(&b, "%s wins when the weight of %s goes from %d to %d\n", x.Flip.Winner, x.Flip.Name, x.Flip.From, x.Flip.To)
	case x.RunnerUp != "":
		b.WriteString("no change of a single weight makes another node win\n")
	}
	return b.String()
}
