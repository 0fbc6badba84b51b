package place

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
)

// Twenty nodes are shown, and of more nodes their number; with -all every node.
func TestExplainShowsTwentyNodes(t *testing.T) {
	for _, n := range []int{19, 20, 21, 23} {
		var input strings.Builder
		for k := range n {
			input.WriteString(nodeYAML(fmt.Sprintf("n%02d", k), "4", ""))
		}
		input.WriteString(podYAML("p", "", 0, "1", ""))
		for _, all := range []string{"", "-all"} {
			shown := n
			if all == "" {
				shown = min(n, 20)
			}
			code, out, errs := simulate(t, input.String(), strings.Fields("-f - -explain p "+all)...)
			require.Zero(t, code, errs)
			require.Equal(t, shown, strings.Count(out, ": can take it, total"), "%d %s", n, all)
			require.Equal(t, n > shown, strings.Contains(out, fmt.Sprintf("\n%d more nodes: -all shows them.\n", n-shown)), out)
		}
	}
}

const badPreference = "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Gt, values: [x]}]}}]}}"

// A pod whose preferences cannot be read has no scores. On one node it needs none.
func TestExplainWithoutScores(t *testing.T) {
	pod := podYAML("p", "", 0, "1", "", badPreference)
	code, out, errs := simulate(t, nodeYAML("n1", "4", "")+nodeYAML("n2", "4", "")+pod, "-f", "-", "-explain", "p", "-fail-errors")
	require.Equal(t, program.No, code, errs)
	require.Contains(t, out, "waits: every attempt fails: ")
	require.Contains(t, out, "\nThere are no scores: ")
	code, out, errs = simulate(t, nodeYAML("n1", "4", "")+pod, "-f", "-", "-explain", "p", "-fail-errors", "-fail-unschedulable")
	require.Zero(t, code, errs)
	require.Contains(t, out, "Pod default/p goes to n1: 1 of 1 nodes can take it.")
	require.Contains(t, out, "\nThere are no scores: ")
	_, _, errs = simulate(t, nodeYAML("n1", "4", "")+nodeYAML("n2", "4", "")+pod, "-f", "-", "-o", "html")
	require.Contains(t, errs, "warning: pod default/p: the page has no verdict of every plugin: ")
	_, _, errs = simulate(t, nodeYAML("n1", "4", "")+nodeYAML("n2", "4", "")+pod, "-f", "-", "-o", "json", "-detail")
	require.Contains(t, errs, "warning: pod default/p: -detail has no scores: ")
}

// The best other node is compared also when it is the first of the list, and -where names nodes by their labels.
func TestExplainComparesWithTheFirst(t *testing.T) {
	input := nodeYAML("n2", "4", ", zone: b") + nodeYAML("n1", "4", ", zone: a") + podYAML("p", "", 0, "1", "")
	_, out, _ := simulate(t, input, "-f", "-", "-explain", "p", "-o", "json")
	var e explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e), out)
	require.Equal(t, "n2", e.Node)
	require.NotNil(t, e.Choice)
	require.Equal(t, "n1", e.Choice.Other)
	for where, want := range map[string]string{"zone=b": "n2 is a node of zone=b.", "zone=a": "The best node of zone=a is n1: ", "n1": "The best node of n1 is n1: ", "n2": "n2 is a node of n2."} {
		_, out, _ = simulate(t, input, "-f", "-", "-explain", "p", "-where", where)
		require.Contains(t, out, "\n"+want)
	}
	_, out, _ = simulate(t, nodeYAML("n0", "0", ", zone: c")+input, "-f", "-", "-explain", "p", "-where", "zone=c")
	require.Contains(t, out, "\nNo node of zone=c can take it.\n")
}

// Three pods for which room is kept are named, and of more pods their number.
func TestKeptPods(t *testing.T) {
	for n, want := range []string{"", " Room is kept for nominated pods: a.", " Room is kept for nominated pods: a, b.", " Room is kept for nominated pods: a, b, c.", " Room is kept for nominated pods: a, b, c and 1 more.", " Room is kept for nominated pods: a, b, c and 2 more."} {
		e := &explanation{said: "S.", Kept: strings.Split("abcde", "")[:n]}
		require.Equal(t, "S."+want+"\n", e.text(false))
	}
}

// What becomes of victims, and how the two choices of victims differ.
func TestVictimTexts(t *testing.T) {
	for fate, want := range map[optimal.Fate]string{
		optimal.Moves: "p moves to n", optimal.Preempts: "p preempts on n", optimal.Lost: "p is lost, because it has no controller", optimal.Starves: "p starves, because no node takes it",
	} {
		require.Equal(t, want, comeback{"p", string(fate), "n"}.String())
	}
	for _, c := range []struct {
		best, theirs string
		proved       bool
		want         string
	}{
		{"", "", true, ""}, {"n1", "n1", true, "kube-scheduler chooses the same victims."}, {"n1", "", true, "kube-scheduler finds no victims."},
		{"", "n1", false, "The search ended before it found victims."}, {"", "n1", true, "The pod would not fit without the victims that kube-scheduler chooses."},
	} {
		p := &preemptionAnswer{choice: choice{Node: c.best}, Default: &choice{Node: c.theirs}, Optimal: &c.proved}
		best, theirs := preemption.Result{}, preemption.Result{}
		best.Node, theirs.Node = c.best, c.theirs
		require.Equal(t, c.want, p.comparison(nil, best, theirs, metav1.Now().Time), "%+v", c)
	}
}

// A page has verdicts until they are about many nodes, then about two pods of each controller, and never about too many.
func TestRoomForVerdictsOfControllers(t *testing.T) {
	owned := func(name, owner string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}}
		if is := true; owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, Controller: &is}}
		}
		return p
	}
	s := verdicts{of: map[string]*page.Verdict{}, alike: map[string]int{}}
	for k, nodes := range []int{mostVerdicts / 4, mostVerdicts / 4, 1} {
		require.True(t, s.room(owned(fmt.Sprint(k), "a"), nodes), "half of the nodes is no limit")
	}
	require.False(t, s.room(owned("4", "a"), 1))
	require.True(t, s.room(owned("5", "b"), 1))
	require.True(t, s.room(owned("6", "b"), 1))
	require.False(t, s.room(owned("7", "b"), 1))
	require.True(t, s.room(owned("8", ""), 1))
	require.True(t, s.room(owned("9", ""), 1), "each pod without a controller is alone")
	require.Equal(t, mostVerdicts/2+5, s.nodes)
	rest := mostVerdicts - s.nodes
	require.False(t, s.room(owned("10", "c"), rest+1))
	require.True(t, s.room(owned("10", "c"), rest))
	require.False(t, s.room(owned("11", ""), 1))
	s.of["x/11"] = &page.Verdict{}
	require.True(t, s.room(owned("11", ""), 1), "it replaces its verdict")
	require.Equal(t, mostVerdicts, s.nodes)
}

// A page says who gave way to whom.
func TestPageOfVictims(t *testing.T) {
	code, out, errs := simulate(t, nodeYAML("n1", "2", "")+podYAML("low", "n1", 0, "2", "")+podYAML("high", "", 9, "2", ""), "-f", "-", "-o", "html")
	require.Zero(t, code, errs)
	require.Contains(t, out, "Gave way: default/low")
	file := timelineFile(t, "- {at: 10s, add: "+strings.TrimSpace(strings.TrimPrefix(podYAML("high", "", 9, "2", ""), "---\n"))+"}\n")
	code, out, errs = simulate(t, nodeYAML("n1", "2", "")+podYAML("low", "", 0, "2", ""), "-f", "-", "-o", "html", "-timeline", file)
	require.Zero(t, code, errs)
	require.Contains(t, out, `"preempted by default/high"`, "the message of the pod")
}

// What the claims of a pod get is a line for each.
func TestDevicesInWords(t *testing.T) {
	e := &explanation{said: "S.", pod: &v1.Pod{}, Node: "n1", Allocations: []allocation{{Claim: "x/c", Devices: []string{"a", "b"}}, {Claim: "x/d"}}}
	require.Contains(t, e.text(false), "S.\nDevices: x/c gets a, b\nDevices: x/d gets <none>\n")
}

// Pods of added workloads go through admission, even when they have a priority. -map draws the resource that the flag names.
func TestAddedWorkloads(t *testing.T) {
	file := timelineFile(t, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {priority: 5, containers: [{name: c, image: i}]}}}}\n")
	nodes := strings.Replace(nodeYAML("n1", "4", ""), "pods: '110'", "pods: '110', ephemeral-storage: 9Gi", 1)
	code, out, errs := simulate(t, nodes+podYAML("p", "", 0, "1", ""), "-f", "-", "-add", file, "-map")
	require.Zero(t, code, errs)
	require.Contains(t, out, "Refused")
	require.Contains(t, out, "cpu [##")
	require.NotContains(t, out, "ephemeral-storage [")
}

func timelineFile(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "timeline.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// The reasons of kubelets in words.
func TestReasonsOfKubelets(t *testing.T) {
	require.Equal(t, "exceed the cpu of their nodes", misfit("OutOfcpu"))
	require.Equal(t, "would not be admitted by the kubelets of their nodes: NodeAffinity", misfit("NodeAffinity"))
}

// -admit leaves refused objects out, and the rest is played without them.
func TestRefusedObjectsAreLeftOut(t *testing.T) {
	input := nodeYAML("n1", "4", "") + podYAML("p", "", 0, "1", "") +
		"---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: -1, selector: {matchLabels: {a: b}}}}\n" +
		"---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: c}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}\n"
	code, out, errs := simulate(t, input, "-f", "-", "-admit", "-no-headers")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0; it is left out")
	require.Equal(t, []string{"default", "p", "0", "Scheduled", "n1"}, strings.Fields(out))
	input += "---\n{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: r}, handler: r, scheduling: {nodeSelector: {'bad key': x}}}\n" +
		"---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: much}, value: 2000000000}\n" +
		strings.Replace(nodeYAML("n2", "4", ""), "status:", "spec: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]}, status:", 1)
	left := begun(t, options{admit: true}, input).w.objects
	require.Equal(t, []int{1, 0, 0, 1}, []int{len(left.PodDisruptionBudgets), len(left.RuntimeClasses), len(left.PriorityClasses), len(left.Nodes)})
	there := begun(t, options{}, input).w.objects
	require.Equal(t, []int{2, 1, 1, 2}, []int{len(there.PodDisruptionBudgets), len(there.RuntimeClasses), len(there.PriorityClasses), len(there.Nodes)})
}

// The number of pods that fit is told with their nodes, also when one fits.
func TestHowManyOfOne(t *testing.T) {
	input := nodeYAML("n1", "4", "") + podYAML("p", "", 0, "3", "")
	_, out, _ := simulate(t, input, "-f", "-", "-how-many", "p")
	require.Contains(t, out, "1 more pod(s) like default/p fit.\nNODE   PODS\nn1     1\nOne more does not: ")
	_, out, _ = simulate(t, nodeYAML("n1", "2", "")+podYAML("p", "", 0, "3", ""), "-f", "-", "-how-many", "p")
	require.Contains(t, out, "0 more pod(s) like default/p fit.\nOne more does not: ")
	for cpu, want := range map[string]int{"4": program.OK, "2": program.No} {
		code, _, errs := simulate(t, nodeYAML("n1", cpu, "")+podYAML("p", "", 0, "3", ""), "-f", "-", "-how-many", "p", "-o", "json", "-fail-unschedulable")
		require.Equal(t, want, code, errs)
	}
}

// Without the flag the percentage is that of the configuration.
func TestNoPercentage(t *testing.T) {
	o, err := parseFlags([]string{"-f", "x"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, -1, o.percentage)
}

// A pod whose every attempt fails has a first screen of at most ten lines: the error, once.
func TestFirstScreenOfAnError(t *testing.T) {
	pod := podYAML("p", "", 0, "1", "", badPreference)
	_, out, _ := simulate(t, nodeYAML("n1", "4", "")+nodeYAML("n2", "4", "")+pod, "-f", "-", "-explain", "p", "-brief")
	require.LessOrEqual(t, strings.Count(out, "\n"), 10, out)
	require.Equal(t, 1, strings.Count(out, "every attempt fails: "), out)
}

// Changes of objects stand before those of weights in the text. The answer keeps the order of its list.
func TestWishesBeforeWeights(t *testing.T) {
	flips := []diagnose.Flip{{Kind: "weight", Text: "weight 9", Weight: 9}, {Kind: "label", Text: "a label"}, {Kind: "taint", Text: "a taint"}}
	e := &explanation{State: "Pending", Choice: &diagnose.Comparison{Other: "n2", Flips: slices.Clone(flips)}}
	var b strings.Builder
	e.wishes(&b)
	require.Equal(t, "Would go to n2: a label\nWould go to n2: a taint\n", b.String())
	require.Equal(t, flips, e.Choice.Flips)
}
