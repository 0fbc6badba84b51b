package failures

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// table writes the scenarios, worst first, why pods stay, which budgets and workloads are below, and the headroom.
func (a *failureReport) table(out *strings.Builder, t program.Tables) {
	if !t.Layout.NoHeaders {
		a.saysBefore(out, t.Layout)
		out.WriteString(t.Layout.Text("", a.verdict()))
		for _, x := range a.Alerts {
			fires := "is silent"
			if x.Fires {
				fires = "fires"
			}
			report.Textf(out, "alert on %s %s: requests %s, nodes without the largest %s\n", x.Resource, fires, report.Short(x.Requested), report.Short(x.Rest))
		}
		out.WriteString(t.Layout.Nodes.Note())
	}
	header, rows := []string{"SCENARIO", "LOST", "BACK", "PENDING", "DISPLACED", "GONE", "CPU LEFT", "MEMORY LEFT"}, [][]string(nil)
	harmless := 0
	for _, s := range a.Scenarios {
		if s.Pending+s.Waiting+s.Displaced == 0 && len(a.Scenarios) > fewScenarios {
			harmless++
			continue
		}
		pending := fmt.Sprint(s.Pending + s.Waiting)
		if s.Bounds != nil && s.Bounds.Fewest != s.Bounds.Most {
			pending += fmt.Sprintf(" (%d to %d)", s.Bounds.Fewest, s.Bounds.Most)
		}
		rows = append(rows, []string{
			t.Layout.Nodes.Of(s.Name), fmt.Sprint(s.Lost), fmt.Sprint(s.Placed), pending, fmt.Sprint(s.Displaced), fmt.Sprint(s.Gone), s.free("cpu"), s.free("memory"),
		})
	}
	t.Layout.Section(out, "", header, rows)
	if harmless > 0 {
		report.Textf(out, "%s, in which no pod stays pending or is displaced\n", report.Count(harmless, "more scenario"))
	}
	t.Layout.Section(out, "Pending", []string{"WORKLOAD", "PODS", "IN", "CAUSE", "REASON"}, a.reasons())
	t.Layout.Section(out, "Budgets below their minimum", []string{"SCENARIO", "BUDGET", "MINIMUM", "BEFORE", "RIGHT AFTER", "IN THE END"}, a.budgets())
	t.Layout.Section(out, "StatefulSets without a majority", []string{"SCENARIO", "STATEFULSET", "REPLICAS", "RIGHT AFTER", "IN THE END"}, a.quorums())
	if a.Headroom != nil {
		out.WriteString("\n")
		a.Headroom.table(out)
		var rows [][]string
		for _, r := range a.Headroom.Remedies {
			does := "every single node may fail"
			if !r.Holds {
				does = fmt.Sprintf("%s still leaves %d pending", r.Worst, r.Stays)
			}
			rows = append(rows, []string{r.Text, does})
		}
		t.Layout.Section(out, "Remedies", []string{"CHANGE", "THEN"}, rows)
	}
}

// end says what was not played.
func (a *failureReport) end() string {
	text := report.NotTried(a.Summary.Untried, "scenario")
	if a.Headroom != nil {
		text += report.NotTried(a.Headroom.Untried, "change")
	}
	return text
}

// verdict says how many scenarios leave pods pending, and what the worst does.
func (a *failureReport) verdict() string {
	s := &a.Summary
	more := ""
	if len(a.Before) > 0 {
		more = "more "
	}
	text := report.Count(s.Scenarios, "scenario")
	switch s.Failing {
	case 0:
		return fmt.Sprintf("%s, none leaves %spods pending", text, more)
	case 1:
		text += fmt.Sprintf(", 1 leaves %spods pending", more)
	default:
		text += fmt.Sprintf(", %d leave %spods pending", s.Failing, more)
	}
	return fmt.Sprintf("%s; the worst is %s: %s", text, s.Worst, stay(s.Pending))
}

// fewScenarios is up to how many scenarios the table shows each of them.
const fewScenarios = 30

func (s *scenario) free(resource string) string {
	for _, x := range s.Left {
		if string(x.Resource) == resource {
			return report.Short(x.Free)
		}
	}
	return "-"
}

// reasons returns a row for each workload and cause, in the order of the worst scenarios. The sentence is that of the first scenario.
func (a *failureReport) reasons() (rows [][]string) {
	type key struct{ workload, cause, reason string }
	most, in, first, why := map[key]int{}, map[key]int{}, map[key]string{}, map[key]string{}
	var order []key
	for _, s := range a.Scenarios {
		for _, g := range s.Groups {
			k := key{g.Workload, string(g.Cause), g.Reason}
			if g.Why != nil {
				k.cause, k.reason = g.Why.Type, ""
			}
			if in[k] == 0 {
				order, first[k], why[k] = append(order, k), s.Name, reason(&g)
			}
			in[k]++
			most[k] = max(most[k], len(g.Pods))
		}
	}
	for _, k := range order {
		where := first[k]
		if in[k] > 1 {
			where += fmt.Sprintf(" and %d more", in[k]-1)
		}
		rows = append(rows, []string{k.workload, fmt.Sprint(most[k]), where, k.cause, why[k]})
	}
	return rows
}

// reason says why the first pod of a group waits.
func reason(g *failures.Group) string {
	if g.Why != nil {
		return g.Why.Text
	}
	return g.Reason
}

func (a *failureReport) budgets() (rows [][]string) {
	for _, s := range a.Scenarios {
		for _, b := range s.Budgets {
			rows = append(rows, []string{s.Name, b.Name, fmt.Sprint(b.Minimum), fmt.Sprint(b.Before), fmt.Sprint(b.Lost), fmt.Sprint(b.After)})
		}
	}
	return rows
}

func (a *failureReport) quorums() (rows [][]string) {
	for _, s := range a.Scenarios {
		for _, w := range s.Workloads {
			if w.BelowQuorum {
				rows = append(rows, []string{s.Name, w.Namespace + "/" + w.Name, fmt.Sprint(w.Replicas), fmt.Sprint(w.Lost), fmt.Sprint(w.After)})
			}
		}
	}
	return rows
}

func (h *headroom) table(out *strings.Builder) {
	text := "Headroom: not any node may fail"
	if h.Survives > 0 {
		text = "Headroom: any node may fail"
		if h.Survives > 1 {
			text = fmt.Sprintf("Headroom: any %d nodes may fail", h.Survives)
		}
	}
	switch {
	case len(h.Found) > 0:
		text += fmt.Sprintf("; without %s %s", strings.Join(h.Found, ", "), stay(h.Pending))
		if !h.Exact {
			text += " (a smaller set may do so, too)"
		}
	case h.Limited:
		text += fmt.Sprintf("; no larger set was found to leave pods pending within %s", report.Count(h.Played, "scenario"))
	}
	report.Textf(out, "%s\n", text)
	if h.Binding != nil {
		report.Textf(out, "Binding: %s: %s\n", h.Binding.Workload, reason(h.Binding))
	}
}

// stay returns "1 pod stays pending", "2 pods stay pending".
func stay(n int) string {
	if n == 1 {
		return "1 pod stays pending"
	}
	return report.Count(n, "pod") + " stay pending"
}
