package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/diagnose"
)

// The overview begins with the reason for which most pods wait, and with errors before warnings, those of most objects first.
func TestOrderOfTheOverview(t *testing.T) {
	var d decided
	for _, p := range [][3]string{{"a/one", "Unschedulable", "few"}, {"a/two", "Unschedulable", "many"}, {"a/three", "Unschedulable", "many"}, {"a/four", "Scheduled", ""}} {
		d.Pods = append(d.Pods, struct{ Pod, Outcome, Node, Message string }{p[0], p[1], map[bool]string{true: "n1"}[p[2] == ""], p[2]})
	}
	a := &overviewAnswer{}
	a.place(d)
	require.Equal(t, 3, a.Stay)
	require.Equal(t, []string{"many", "few"}, []string{a.Pending[0].Reason, a.Pending[1].Reason})
	require.Equal(t, []string{"a/two", "a/three"}, a.Pending[0].Examples)

	d.Pods = d.Pods[:0]
	for _, name := range []string{"web-0", "db-1"} {
		d.Pods = append(d.Pods, struct{ Pod, Outcome, Node, Message string }{"a/" + name, "Refused", "", `pods "` + name + `" is forbidden`})
	}
	a = &overviewAnswer{}
	a.place(d)
	require.Equal(t, []stay{{Pods: 2, Outcome: "Refused", Reason: `pods "POD" is forbidden`, Examples: []string{"a/web-0", "a/db-1"}}}, a.Pending, "the names of pods are no reasons")

	var l linted
	for _, f := range [][3]string{{"rare", "warning", "x"}, {"often", "warning", "x"}, {"often", "warning", "y"}, {"wrong", "error", "x"}, {"told", "info", "x"}} {
		l.Findings = append(l.Findings, struct{ Rule, Severity, Object, Explanation, Fix string }{Rule: f[0], Severity: f[1], Object: f[2]})
	}
	a.lint(l)
	var rules []string
	for _, f := range a.Findings {
		rules = append(rules, f.Rule)
	}
	require.Equal(t, []string{"wrong", "often", "rare"}, rules)
}

// A change that only the owner of the nodes may allow comes alone, with its rule and without edits.
func TestFixesToAskFor(t *testing.T) {
	require.Equal(t, []fix{{Text: "remove the taint", Changes: []diagnose.Change{}, Consequences: []string{"the taint is there for a reason"}, Risk: riskAsk}},
		fixesOf(nil, []diagnose.Dropped{{Change: "lose data"}, {Change: "remove the taint", Rule: "the taint is there for a reason", Ask: true}}, nil))
}

// The proposals of a drain follow the order of the blocked pods. A proposal that loses pods comes last. There is no proposal when all of them lose pods.
func TestOrderOfProposals(t *testing.T) {
	proposed := func(remedies ...string) (out []string) {
		a := &drainAnswer{}
		for _, r := range remedies {
			a.Blocked = append(a.Blocked, blockGroup{Remedy: r, Pods: 1})
		}
		a.propose(false)
		for _, f := range a.Fixes {
			out = append(out, f.Text)
		}
		return out
	}
	require.Equal(t, []string{"b", "a", "--force x", "--force c"}, proposed("--force x", "b", "--force c", "a"))
	require.Empty(t, proposed("--force x"))
	require.Equal(t, []string{"b", "a"}, proposed("b", "", "a"))
}
