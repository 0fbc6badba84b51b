package place

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/report"
)

// write prints the answer in the form asked for. took is how long the run lasted on the clock. The time is printed on a
// terminal only, so that equal input gives equal bytes elsewhere.
func write(out *bytes.Buffer, a answer, o options, took time.Duration) {
	out.Write(must.Get(report.Render(o.Output, a, func(b *strings.Builder) {
		header, rows := finals(a.Pods)
		layout := o.Tables.Layout
		if o.Output == wide {
			header, rows = attempts(a.Attempts)
			layout.Width = 0
		}
		table, cut := layout.Columns(header, rows)
		b.WriteString(table)
		if len(a.Groups) > 0 {
			table, more := groupText(a.Groups, a.Composites, layout)
			b.WriteString(table)
			cut = cut || more
		}
		if layout.NoHeaders {
			return
		}
		report.Textf(b, "\n%s", a.Summary)
		if o.Tables.Layout.Width > 0 {
			report.Textf(b, ", in %v", took.Round(time.Millisecond))
		}
		if cut {
			b.WriteString("; -o wide has the whole messages")
		}
		b.WriteString("\n")
		if pod := firstWaiting(a.Pods); pod != "" && o.Tables.Layout.Width > 0 {
			report.Textf(b, "The command \"why %s\" says what would let the first of those that wait run.\n", pod)
		}
	})))
}

// firstWaiting returns the first pod that waits, "" for none.
func firstWaiting(pods []podState) string {
	for _, p := range pods {
		if p.Outcome == outcomeUnschedulable || p.Outcome == outcomeGated {
			return p.Pod
		}
	}
	return ""
}

// writeData prints v as JSON or YAML.
func writeData(out *bytes.Buffer, v any, form string) { out.Write(must.Get(report.Data(form, v))) }

// attempts returns the wide table: a row for each attempt.
func attempts(entries []entry) (header []string, rows [][]string) {
	for _, e := range entries {
		rows = append(rows, []string{
			e.Namespace, e.Name, fmt.Sprint(e.Priority), fmt.Sprint(e.Attempt), e.At, e.Outcome, orNone(e.Node),
			fmt.Sprint(e.evaluated), fmt.Sprint(e.feasible), fmt.Sprint(e.total), orNone(e.NominatedNode), orNone(strings.Join(e.Victims, ",")), e.Message,
		})
	}
	return []string{"NAMESPACE", "NAME", "PRIORITY", "ATTEMPT", "AT", "OUTCOME", "NODE", "EVALUATED", "FEASIBLE", "SCORE", "NOMINATED NODE", "VICTIMS", "MESSAGE"}, rows
}

// finals returns the table of pods: a row for each pod, or for all pods of a controller that failed in the same way. The
// columns of nominations and victims are there only when a pod has some.
func finals(pods []podState) (header []string, rows [][]string) {
	groups, nominated, victims := grouped(pods), false, false
	for _, p := range pods {
		nominated, victims = nominated || p.NominatedNode != "", victims || len(p.Victims) > 0
	}
	header = []string{"NAMESPACE", "NAME", "PRIORITY", "OUTCOME", "NODE"}
	if nominated {
		header = append(header, "NOMINATED NODE")
	}
	if victims {
		header = append(header, "VICTIMS")
	}
	for _, g := range groups {
		name := g.Name
		if g.count > 1 {
			name = fmt.Sprintf("%d pods like %s", g.count, name)
		}
		row := []string{g.Namespace, name, fmt.Sprint(g.Priority), g.Outcome, orNone(g.Node)}
		if nominated {
			row = append(row, orNone(g.NominatedNode))
		}
		if victims {
			row = append(row, orNone(firstNames(g.Victims)))
		}
		message := cmp.Or(g.cause, g.Message)
		if g.PreemptedBy != "" {
			message = "preempted by " + g.PreemptedBy
		}
		rows = append(rows, append(row, message))
	}
	return append(header, "MESSAGE"), rows
}

// group is a row of the table: one pod, or count pods that are alike.
type group struct {
	podState
	count int
}

// grouped returns the pods in their order. Pods that are alike are one group, at the place of the first. Pods are alike when
// they have no node, no nomination and no victims, and have equal namespaces, controllers, priorities, outcomes and messages.
func grouped(pods []podState) []group {
	var out []group
	at := map[alike]int{}
	for _, p := range pods {
		if p.Node == "" && p.NominatedNode == "" && len(p.Victims) == 0 {
			k := p.kind()
			if i, ok := at[k]; ok {
				out[i].count += 1 + p.More
				continue
			}
			at[k] = len(out)
		}
		out = append(out, group{p, 1 + p.More})
	}
	return out
}

// firstNames returns the first two names and how many more there are.
func firstNames(names []string) string {
	const most = 2
	if len(names) <= most {
		return strings.Join(names, ",")
	}
	return fmt.Sprintf("%s +%d more", strings.Join(names[:most], ","), len(names)-most)
}

func orNone(s string) string { return cmp.Or(s, "<none>") }
