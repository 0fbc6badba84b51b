package page

import (
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/tools/explain"
)

// Verdict is what the plugins say about one pod on every node, in the form of the file. [VerdictOf] makes one.
type Verdict struct {
	out   verdict
	nodes []string // in the order of out.Rows
}

// verdict is a Verdict in the file. Nodes have the row of what is said about them; equal rows are one.
type verdict struct {
	Cause     string   `json:"cause"` // why the pod waits, as a sentence; "" for a pod with a node
	Feasible  int      `json:"feasible"`
	Help      []string `json:"help"`
	Obstacles []string `json:"obstacles"`
	Scorers   []scorer `json:"scorers"`
	Rows      []row    `json:"rows"`
	Nodes     []int    `json:"nodes"` // the best first, then the rejected ones, the nearest first
	Row       []int    `json:"row"`   // of each of the nodes
	Skews     []Skew   `json:"skews"`
}

type scorer struct {
	Plugin string `json:"plugin"`
	Weight int64  `json:"weight"`
}

// row is what is said about a node: why it is rejected, or the weighted score of each scorer.
type row struct {
	Rejections []placement.Rejection `json:"rejections,omitempty"`
	Scores     []int64               `json:"scores,omitempty"`
	Total      int64                 `json:"total"`
}

// Say adds why the pod waits, and what would help. The file then has the words of the command why.
func (v *Verdict) Say(cause string, help []string) {
	v.out.Cause, v.out.Help = cause, append([]string{}, help...)
}

// VerdictOf returns the verdict of a table as [placement.Plan.Table] makes it. The order of the nodes is that of [explain.Order].
func VerdictOf(table []placement.NodeReport, a explain.Answer, skews []Skew) *Verdict {
	v := &Verdict{out: verdict{Help: append([]string{}, a.Help...), Obstacles: []string{}, Scorers: []scorer{}, Rows: []row{}, Nodes: []int{}, Row: []int{}, Skews: append([]Skew{}, skews...)}}
	for _, o := range a.Obstacles {
		nodes := "nodes"
		if o.Nodes == 1 {
			nodes = "node"
		}
		v.out.Obstacles = append(v.out.Obstacles, fmt.Sprintf("%d %s: %s", o.Nodes, nodes, o))
	}
	at := map[string]int{}
	for _, n := range table {
		r := row{Rejections: n.Rejections, Total: n.Total}
		if n.Feasible() {
			v.out.Feasible++
			for k, s := range n.Scores {
				if len(v.out.Scorers) <= k {
					v.out.Scorers = append(v.out.Scorers, scorer{s.Plugin, s.Weight})
				}
				r.Scores = append(r.Scores, s.Weighted)
			}
		}
		key := fmt.Sprint(r)
		k, ok := at[key]
		if !ok {
			k = len(v.out.Rows)
			at[key] = k
			v.out.Rows = append(v.out.Rows, r)
		}
		v.nodes, v.out.Row = append(v.nodes, n.Node), append(v.out.Row, k)
	}
	return v
}

// in returns the verdict with the nodes of a page. Nodes that the page does not have are left out.
func (v *Verdict) in(index map[string]int) verdict {
	out := v.out
	out.Nodes, out.Row = []int{}, []int{}
	for k, name := range v.nodes {
		if i, ok := index[name]; ok {
			out.Nodes, out.Row = append(out.Nodes, i), append(out.Row, v.out.Row[k])
		}
	}
	return out
}

// Skew is how the pods that a spread constraint counts are spread over its domains.
type Skew struct {
	report spread.Report
	hard   bool
}

// Skews returns the spread constraints of a pod in a cluster, those with DoNotSchedule first. The default constraints of a profile
// are left out. The error is that of a constraint that the API server would refuse.
func Skews(pod *v1.Pod, c spread.Cluster) ([]Skew, error) {
	hard, err := spread.CompileHard(pod, spread.Options{})
	if err != nil {
		return nil, err
	}
	soft, err := spread.CompileSoft(pod, spread.Options{})
	if err != nil {
		return nil, err
	}
	var out []Skew
	for _, r := range hard.Count(c).Report() {
		out = append(out, Skew{r, true})
	}
	for _, r := range soft.Report(c) {
		out = append(out, Skew{r, false})
	}
	return out, nil
}

// MarshalJSON writes the constraint in words, and its domains with their pods.
func (s Skew) MarshalJSON() ([]byte, error) {
	type domain struct {
		Value string `json:"value"`
		Pods  int    `json:"pods"`
		Nodes int    `json:"nodes"`
		Over  bool   `json:"over"` // one more pod there would break the constraint
	}
	r := s.report
	name := "ScheduleAnyway"
	if s.hard {
		name = "DoNotSchedule"
	}
	domains := []domain{}
	for _, d := range r.Domains {
		domains = append(domains, domain{d.Value, d.Pods, d.Nodes, d.Room == 0})
	}
	minimum := fmt.Sprintf("the minimum is %d", r.Minimum)
	if r.TooFew {
		minimum = fmt.Sprintf("the minimum counts as %d, because there are fewer than minDomains %d", r.Minimum, r.MinDomains)
	}
	return json.Marshal(struct {
		Title   string   `json:"title"`
		Text    string   `json:"text"`
		Key     string   `json:"key"`
		Domains []domain `json:"domains"`
	}{
		fmt.Sprintf("%s over %s, maxSkew %d", name, r.Key, r.MaxSkew),
		strings.TrimSpace(fmt.Sprintf("Counts pods with %s; %s. %s", r.Selector, minimum, left(len(r.Excluded)))), r.Key, domains,
	})
}

func left(nodes int) string {
	switch nodes {
	case 0:
		return ""
	case 1:
		return "1 node does not count."
	}
	return fmt.Sprintf("%d nodes do not count.", nodes)
}
