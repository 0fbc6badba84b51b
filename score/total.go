package score

import (
	"fmt"

	"github.com/podberth/podberth/resources"
)

// Column is what one plugin gave the feasible nodes.
type Column struct {
	Plugin string
	Weight int64   // as it is multiplied: 0 is 0 here
	Raw    []int64 // by feasible node, before normalization; nil: not kept
	Scores []int64 // by feasible node, normalized: each in [MinScore, MaxScore]
}

// RangeError says that a plugin returned a score outside [MinScore, MaxScore] after normalizing. The cycle fails with it.
type RangeError struct {
	Plugin string
	Score  int64
}

// Error returns v1.36's text.
func (e *RangeError) Error() string {
	return fmt.Sprintf("applying score defaultWeights on Score plugins: plugin %q returns an invalid score %d, it should in the range of [%d, %d] after normalizing",
		e.Plugin, e.Score, MinScore, MaxScore)
}

// checkRange returns a RangeError for the first score out of range: by node, then in plugin order.
func checkRange(columns []Column) error {
	rows := 0
	for _, c := range columns {
		rows = max(rows, len(c.Scores))
	}
	for i := range rows {
		for _, c := range columns {
			if i < len(c.Scores) && (c.Scores[i] < MinScore || c.Scores[i] > MaxScore) {
				return &RangeError{c.Plugin, c.Scores[i]}
			}
		}
	}
	return nil
}

// Totals returns the total of each feasible node: the weighted scores of the plugins that did not skip, in order, plus
// what the extenders give (combine). With neither a plugin nor an extender every node gets 1; a plugin that skipped has no
// column, but counts as present, so that its caller passes an empty non-nil list. The error is a RangeError.
//
// nodes are the names of the feasible nodes; a Scores list that is shorter counts 0 at its end.
func Totals(nodes []string, columns []Column, extenders []ExtenderScores) ([]int64, error) {
	if err := checkRange(columns); err != nil {
		return nil, err
	}
	totals := make([]int64, len(nodes))
	if columns == nil && extenders == nil {
		for i := range totals {
			totals[i] = 1
		}
		return totals, nil
	}
	for _, c := range columns {
		for i, s := range c.Scores[:min(len(c.Scores), len(totals))] {
			totals[i] = resources.Add(totals[i], times(s, c.Weight))
		}
	}
	for i, s := range combine(nodes, extenders) {
		totals[i] = resources.Add(totals[i], s)
	}
	return totals, nil
}
