package place

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

// firstLines are the lines of an explanation up to the first empty one.
func firstLines(t *testing.T, input, pod string, args ...string) []string {
	t.Helper()
	code, out, errs := simulate(t, input, append([]string{"-f", "-", "-explain", pod}, args...)...)
	require.Zero(t, code, errs)
	answer, _, _ := strings.Cut(out, "\n\n")
	return strings.Split(strings.TrimSpace(answer), "\n")
}

// -explain leads with the answer: what keeps the pod out, the nearest nodes and what would help.
func TestExplainAnswersFirst(t *testing.T) {
	input := nodeYAML("n1", "2", "") + nodeYAML("n2", "4", "") + podYAML("a", "n1", 0, "1", "") + podYAML("b", "n2", 0, "2500m", "") + podYAML("p", "", 0, "3", "")
	require.Equal(t, []string{
		"Pod default/p waits: it asks for cpu 3, and both open nodes are too full: n2 is nearest with 1500m of 4 free.",
		"It has no node: 0 of 2 nodes can take it. No pod is tried before it.",
		"Do: add a node like n2: then it runs there",
		"Do: Pod default/p: requests.cpu from 3 to 1500m: then it goes to n2",
		"Preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
	}, firstLines(t, input, "default/p"))
	_, all, _ := simulate(t, input, "-f", "-", "-explain", "default/p")
	require.Contains(t, all, "\n\nWhat keeps it off nodes:\n"+
		"  1 node: Insufficient cpu: cpu: asks for 3, 1500m of 4 are free (NodeResourcesFit)\n"+
		"  1 node: Insufficient cpu: cpu: asks for 3, 1 of 2 are free (NodeResourcesFit)\n"+
		"Nearest: n2 (NodeResourcesFit), n1 (NodeResourcesFit)\n")
	for _, pod := range []string{"data/postgres-3", "shop/cart-6d4b75cb6d-q6kxd", "ml/train-tx47b", "data/warehouse-6d4b75cb6d-m2gt9"} {
		_, out, _ := simulate(t, "", "-f", shop, "-explain", pod)
		answer, _, _ := strings.Cut(out, "\n\n")
		lines := strings.Count(answer, "\n") + 1
		require.True(t, lines >= 3 && lines <= 10, "%s: %d lines\n%s", pod, lines, answer)
	}
}

// With -preemption optimal the explanation compares the best victims with kube-scheduler's, as text and as data.
func TestExplainBestVictims(t *testing.T) {
	input := nodeYAML("n1", "8", "") + podYAML("a", "n1", 0, "1", "") + podYAML("b", "n1", 0, "4", "") + podYAML("c", "n1", 0, "1", "") +
		podYAML("d", "n1", 0, "1", "") + podYAML("e", "n1", 0, "1", "") + podYAML("p", "", 10, "3", "")
	_, out, _ := simulate(t, input, "-f", "-", "-explain", "default/p", "-preemption", "optimal")
	require.Contains(t, out, `
Preemption: on n1 default/b would give way. No better victims exist.
  Afterwards default/b is lost, because it has no controller.
  The best victims are better in: sum of priorities.
  VICTIMS            NODE   NUMBER   AGAINST A BUDGET   PODS
  best               n1     1        0                  default/b
  kube-scheduler's   n1     3        0                  default/c, default/d, default/e
`)
	_, out, _ = simulate(t, input, "-f", "-", "-explain", "default/p", "-preemption", "optimal", "-o", "json")
	var e explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e), out)
	require.True(t, *e.Preemption.Optimal)
	require.Equal(t, []string{"default/b"}, e.Preemption.Victims)
	require.Equal(t, []string{"default/c", "default/d", "default/e"}, e.Preemption.Default.Victims)
	for _, c := range []struct{ input, want string }{
		{nodeYAML("n1", "4", "") + podYAML("a", "n1", 0, "4", "") + podYAML("p", "", 10, "3", ""),
			"default/a would give way. No better victims exist.\n  Afterwards default/a is lost, because it has no controller.\n  kube-scheduler chooses the same victims.\n"},
		{nodeYAML("n1", "2", "") + podYAML("p", "", 10, "3", ""), "Preemption: 0/1 nodes are available"},
		{nodeYAML("n1", "4", "") + podYAML("a", "n1", 5, "3", "") + podYAML("web", "n1", 0, "1", "app: db") + podYAML("p", "", 10, "3", "", together),
			"default/a would give way. No better victims exist.\n  Afterwards default/a is lost, because it has no controller.\n  kube-scheduler finds no victims.\n"},
		{nodeYAML("n1", "4", "") + nodeYAML("n2", "4", "") + podYAML("a", "n2", 0, "4", "") + podYAML("b", "n1", 1, "4", "") + podYAML("p", "", 10, "3", ""),
			"on n2 default/a would give way. No better victims exist.\n  Afterwards default/a is lost, because it has no controller.\n  kube-scheduler chooses the same victims.\n"},
	} {
		_, out, _ = simulate(t, c.input, "-f", "-", "-explain", "default/p", "-preemption", "optimal")
		require.Contains(t, out, c.want)
	}
	owned := func(name, cpu, priority string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}, spec: {nodeName: n1, priority: %s, containers: [{name: c, resources: {requests: {cpu: '%s'}}}]}}\n", name, priority, cpu)
	}
	_, out, _ = simulate(t, nodeYAML("n1", "4", "")+nodeYAML("n2", "2", "")+owned("web-1", "2", "1")+owned("web-2", "2", "0")+podYAML("p", "", 10, "4", ""),
		"-f", "-", "-explain", "default/p", "-preemption", "optimal")
	require.Contains(t, out, "  Afterwards default/web-1 moves to n2.\n  Afterwards default/web-2 starves, because no node takes it.\n")
	_, _, errs := simulate(t, input, "-f", "-", "-preemption", "greedy")
	require.Contains(t, errs, `-preemption: Unsupported value: "greedy": supported values: "default", "optimal"`)
}

// Every pod of the input has an explanation, whatever its state.
func TestExplainEveryState(t *testing.T) {
	const spec = "containers: [{name: c, resources: {requests: {cpu: '1'}}}]"
	pod := func(metadata, status, spec string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: p%s}, status: {%s}, spec: {%s}}\n", metadata, status, spec)
	}
	two := nodeYAML("n1", "4", "") + nodeYAML("n2", "4", "")
	type test struct{ name, state, input, want string }
	testkit.Run(t, []test{
		{"running", "Running", two + pod("", "", "nodeName: n1, "+spec), "Pod default/p runs on n1. If it came now, 2 of 2 nodes could take it, and it would go to n1 again."},
		{"running, better elsewhere", "Running", two + podYAML("x", "n1", 0, "3", "") + pod("", "", "nodeName: n1, "+spec), "Pod default/p runs on n1. If it came now, 2 of 2 nodes could take it, and it would go to n2."},
		{"running nowhere", "Running", two + pod("", "", "nodeName: n9, "+spec), "Pod default/p runs on n9. If it came now, 2 of 2 nodes could take it; n9 is not in the input."},
		{"terminating", "Terminating", two + pod(", deletionTimestamp: '2026-01-01T00:00:30Z'", "", "nodeName: n1, "+spec),
			"Pod default/p runs on n1 and is being deleted: it is gone at 2026-01-01T00:00:30Z. If it came now, 2 of 2 nodes could take it, and it would go to n1 again."},
		{"deleted before it ran", "Terminating", two + pod(", deletionTimestamp: '2026-01-01T00:00:30Z'", "", spec),
			"Pod default/p is being deleted: no scheduler tries it. A pod like it goes to n1: 2 of 2 nodes can take it. No pod is tried before it."},
		{"gated", "Gated", two + pod("", "", "priority: 0, schedulingGates: [{name: example.com/quota}], "+spec),
			"Pod default/p is gated by example.com/quota: Scheduling is blocked due to non-empty scheduling gates. Without the gates it goes to n1: 2 of 2 nodes can take it. No pod is tried before it."},
		{"another scheduler", "OtherScheduler", two + pod("", "", "schedulerName: volcano, "+spec),
			"Pod default/p waits: schedulerName is volcano, and no profile and no pod has this name."},
		{"ended", "Ended", two + pod("", "phase: Succeeded", "nodeName: n1, "+spec), "Pod default/p has ended (Succeeded): it holds nothing on any node, and no scheduler tries it."},
		{"pending", "Pending", two + podYAML("first", "", 9, "1", "") + pod("", "", "priority: 0, "+spec), "Pod default/p goes to n2: 2 of 2 nodes can take it. 1 pod is tried before it."},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, firstLines(t, c.input, "default/p")[0])
		code, out, errs := simulate(t, c.input, "-f", "-", "-explain", "default/p", "-o", "json")
		require.Zero(t, code, errs)
		var e explanation
		require.NoError(t, json.Unmarshal([]byte(out), &e))
		require.Equal(t, c.state, e.State)
		require.Equal(t, "Explanation default p", e.Kind+" "+e.Namespace+" "+e.Name)
	})
}

// A wrong name lists near ones.
func TestExplainNearNames(t *testing.T) {
	code, _, errs := simulate(t, oneNode+"---\n"+strings.Replace(onePod, "name: p}", "name: web-1}", 1), "-f", "-", "-explain", "default/wbe-1")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, `place: -explain: Not found: "default/wbe-1": no pod of that namespace and name; near: default/web-1`)
}

// Twenty nodes are shown, the nearest first; -all shows all of them, in JSON too.
func TestExplainNodes(t *testing.T) {
	var input string
	for k := range 25 {
		input += nodeYAML(fmt.Sprintf("n%02d", k), fmt.Sprint(1+k), "")
	}
	input += podYAML("p", "", 0, "20", "")
	for _, c := range []struct {
		args []string
		want int
	}{{nil, 20}, {[]string{"-all"}, 25}} {
		_, out, _ := simulate(t, input, append([]string{"-f", "-", "-explain", "default/p"}, c.args...)...)
		require.Len(t, regexp.MustCompile(`(?m)^n[0-9]+: `).FindAllString(out, -1), c.want)
		require.Equal(t, c.args == nil, strings.Contains(out, "\n5 more nodes: -all shows them.\n"))
		require.Less(t, strings.Index(out, "\nn24: can take it"), strings.Index(out, "\nn18: rejected"), "the best first")
		_, out, _ = simulate(t, input, append([]string{"-f", "-", "-explain", "default/p", "-o", "json"}, c.args...)...)
		var e explanation
		require.NoError(t, json.Unmarshal([]byte(out), &e))
		require.Len(t, e.Nodes, c.want)
	}
}

// -where says why a pod does not go to a node, or to nodes with a label, and what would have to change.
func TestExplainWhere(t *testing.T) {
	input := nodeYAML("n1", "8", "") + nodeYAML("n2", "4", "") + nodeYAML("n3", "1", "") + podYAML("a", "n2", 0, "1", "") + podYAML("p", "", 0, "2", "")
	type test struct {
		where string
		want  []string
	}
	for _, c := range []test{
		{"n1", []string{"n1 is a node of n1."}},
		{"n2", []string{"The best node of n2 is n2: "}},
		{"kubernetes.io/hostname in (n2, n3)", []string{"The best node of kubernetes.io/hostname in (n2, n3) is n2: "}},
		{"n3", []string{"No node of n3 can take it.", "Do: Pod default/p: requests.cpu from 2 to 1: then it goes to n3"}},
	} {
		t.Run(c.where, func(t *testing.T) {
			lines := strings.Join(firstLines(t, input, "default/p", "-where", c.where), "\n")
			for _, want := range c.want {
				require.Contains(t, lines, want)
			}
		})
	}
	_, out, _ := simulate(t, input, "-f", "-", "-explain", "default/p", "-where", "n2", "-o", "json")
	var e explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e), out)
	require.Equal(t, []string{"n1", "n2"}, []string{e.Choice.Chosen, e.Choice.Other})
	for where, want := range map[string]string{
		"n33":       `-where: Not found: "n33": no node of that name, and no node with these labels; near: n3`,
		"zone in a": `-where: Invalid value: "zone in a": `,
	} {
		code, _, errs := simulate(t, input, "-f", "-", "-explain", "default/p", "-where", where)
		require.Equal(t, program.BadInput, code)
		require.Contains(t, errs, want)
	}
}

// A pod without a node: which events wake it, which pods leave, and when it gets a node.
func TestExplainOutlook(t *testing.T) {
	leaving := strings.Replace(podYAML("a", "n1", 0, "3", ""), "name: a", "name: a, deletionTimestamp: '2026-01-01T00:00:30Z'", 1)
	input := nodeYAML("n1", "4", "") + leaving + podYAML("p", "", 0, "2", "")
	_, out, _ := simulate(t, input, "-f", "-", "-explain", "default/p")
	require.Contains(t, out, `
What wakes it:
  NodeResourcesFit: AssignedPodDelete, AssignedPodUpdatePodScaleDown, TargetPodUpdatePodScaleDown, NodeAdd|UpdateNodeAllocatable, resource.k8s.io/DeviceClassAdd|Update
`)
	require.Contains(t, out, `
Pods that leave:
  2026-01-01T00:00:30Z: default/a leaves n1 (grace), which wakes it
Then it goes to n1.
`)
	_, out, _ = simulate(t, input, "-f", "-", "-explain", "default/p", "-o", "json")
	var e explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e), out)
	require.Equal(t, "n1", e.Outlook.Node)
	_, out, _ = simulate(t, nodeYAML("n1", "4", "")+podYAML("p", "", 0, "5", ""), "-f", "-", "-explain", "default/p")
	require.NotContains(t, out, "Pods that leave")
}
