package score

import "github.com/podberth/podberth/resources"

// extenderScale brings the scores of extenders, 0 to 10, to those of plugins.
const extenderScale = 10

// HostScore is an extender's score of a node, by convention 0 to 10.
type HostScore struct {
	Host  string
	Score int64
}

// ExtenderScores is what one extender that has a say about the pod answered. An extender that failed, or that has no
// prioritize verb, has no scores.
type ExtenderScores struct {
	Name   string
	Weight int64
	Scores []HostScore
}

// combine returns what the extenders add to the total of each node: the sum of score x weight x 10. Scores are not
// checked: larger and negative ones count as they are, and a host named twice counts twice. Hosts that are not feasible
// are ignored.
// Rule: configuration API, Extender.
func combine(nodes []string, extenders []ExtenderScores) []int64 {
	sums := make([]int64, len(nodes))
	at := make(map[string]int, len(nodes))
	for i, name := range nodes {
		at[name] = i
	}
	for _, e := range extenders {
		for _, s := range e.Scores {
			if i, ok := at[s.Host]; ok {
				sums[i] = resources.Add(sums[i], times(times(s.Score, e.Weight), extenderScale))
			}
		}
	}
	return sums
}
