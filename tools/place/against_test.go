package place

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

const most = "testdata/most-allocated.yaml"

// What another scoring strategy changes in the shipped cluster, and the page about it.
func TestAgainst(t *testing.T) {
	for file, args := range map[string][]string{
		"testdata/against.txt":  {"-f", shop, "-against", most},
		"testdata/against.json": {"-f", shop, "-against", most, "-o", "json", "-n", "shop"},
	} {
		code, out, errs := simulate(t, "", args...)
		require.Zero(t, code, errs)
		testkit.Golden(t, file, out)
		_, again, _ := simulate(t, "", args...)
		require.Equal(t, out, again, "same input, same bytes")
	}
	code, out, errs := simulate(t, "", "-f", shop, "-against", most, "-o", "html")
	require.Zero(t, code, errs)
	testkit.GoldenPage(t, "testdata/against_page.txt", out)
}

// Both runs are those of place with each configuration alone: every pod that is not listed ends in the same way.
func TestAgainstAgreesWithEach(t *testing.T) {
	ends := func(args ...string) map[string]ending {
		code, out, errs := simulate(t, "", append([]string{"-f", shop, "-o", "json"}, args...)...)
		require.Zero(t, code, errs)
		var a answer
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		of := map[string]ending{}
		for _, p := range a.Pods {
			of[p.Pod] = ending{Outcome: p.Outcome, Node: p.Node, PreemptedBy: p.PreemptedBy}
		}
		return of
	}
	a, b := ends(), ends("-config", most)
	code, out, errs := simulate(t, "", "-f", shop, "-o", "json", "-against", most)
	require.Zero(t, code, errs)
	var c comparison
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	listed := map[string]bool{}
	for _, m := range c.Pods {
		require.NotEqual(t, a[m.Pod], b[m.Pod], m.Pod)
		listed[m.Pod] = true
		m.A.Message, m.B.Message = "", ""
		require.Equal(t, []ending{a[m.Pod], b[m.Pod]}, []ending{m.A, m.B})
	}
	for name := range a {
		require.Equal(t, a[name] == b[name], !listed[name], name)
	}
	require.Len(t, c.Pods, c.Summary.OtherNode+c.Summary.OnlyA+c.Summary.OnlyB+c.Summary.Other)
	require.NotZero(t, c.Summary.OtherNode)
}

// Victims of one configuration run in the other, and the pod of high priority waits there. Standard input is read once for both.
func TestAgainstVictims(t *testing.T) {
	off := configFile(t, configHead+"profiles:\n- plugins: {postFilter: {disabled: [{name: '*'}]}}\n")
	input := documents(oneNode, `
{apiVersion: v1, kind: Pod, metadata: {name: small, uid: small}, spec: {nodeName: n1, priority: 0, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: urgent, uid: urgent}, spec: {priority: 10, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}}
`)
	code, out, errs := simulate(t, input, "-f", "-", "-against", off, "-o", "json")
	require.Zero(t, code, errs)
	var c comparison
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	require.Equal(t, differences{OnlyA: 1, OnlyB: 1}, c.Summary)
	require.Equal(t, []int{1, 0}, []int{c.Configurations[0].Summary.Victims, c.Configurations[1].Summary.Victims})
	require.Equal(t, ending{Outcome: outcomePreempted, PreemptedBy: "default/urgent"}, c.Pods[0].A)
	require.Equal(t, ending{Outcome: outcomeRuns, Node: "n1"}, c.Pods[0].B)
	require.Equal(t, "n1", c.Pods[1].A.Node)
	require.Equal(t, outcomeUnschedulable, c.Pods[1].B.Outcome)
	code, _, _ = simulate(t, input, "-f", "-", "-against", off, "-fail-unschedulable")
	require.Equal(t, program.No, code, "the answer is that of the second configuration")
}

// A configuration does not differ from itself.
func TestAgainstItself(t *testing.T) {
	code, out, errs := simulate(t, "", "-f", shop, "-config", most, "-against", most)
	require.Zero(t, code, errs)
	require.Contains(t, out, "No difference: 82 pods the same with both configurations.\n")
}

// Nodes in use cost what their labels say.
func TestAgainstPrices(t *testing.T) {
	priced := func(price string) string {
		return `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {price: "` + price + `"}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {price: "0.5"}}, status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p}, spec: {containers: [{name: c, resources: {requests: {cpu: "1", memory: 2Gi}}}]}}
`
	}
	code, out, errs := simulate(t, priced("0.096"), "-f", "-", "-against", most, "-price-label", "price", "-o", "json")
	require.Zero(t, code, errs)
	var c comparison
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	require.Equal(t, []string{"0.5", "0.096"}, []string{c.Configurations[0].Cost, c.Configurations[1].Cost})
	require.Equal(t, []int{1, 1}, []int{c.Configurations[0].NodesInUse, c.Configurations[0].EmptyNodes})
	code, out, errs = simulate(t, priced("cheap"), "-f", "-", "-against", most, "-price-label", "price")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "place: node n1: metadata.labels[price]: Invalid value: \"cheap\": must be a number from 0 to 1000000000 with at most six decimals\n")
}

// Bad input is one clear line, and nothing is printed.
func TestAgainstBadInput(t *testing.T) {
	type test struct {
		name, why string
		args      []string
		want      string
	}
	broken := configFile(t, configHead+"profiles:\n- pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]\n")
	testkit.Run(t, []test{
		{"no file", "the flag is named", []string{"-against", "testdata/gone.yaml"}, "place: -against: open testdata/gone.yaml: "},
		{"no file of the first", "the other flag is named", []string{"-config", "testdata/gone.yaml", "-against", most}, "place: -config: open testdata/gone.yaml: "},
		{"no name", "it is no question then", []string{"-against", ""}, "place: -against: Invalid value: \"\": must name a file"},
		{"a bad strategy", "the file and the field are named", []string{"-against", broken}, broken},
		{"packing", "two questions", []string{"-against", most, "-pack"}, "place: -pack: Forbidden: does nothing with -against"},
		{"one pod", "two questions", []string{"-against", most, "-explain", "a/b"}, "place: -explain: Forbidden: does nothing with -against"},
		{"wide", "there is no wide form", []string{"-against", most, "-o", "wide"}, "place: -o: Unsupported value: \"wide\": does nothing with -against"},
		{"a price alone", "nothing has a cost", []string{"-price-label", "p"}, "place: -price-label: Invalid value: \"p\": goes with -against"},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, "", append([]string{"-f", shop}, c.args...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want, c.why)
	})
	_, err := os.Stat("testdata/gone.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}
