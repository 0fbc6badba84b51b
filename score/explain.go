package score

import (
	"fmt"
	"strings"
)

// Explanation says why a node was chosen and not the best of the others (rule C9.4).
type Explanation struct {
	Node, RunnerUp       string // RunnerUp is empty when there was no other node.
	Total, RunnerUpTotal int64
	Lead                 int64  // Total - RunnerUpTotal; not positive when another node was at least as good
	Parts                []Part // the plugins in order, then the extenders
	Flip                 *Part  // the part whose weight must change least for another node to win; nil when there is none
}

// Part is the contribution of one plugin or extender to the choice. A weight of 0 cannot be configured: it means that the
// plugin is disabled.
type Part struct {
	Name     string
	Weight   int64
	Raw      int64 // of the chosen node, before normalization; for an extender the score that it returned
	Score    int64 // normalized; for an extender times 10
	Weighted int64
	RunnerUp int64   // weighted score of the runner-up
	Share    float64 // share of the lead: 1 is all of it, a negative share works against the choice; 0 when there is no lead
	Winner   string  // the node that wins when only this weight changes to Flip; "" when no weight has this effect
	Flip     int64   // the nearest such weight, 0 or more; 0 without a Winner
}

// Explain returns the contribution of each plugin and extender to a decision. Its arguments are those of [Totals], and chosen
// is the position of the chosen node. The runner-up is the node with the highest total among the others, the first of
// several. The error is that of Totals. The explanation is empty when chosen is not a position of nodes. O(nodes x
// plugins). Nil lists have no columns.
func Explain(nodes []string, columns, extenders []Column, chosen int) (Explanation, error) {
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
	for _, c := range scoreParts(nodes, columns, extenders) {
		p := Part{Name: c.Plugin, Weight: c.Weight, Raw: entryAt(c.Raw, chosen), Score: entryAt(c.Scores, chosen)}
		p.Weighted = times(p.Score, p.Weight)
		if second >= 0 {
			p.RunnerUp = times(entryAt(c.Scores, second), c.Weight)
			if x.Lead != 0 {
				p.Share = float64(p.Weighted-p.RunnerUp) / float64(x.Lead)
			}
			p.flip(nodes, c.Scores, totals, chosen)
		}
		x.Parts = append(x.Parts, p)
	}
	for k := range x.Parts {
		if p := &x.Parts[k]; p.Winner != "" && (x.Flip == nil || p.change() < x.Flip.change()) {
			x.Flip = p
		}
	}
	return x, nil
}

// scoreParts returns the columns of plugins and extenders, by feasible node and on the scale of plugin scores.
func scoreParts(nodes []string, columns, extenders []Column) []Column {
	list := append([]Column(nil), columns...)
	for _, e := range extenders {
		weighed := e
		weighed.Weight = 1
		scaled := combine(nodes, []Column{weighed})
		raw := make([]int64, len(scaled))
		for i, s := range scaled {
			raw[i] = s / extenderScale
		}
		list = append(list, Column{Plugin: e.Plugin, Weight: e.Weight, Raw: raw, Scores: scaled})
	}
	return list
}

// flip finds the weight, nearest to the present one, with which another node wins.
func (p *Part) flip(nodes []string, scores, totals []int64, chosen int) {
	found := false
	for i := range nodes {
		d := entryAt(scores, chosen) - entryAt(scores, i) // what a weight larger by 1 adds to the lead over i
		lead := max(totals[chosen]-totals[i], 0)
		var to int64
		switch {
		case d > 0:
			to = p.Weight - (lead/d + 1)
		case d < 0:
			to = p.Weight + lead/-d + 1
		default: // the chosen node, and nodes with its score
			continue
		}
		if to >= 0 && (!found || max(to-p.Weight, p.Weight-to) < p.change()) {
			p.Winner, p.Flip, found = nodes[i], to, true
		}
	}
}

// change returns by how much the weight must change for Winner to win.
func (p *Part) change() int64 { return max(p.Flip-p.Weight, p.Weight-p.Flip) }

// entryAt returns entry i of list, 0 after its end.
func entryAt(list []int64, i int) int64 {
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
		fmt.Fprintf(&b, "%s wins when the weight of %s goes from %d to %d\n", x.Flip.Winner, x.Flip.Name, x.Flip.Weight, x.Flip.Flip)
	case x.RunnerUp != "":
		b.WriteString("no change of a single weight makes another node win\n")
	}
	return b.String()
}
