package score

import (
	"fmt"

	"github.com/podberth/podberth/resources"
)

// Column has the scores that one plugin or one extender gave the feasible nodes.
type Column struct {
	Plugin string   // name of the plugin or extender
	Weight int64    // the factor of the scores; 0 means 0 here
	Raw    []int64  // of a plugin, by feasible node, before normalization; nil: unknown
	Scores []int64  // of a plugin by feasible node, normalized, each 0 to MaxScore; of an extender by Hosts, by convention 0 to 10
	Hosts  []string // of an extender: names of the nodes of Scores; nil for a plugin
}

// checkRange returns v1.37's error for the first score out of range, by node, then in plugin order (rule C1.4). The attempt
// ends with this error.
func checkRange(columns []Column) error {
	rows := 0
	for _, c := range columns {
		rows = max(rows, len(c.Scores))
	}
	for i := range rows {
		for _, c := range columns {
			if i < len(c.Scores) && (c.Scores[i] < 0 || c.Scores[i] > MaxScore) {
				return fmt.Errorf("applying score defaultWeights on Score plugins: plugin %q returns an invalid score %d, it should in the range of [0, %d] after normalizing",
					c.Plugin, c.Scores[i], MaxScore)
			}
		}
	}
	return nil
}

// Totals returns the total of each feasible node: the sum of weight x score over the plugins, plus 10 x weight x score of
// every extender. The error is v1.37's for a plugin's score that is not from 0 to [MaxScore].
//
// nodes has the names of the feasible nodes. columns has the plugins that did not skip. When columns and extenders are both
// nil, nothing scores, and every node gets 1 (rule C1.2). When all plugins skipped, the caller passes an empty list that is
// not nil. A Scores list that is shorter than nodes counts 0 for the rest.
//
// An extender that failed, or that has no prioritize verb, has no scores. Scores of extenders are not checked: larger and
// negative ones count as they are, and a host named twice counts twice. Hosts that are not in nodes are ignored. Rule:
// configuration API, Extender.
func Totals(nodes []string, columns, extenders []Column) ([]int64, error) {
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

// extenderScale is the factor from the scores of extenders, 0 to 10, to those of plugins.
const extenderScale = 10

// combine returns what the extenders add to the total of each node.
func combine(nodes []string, extenders []Column) []int64 {
	sums := make([]int64, len(nodes))
	at := make(map[string]int, len(nodes))
	for i, name := range nodes {
		at[name] = i
	}
	for _, e := range extenders {
		for j, host := range e.Hosts[:min(len(e.Hosts), len(e.Scores))] {
			if i, ok := at[host]; ok {
				sums[i] = resources.Add(sums[i], times(times(e.Scores[j], e.Weight), extenderScale))
			}
		}
	}
	return sums
}
