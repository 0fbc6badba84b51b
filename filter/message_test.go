package filter

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

type messageCase struct {
	name, why string
	m         Message
	want      string
}

const noClaims = "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."

func TestMessage(t *testing.T) {
	unhelpful := func(n string) string {
		return "no new claims to deallocate, preemption: 0/" + n + " nodes are available: " + n + " Preemption is not helpful for scheduling."
	}
	testkit.Run(t, []messageCase{
		{"three nodes too small", "a node with two reasons counts in both; sorted as text",
			Message{Nodes: 3, Reasons: []Count{{"Insufficient cpu", 2}, {"Insufficient memory", 3}, {"Too many pods", 1}}, PostFilter: unhelpful("3")},
			"0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu, 3 Insufficient memory. " + noClaims},
		{"full of equal priority", "preemption found no victims",
			Message{Nodes: 1, Reasons: []Count{{"Insufficient cpu", 1}},
				PostFilter: "no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."},
			"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."},
		{"affinity by node name", "nodes outside the PreFilter set have its reason",
			Message{Nodes: 3, Reasons: []Count{{"Insufficient cpu", 1}}, Absent: []string{"node(s) didn't satisfy plugin(s) [NodeAffinity]"}, AbsentNodes: 2, PostFilter: unhelpful("3")},
			"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. " + noClaims},
		{"missing claim", "a PreFilter rejection hides the nodes; DynamicResources was never asked",
			Message{Nodes: 3, PreFilter: `persistentvolumeclaim "missing" not found`, PostFilter: "not found"},
			`0/3 nodes are available: persistentvolumeclaim "missing" not found. not found`},
		{"cordoned and tainted and port used", "one reason each",
			Message{Nodes: 3, Reasons: []Count{{"node(s) were unschedulable", 1}, {"node(s) had untolerated taint(s)", 1},
				{"node(s) didn't have free ports for the requested pod ports", 1}},
				PostFilter: "no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."},
			"0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."},
		{"extender returned nothing", "no reasons: no list and no dot",
			Message{Nodes: 3, PostFilter: unhelpful("3")}, "0/3 nodes are available: " + noClaims},
		{"counts sort as text", "10 stands before 2",
			Message{Nodes: 12, Reasons: []Count{{"x", 10}, {"y", 2}}}, "0/12 nodes are available: 10 x, 2 y."},
		{"equal reasons add up", "two predicates may say the same",
			Message{Nodes: 3, Reasons: []Count{{"x", 1}, {"x", 1}}, Absent: []string{"x"}, AbsentNodes: 1}, "0/3 nodes are available: 3 x."},
		{"several reasons and absent nodes", "absent nodes without a reason leave the counts short of N",
			Message{Nodes: 5, Reasons: []Count{{"Insufficient cpu", 2}, {"Insufficient memory", 1}}, AbsentNodes: 3},
			"0/5 nodes are available: 1 Insufficient memory, 2 Insufficient cpu."},
		{"both messages", "PreFilter's text gets a dot, PostFilter's does not",
			Message{Nodes: 5, PreFilter: "pre", PostFilter: "preemption: x"}, "0/5 nodes are available: pre. preemption: x"},
		{"nothing known", "no nodes, no reasons", Message{}, "0/0 nodes are available:"},
		{"reserve", "a rejection by Reserve is about one node",
			Message{Nodes: 1, Reasons: []Count{{"waiting for thing", 1}}}, "0/1 nodes are available: 1 waiting for thing."},
		{"after a preemption", "a node was nominated, and PostFilter has no text",
			Message{Nodes: 1, Reasons: []Count{{"Insufficient cpu", 1}}},
			"0/1 nodes are available: 1 Insufficient cpu."},
		{"preemption never", "the policy forbids it",
			Message{Nodes: 1, Reasons: []Count{{"Insufficient cpu", 1}}, PostFilter: "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."},
			"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."},
		{"terminating victim", "preemption waits",
			Message{Nodes: 1, Reasons: []Count{{"Insufficient cpu", 1}}, PostFilter: "no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node."},
			"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node."},
		{"without dynamic resources", "the plugin is not in the profile",
			Message{Nodes: 1, Reasons: []Count{{"x", 1}}, PostFilter: "preemption: y."},
			"0/1 nodes are available: 1 x. preemption: y."},
		{"without preemption", "DynamicResources speaks alone",
			Message{Nodes: 1, Reasons: []Count{{"x", 1}}, PostFilter: "no new claims to deallocate"},
			"0/1 nodes are available: 1 x. no new claims to deallocate"},
	}, func(t *testing.T, c messageCase) {
		require.Equal(t, c.want, c.m.String())
	})
	require.Equal(t, "no nodes available to schedule pods", NoNodes)
}

func TestNote(t *testing.T) {
	exact := strings.Repeat("x", 1024)
	require.Equal(t, exact, Cut(exact))
	require.Equal(t, exact[:1020]+" ...", Cut(exact+"y"))
	require.Len(t, Cut(strings.Repeat("é", 600)), 1024, "cut between bytes")
}

func TestPreFilters(t *testing.T) {
	set := func(plugin string, nodes ...string) PreFilterResult {
		return PreFilterResult{Plugin: plugin, Nodes: append([]string{}, nodes...)}
	}
	status := func(plugin string, code Code, reasons ...string) PreFilterResult {
		return PreFilterResult{Plugin: plugin, Code: code, Reasons: reasons}
	}
	type result struct {
		code      Code
		message   string
		nodes     []string
		rejecters []string
		called    int
		err       string
	}
	type test struct {
		name, why string
		in        []PreFilterResult
		want      result
	}
	testkit.Run(t, []test{
		{"nothing", "no plugin has a word", nil, result{}},
		{"rejection lets the rest run", "their state serves preemption", []PreFilterResult{status("A", Unschedulable, "a"), status("B", Success)},
			result{code: Unschedulable, message: "a", rejecters: []string{"A"}, called: 2}},
		{"a later unresolvable replaces it", "the last status counts", []PreFilterResult{status("A", Unschedulable, "a"), status("B", UnschedulableAndUnresolvable, "b")},
			result{code: UnschedulableAndUnresolvable, message: "b", rejecters: []string{"B"}, called: 2}},
		{"the last of two", "of two rejections the later counts", []PreFilterResult{status("A", Unschedulable, "a"), status("B", Unschedulable, "b", "c")},
			result{code: Unschedulable, message: "b, c", rejecters: []string{"B"}, called: 2}},
		{"unresolvable stops", "B is not called", []PreFilterResult{status("A", UnschedulableAndUnresolvable, "a"), status("B", Success)},
			result{code: UnschedulableAndUnresolvable, message: "a", rejecters: []string{"A"}, called: 1}},
		{"sets intersect", "a b and b c leave b", []PreFilterResult{set("A", "a", "b"), set("B", "b", "c")},
			result{nodes: []string{"b"}, rejecters: []string{"A", "B"}, called: 2}},
		{"nothing in common", "both plugins are named, C is not called", []PreFilterResult{set("B", "b"), set("A", "a"), set("C", "c")},
			result{code: UnschedulableAndUnresolvable, message: "node(s) didn't satisfy plugin(s) [A B] simultaneously", rejecters: []string{"B", "A"}, called: 2}},
		{"an empty set", "one plugin is named alone", []PreFilterResult{set("A")},
			result{code: UnschedulableAndUnresolvable, message: "node(s) didn't satisfy plugin A", rejecters: []string{"A"}, called: 1}},
		{"skip", "the set of a skipped plugin is ignored", []PreFilterResult{{Plugin: "A", Code: Skip, Nodes: []string{}}}, result{called: 1}},
		{"skip lets the rest run", "B is called", []PreFilterResult{{Plugin: "A", Code: Skip}, status("B", Unschedulable, "b")},
			result{code: Unschedulable, message: "b", rejecters: []string{"B"}, called: 2}},
		{"narrowing and rejection by one plugin", "it is named once", []PreFilterResult{set("A", "a"), status("A", Unschedulable, "b")},
			result{code: Unschedulable, message: "b", nodes: []string{"a"}, rejecters: []string{"A"}, called: 2}},
		{"pending", "not allowed here", []PreFilterResult{status("A", Pending, "p"), status("B", Success)},
			result{code: Error, called: 1, err: `running PreFilter plugin "A": p`}},
		{"wait", "not allowed here; the text says so", []PreFilterResult{status("A", Wait)},
			result{code: Error, called: 1, err: `running PreFilter plugin "A": unexpected status Wait`}},
		{"error", "ends the attempt", []PreFilterResult{status("A", Unschedulable, "a"), status("B", Error, "boom")},
			result{code: Error, called: 2, err: `running PreFilter plugin "B": boom`}},
		{"rejection and narrowing", "both wake the pod", []PreFilterResult{set("A", "a"), status("B", Unschedulable, "b")},
			result{code: Unschedulable, message: "b", nodes: []string{"a"}, rejecters: []string{"B", "A"}, called: 2}},
	}, func(t *testing.T, c test) {
		var f PreFilters
		got := result{}
		for _, r := range c.in {
			got.called++
			if f.Add(r) {
				break
			}
		}
		got.code, got.message, got.rejecters = f.Code, f.Message, f.Rejecters()
		if len(f.Nodes) > 0 {
			got.nodes = f.Nodes
		}
		if f.Err != nil {
			got.err = f.Err.Error()
		}
		require.Equal(t, c.want, got)
	})
	var f PreFilters
	require.Nil(t, f.LeftOut())
	f.Add(set("B", "n"))
	f.Add(set("A", "n", "gone"))
	require.Equal(t, []string{"node(s) didn't satisfy plugin(s) [A B]"}, f.LeftOut())
	f.Add(PreFilterResult{Plugin: "C", Code: Skip, Nodes: []string{}})
	require.Equal(t, []string{"n"}, f.Nodes, "the set of a plugin that skips is ignored")
}
