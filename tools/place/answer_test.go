package place

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// crowd has one node of two CPUs with a pod of low priority, a pod that preempts it, and four pods of a Job that never fit.
func crowd() string {
	input := nodeYAML("n1", "2", "") + podYAML("low", "n1", 0, "2", "") + podYAML("high", "", 10, "2", "")
	for k := range 4 {
		input += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {namespace: batch, name: x-%d, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: x, uid: u, controller: true}]}, "+
			"spec: {priority: 0, containers: [{name: c, resources: {requests: {cpu: '9'}}}]}}\n", k)
	}
	return input
}

// answered runs the simulation and returns what -o json prints.
func answered(t *testing.T, input string, args ...string) (a answer) {
	t.Helper()
	code, out, errs := simulate(t, input, append([]string{"-f", "-", "-o", "json"}, args...)...)
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	return a
}

// JSON has one entry for each pod with its last state, in input order, and the history of attempts beside it.
func TestOneFinalEntryAPod(t *testing.T) {
	a := answered(t, crowd())
	var got []string
	for _, p := range a.Pods {
		got = append(got, fmt.Sprintf("%s/%s %s %s %v %d", p.Namespace, p.Name, p.Outcome, p.Node, p.Victims, p.Attempts))
	}
	require.Equal(t, []string{
		"default/high Scheduled n1 [default/low] 2",
		"batch/x-0 Unschedulable  [] 1", "batch/x-1 Unschedulable  [] 1", "batch/x-2 Unschedulable  [] 1", "batch/x-3 Unschedulable  [] 1",
	}, got)
	require.Equal(t, summary{Scheduled: 1, Unschedulable: 4, Victims: 1}, a.Summary)
	require.Equal(t, "podberth.io/v1alpha1 Simulation", a.APIVersion+" "+a.Kind)
}

// A pod that got a node and then gave way is neither scheduled nor waiting.
func TestPreemptedIsAFinalState(t *testing.T) {
	code, out, errs := withTimeline(t, nodeYAML("n1", "2", "")+podYAML("low", "", 0, "2", ""),
		"- {at: 10s, add: {apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priority: 9, containers: [{name: c, resources: {requests: {cpu: '2'}}}]}}}\n")
	require.Zero(t, code, errs)
	require.Equal(t, `NAMESPACE   NAME   PRIORITY   OUTCOME     NODE   VICTIMS       MESSAGE
default     low    0          Preempted   n1     <none>        preempted by default/high
default     high   9          Scheduled   n1     default/low

1 scheduled, 0 unschedulable, 0 gated, 1 victim
`, out)
}

// Every attempt has its number and its virtual time, in JSON and in the wide table.
func TestAttemptsHaveNumberAndTime(t *testing.T) {
	a := answered(t, crowd(), "-grace")
	var got []string
	for _, e := range a.Attempts {
		if e.Name == "high" {
			got = append(got, fmt.Sprint(e.Attempt, " ", e.At, " ", e.Outcome))
		}
	}
	require.Equal(t, []string{"1 0s Unschedulable", "2 30s Scheduled"}, got)
	code, out, errs := simulate(t, crowd(), "-f", "-", "-o", "wide", "-grace")
	require.Zero(t, code, errs)
	require.Regexp(t, `(?m)^NAMESPACE +NAME +PRIORITY +ATTEMPT +AT +OUTCOME`, out)
	require.Regexp(t, `(?m)^default +high +10 +2 +30s +Scheduled`, out)
}

// The default table shows nominations and victims, equal failures in one row, and the summary.
func TestTableOfFinalStates(t *testing.T) {
	code, out, errs := simulate(t, crowd(), "-f", "-")
	require.Zero(t, code, errs)
	require.Equal(t, `NAMESPACE   NAME              PRIORITY   OUTCOME         NODE     VICTIMS       MESSAGE
default     high              10         Scheduled       n1       default/low
batch       4 pods like x-0   0          Unschedulable   <none>   <none>        0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.

1 scheduled, 4 unschedulable, 0 gated, 1 victim
`, out)
	header, rows := finals([]podState{{Namespace: "a", Name: "p", Outcome: outcomeUnschedulable, NominatedNode: "n7", Victims: []string{"a/x", "a/y", "a/z"}}})
	require.Equal(t, []string{"NAMESPACE", "NAME", "PRIORITY", "OUTCOME", "NODE", "NOMINATED NODE", "VICTIMS", "MESSAGE"}, header)
	require.Equal(t, [][]string{{"a", "p", "0", "Unschedulable", "<none>", "n7", "a/x,a/y +1 more", ""}}, rows)
}

// Pods of different controllers, priorities or messages are not alike.
func TestGroupsAreAlike(t *testing.T) {
	p := podState{Namespace: "a", Name: "p", Outcome: outcomeUnschedulable, Message: "m", owner: "Job/x"}
	for name, change := range map[string]func(*podState){
		"namespace":  func(q *podState) { q.Namespace = "b" },
		"controller": func(q *podState) { q.owner = "Job/y" },
		"outcome":    func(q *podState) { q.Outcome = outcomeGated },
		"message":    func(q *podState) { q.Message = "n" },
		"priority":   func(q *podState) { q.Priority = 1 },
		"node":       func(q *podState) { q.Node = "n1" },
		"nomination": func(q *podState) { q.NominatedNode = "n1" },
	} {
		q := p
		change(&q)
		require.Len(t, grouped([]podState{p, q}), 2, name)
	}
	require.Len(t, grouped([]podState{p, p}), 1)
}

// screen is a terminal of a width.
type screen struct {
	bytes.Buffer
	width int
}

func (s *screen) Width() int { return s.width }

// On a terminal the default table keeps to the terminal's width, and the summary has the time. The wide table is never cut.
func TestTerminal(t *testing.T) {
	out := &screen{width: 110}
	require.Zero(t, Run(t.Context(), []string{"-f", "-"}, strings.NewReader(crowd()), out, &bytes.Buffer{}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 110, line)
	}
	require.Equal(t, "batch       4 pods like x-0   0          Unschedulable   <none>   <none>        it asks for cpu 9, and n1 has…", lines[2])
	require.Regexp(t, `^1 scheduled, 4 unschedulable, 0 gated, 1 victim, in [0-9.µm]+s; -o wide has the whole messages$`, lines[4])
	whole := &screen{width: 110}
	require.Zero(t, Run(t.Context(), []string{"-f", "-", "-o", "wide"}, strings.NewReader(crowd()), whole, &bytes.Buffer{}))
	require.Contains(t, whole.String(), "1 Preemption is not helpful for scheduling.")
}
