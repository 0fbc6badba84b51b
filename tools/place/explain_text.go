package place

import (
	"fmt"
	"math"
	"strings"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/tools/report"
)

// mostKept is how many nominated pods the first line names.
const mostKept = 3

// text returns the explanation in words: the answer first, then what the pod asks for, the nodes, and the choice. The brief text of a pod that
// waits is the answer alone.
func (e *explanation) text(brief bool) string {
	if brief && (e.pod != nil || e.State == "Refused") && (e.Cause != nil || e.held || e.Outcome == outcomeError) {
		return e.firstScreen()
	}
	var b strings.Builder
	for _, line := range e.waits {
		report.Textf(&b, "%s\n", line)
	}
	b.WriteString(report.Escape(e.said))
	if n := len(e.Kept); n > 0 {
		report.Textf(&b, " Room is kept for nominated pods: %s", strings.Join(e.Kept[:min(n, mostKept)], ", "))
		if n > mostKept {
			report.Textf(&b, " and %d more", n-mostKept)
		}
		b.WriteString(".")
	}
	b.WriteString("\n")
	if e.pod == nil { // it has ended, or is refused
		e.help(&b)
		return b.String()
	}
	if e.Node == "" || e.State == "OtherScheduler" {
		e.help(&b)
	}
	if e.why != nil && e.State != "Running" {
		report.Textf(&b, "%s\n", decider(*e.why))
	}
	e.wishes(&b)
	for _, a := range e.Allocations {
		report.Textf(&b, "Devices: %s gets %s\n", a.Claim, orNone(strings.Join(a.Devices, ", ")))
	}
	switch p := e.Preemption; {
	case e.Outcome == outcomeError && e.waits == nil:
		report.Textf(&b, "The attempt fails: %s\n", e.Message)
	case p != nil && e.Of > 0:
		b.WriteString(p.text())
	}
	if list := e.Lines(); len(list) > 0 {
		if e.waits != nil {
			b.WriteString("\n") // what stands above is the answer
		}
		b.WriteString("What keeps it off nodes:\n")
		for _, line := range list {
			report.Textf(&b, "%s\n", line)
		}
	}
	if e.Node != "" && e.wish == "" {
		e.help(&b)
	}
	if e.Outlook != nil {
		b.WriteString("\n" + outlookText(e.Outlook))
	}
	b.WriteString("\n" + describePod(e.pod, e.node, e.now))
	if e.scores != nil {
		report.Textf(&b, "\nThere are no scores: %v\n", e.scores)
	}
	for _, n := range e.Nodes {
		explainNode(&b, n, n.Node == e.Node)
	}
	if e.hidden > 0 {
		report.Textf(&b, "\n%d more nodes: -all shows them.\n", e.hidden)
	}
	if e.why != nil {
		report.Textf(&b, "\nWhy %s:\n", e.why.Node)
		b.WriteString(strings.TrimRight(report.Escaped(*e.why).String(), "\n") + "\n")
	}
	if e.Choice != nil {
		b.WriteString(margins(e.Choice))
	}
	return b.String()
}

// help says what would let the pod onto nodes that reject it.
func (e *explanation) help(b *strings.Builder) {
	for _, text := range e.Help {
		report.Textf(b, "Do: %s\n", text)
	}
	if e.tried != "" {
		fmt.Fprintln(b, e.tried)
	}
	for _, text := range e.left {
		report.Textf(b, "%s.\n", text)
	}
	if e.Cause != nil && e.Cause.Not != "" {
		report.Textf(b, "Not: %s\n", e.Cause.Not)
	}
	if e.Cut != "" {
		report.Textf(b, "The search for what would help was cut; not tried: %s; --time and --steps say how long to search.\n", report.Count(e.Untried, "set of change"))
	}
}

// decider says in a sentence what made the difference between the chosen node and the next.
func decider(why score.Explanation) string {
	out := fmt.Sprintf("%s has %d points, %s has %d", why.Node, why.Total, why.RunnerUp, why.RunnerUpTotal)
	if why.Lead == 0 {
		return out + ": they are equally good, and the first in the order of the nodes is taken."
	}
	var most *score.Part
	for k := range why.Parts {
		if p := &why.Parts[k]; p.Weighted > p.RunnerUp && (most == nil || math.Abs(p.Share) > math.Abs(most.Share)) {
			most = p
		}
	}
	if most == nil {
		return out + "."
	}
	return fmt.Sprintf("%s. %s makes the difference: %d points to %d.", out, most.Name, most.Weighted, most.RunnerUp)
}

func explainNode(b *strings.Builder, n placement.NodeReport, here bool) {
	mark := ""
	if here {
		mark = " (here)"
	}
	if n.Feasible() {
		report.Textf(b, "\n%s: can take it, total %d%s\n", n.Node, n.Total, mark)
		for _, s := range n.Scores {
			report.Textf(b, "  %-32s %4d x %d = %d (raw %d)\n", s.Plugin, s.Normalized, s.Weight, s.Weighted, s.Raw)
		}
		return
	}
	report.Textf(b, "\n%s: rejected%s\n", n.Node, mark)
	for _, r := range n.Rejections {
		report.Textf(b, "  %s: %s\n", r.Plugin, strings.Join(r.Reasons, ", "))
		for _, line := range r.Numbers {
			report.Textf(b, "    %s\n", line)
		}
	}
}
