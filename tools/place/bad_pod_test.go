package place

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

// attemptsOf returns what -o json prints.
func attemptsOf(t *testing.T, out string) []entry {
	t.Helper()
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	return have.Attempts
}

// badPods are pods that the API server or a plugin cannot take, beside a pod that can be placed.
const (
	noClass     = "{apiVersion: v1, kind: Pod, metadata: {name: no-class}, spec: {priorityClassName: gold, containers: [{name: c}]}}"
	badAffinity = "{apiVersion: v1, kind: Pod, metadata: {name: bad-affinity}, spec: {priority: 0, affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: Nope, values: [ssd]}]}}]}}, containers: [{name: c}]}}"
	noScores    = `running PreScore plugin "NodeAffinity": [0].matchExpressions[0].operator: Unsupported value: "Nope": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`
	goodPod     = "{apiVersion: v1, kind: Pod, metadata: {name: good}, spec: {priority: 0, containers: [{name: c}]}}"
)

// Each bad pod has an outcome with its text, all others have their answer.
func TestOneBadPodNeverEndsARun(t *testing.T) {
	two := documents(oneNode, strings.Replace(oneNode, "n1", "n2", 1), noClass, badAffinity, goodPod)
	want := map[string]string{
		"default/no-class":     `Refused pods "no-class" is forbidden: no PriorityClass with name gold was found`,
		"default/bad-affinity": "Error " + noScores,
		"default/good":         "Scheduled ",
	}
	for _, args := range [][]string{nil, {"-detail"}, {"-admit"}} {
		code, out, errs := simulate(t, two, append([]string{"-f", "-", "-o", "json"}, args...)...)
		require.Zero(t, code, errs)
		have := map[string]string{}
		for _, e := range attemptsOf(t, out) {
			have[e.Pod] = e.Outcome + " " + e.Message
		}
		if len(args) > 0 && args[0] == "-admit" {
			require.Equal(t, want["default/no-class"], have["default/no-class"])
			require.Equal(t, want["default/good"], have["default/good"])
			continue
		}
		require.Equal(t, want, have, "%v", args)
	}
}

// -fail-errors asks for exit code 1 when a pod was refused or failed.
func TestFailErrors(t *testing.T) {
	two := oneNode + "---\n" + strings.Replace(oneNode, "n1", "n2", 1) + "---\n"
	type test struct {
		name, why, input string
		code             int
	}
	testkit.Run(t, []test{
		{"refused", "the priority class is missing", documents(two, noClass, goodPod), program.No},
		{"error", "a plugin fails", documents(two, badAffinity, goodPod), program.No},
		{"good", "every pod has an answer", documents(two, goodPod), program.OK},
		{"unschedulable", "no node is an answer too", goodPod, program.OK},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, c.input, "-f", "-", "-fail-errors")
		require.Equal(t, c.code, code, "%s: %s", c.why, errs)
		require.NotEmpty(t, out, "the answers are printed all the same")
		code, _, errs = simulate(t, c.input, "-f", "-")
		require.Zero(t, code, errs)
	})
}

// A pod with one feasible node is placed without scores, as v1.36 does. -detail says why there are none.
func TestDetailWithoutScores(t *testing.T) {
	code, out, errs := simulate(t, documents(oneNode, badAffinity), "-f", "-", "-o", "json", "-detail")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "warning: pod default/bad-affinity: -detail has no scores: "+noScores+"\n")
	list := attemptsOf(t, out)
	require.Equal(t, []string{"bad-affinity Scheduled n1 - -"}, outcomes(list))
	require.Len(t, list[0].Nodes, 1)
}

// A refused pod can be explained.
func TestExplainRefused(t *testing.T) {
	code, out, errs := simulate(t, documents(oneNode, noClass), "-f", "-", "-explain", "default/no-class")
	require.Zero(t, code, errs)
	require.Equal(t, "Pod default/no-class is refused: there is no PriorityClass gold.\nThe API server says: pods \"no-class\" is forbidden: no PriorityClass with name gold was found\n", out)
}

// A pod of the timeline that the API server refuses does not end the run, nor does a name that is taken.
func TestRefusedEvents(t *testing.T) {
	log := t.TempDir() + "/log"
	code, out, errs := withTimeline(t, documents(oneNode, onePod), "- {at: 1, add: "+noClass+"}\n- {at: 2, add: "+strings.Replace(goodPod, "good", "p", 1)+"}\n- {at: 3, add: "+goodPod+"}\n", "-o", "json", "-log", log)
	require.Zero(t, code, errs)
	require.Equal(t, []string{"p Scheduled n1 - -", "no-class Refused - - -", "good Scheduled n1 - -"}, outcomes(attemptsOf(t, out)))
	require.Contains(t, errs, `event 2: add: refused: pods "p" already exists`)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Contains(t, string(text), `1.000s default/no-class: attempt: Refused: pods "no-class" is forbidden: no PriorityClass with name gold was found`)
	require.Contains(t, string(text), `2.000s Pod default/p refused: pods "p" already exists`)
	code, _, _ = withTimeline(t, documents(oneNode, onePod), "- {at: 2, add: "+strings.Replace(goodPod, "good", "p", 1)+"}\n", "-fail-errors")
	require.Equal(t, program.No, code)
}
