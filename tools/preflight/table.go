package preflight

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// String is the answer in one sentence.
func (a *preflight) String() string {
	verdict := "not now"
	if a.OK {
		verdict = "ready"
	}
	s := &a.Summary
	text := fmt.Sprintf("%s -> %s: %s; %d of %s can be drained one after the other in %s", a.From, a.To, verdict, s.Nodes-s.Blocked, report.Count(s.Nodes, "node"), s.Total)
	add := func(n int, noun, rest string) {
		if n > 0 {
			text += fmt.Sprintf("; %s %s", report.Count(n, noun), rest)
		}
	}
	if s.Hanging > 0 {
		text += fmt.Sprintf("; %d of %s would hang for ever", s.Hanging, report.Count(s.Pods, "pod"))
	}
	if s.Homeless > 0 {
		text += fmt.Sprintf("; %d would get no new node", s.Homeless)
	}
	add(len(a.Budgets), "budget", "in the way: "+report.Few(a.Budgets))
	add(len(a.Waiting), "pod", "without a node: "+report.Few(a.Waiting))
	add(len(a.Pods), "pod", "decided otherwise by "+a.To)
	add(len(a.Grouped), "pod", "of groups not compared: podberth follows the rules of v1.37 alone there")
	add(a.Unasked, "pod", "left out by --time")
	add(len(a.Fields), "field", "refused by "+a.To)
	add(len(a.Kubelets), "kubelet", fmt.Sprintf("more than %d minor versions older than %s: %s", oldestKubelet, a.To, report.Few(a.Kubelets)))
	return text
}

// table writes the answer in a sentence, then what blocks nodes, with what helps, and what the new version changes.
func (a *preflight) table(out *strings.Builder, t *program.Tables) {
	l := t.Layout
	if !l.NoHeaders {
		out.WriteString(l.Text("", a.String()) + l.Nodes.Note())
	}
	for k, b := range a.Blocked {
		if !t.Shows(namespaceOf(b.Pods[0])) {
			continue
		}
		if k == 0 {
			out.WriteString("\nBlocked\n")
		}
		out.WriteString(l.Text("", fmt.Sprintf("%s on %s (%s)", joined(b.Pods), joined(l.Nodes.All(b.Nodes)), b.Kind)))
		out.WriteString(l.Text("  cause: ", b.Why))
		out.WriteString(l.Text("  helps: ", b.helps()))
	}
	var rows [][]string
	for _, list := range [][]changed{a.Pods, a.Fields} {
		for _, c := range list {
			if t.Shows(namespaceOf(c.Name)) || !strings.Contains(c.Name, "/") {
				rows = append(rows, []string{c.Name, c.Was, c.Is})
			}
		}
	}
	l.Section(out, "Changes with "+a.To, []string{"WHAT", a.From, a.To}, rows)
}

// helps is what helps as text. --force is no remedy: nobody makes the pod again.
func (b *blocked) helps() string {
	if b.Helps == "" && strings.Contains(b.Why, "--force") {
		return "nothing that keeps the pod: --force deletes it, and nobody makes it again"
	}
	return cmp.Or(b.Helps, "nothing that was tried")
}

func namespaceOf(pod string) string {
	namespace, _, _ := strings.Cut(pod, "/")
	return namespace
}

func joined(names []string) string { return strings.ReplaceAll(report.Few(names), ",", ", ") }
