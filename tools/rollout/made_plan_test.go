package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// madePlan has every part of a plan, of two namespaces.
func madePlan() *planner.Plan {
	const s = time.Second
	return &planner.Plan{
		Steps: []planner.Step{
			{Action: planner.Surge, Nodes: []string{"s1", "s2"}, End: 5 * s},
			{
				Action: planner.Settle, Begin: 5 * s, Empty: 5 * s, End: 9 * s,
				Waves: []planner.Wave{{Begin: 5 * s, End: 9 * s, Placed: []planner.Arrival{{Pod: "a/new", To: "s1", Ready: 9 * s}, {Pod: "b/new", To: "s2", Ready: 8 * s}}}},
			},
			{
				Action: planner.Replace, Nodes: []string{"n1", "n2", "n3", "n4"}, Begin: 9 * s, Empty: 40 * s, End: 60 * s,
				Waves: []planner.Wave{
					{Begin: 9 * s, End: 20 * s, Moves: []planner.Move{
						{Pod: "a/x", From: "n1", Budgets: []string{"a/slack", "a/tight"}, Replacement: "a/x-2", To: "s1", Gone: 12 * s, Placed: 10 * s, Ready: 20 * s},
						{Pod: "b/y", From: "n2", Bypass: "not ready", Replacement: "b/y-2", Gone: 19 * s, Placed: 11 * s, Ready: 13 * s},
					}},
					{Begin: 20 * s, End: 40 * s, Moves: []planner.Move{{Pod: "b/alone", From: "n3", Gone: 40 * s}}, Placed: []planner.Arrival{{Pod: "b/late", To: "s2", Ready: 30 * s}}},
				},
				Budgets: []planner.Room{{Budget: "a/slack", Minimum: 2, Begin: 3, Lowest: 5}, {Budget: "a/tight", Minimum: 4, Begin: 1, Lowest: 5}, {Budget: "a/as-tight", Minimum: 1, Begin: 1, Lowest: 2}, {Budget: "b/wide", Minimum: 1, Begin: 9, Lowest: 9}},
				Skews:   []planner.Skew{{Workload: "Deployment a/x", Key: "zone", Skew: 2, Most: 1}},
			},
			{Action: planner.Replace, Nodes: []string{"n5"}, Begin: 60 * s, Empty: 60 * s, End: 61 * s, Budgets: []planner.Room{{Budget: "b/short", Minimum: 3, Lowest: 1}, {Budget: "b/more", Minimum: 2, Lowest: 1}}},
			{Action: planner.Retire, Nodes: []string{"s2"}, Begin: 61 * s, Empty: 61 * s, End: 61 * s},
		},
		Blocked: []planner.Deadlock{
			{Kind: "never", Nodes: []string{"s1", "n6", "n7", "n8", "n9"}, Pods: []string{"a/p1", "a/p2", "a/p3", "a/p4"}, Proof: "no room", Remedies: []planner.Remedy{{Text: "one more node", Holds: true}, {Text: "two budgets less"}, {Text: "no budget", Holds: true}}},
			{Kind: "never", Nodes: []string{"n6", "n10", "n11"}, Pods: []string{"b/q"}, Budgets: []string{"b/short"}, Proof: "too short"},
			{Kind: "spread", Nodes: []string{"n12"}, Pods: []string{"b/r"}, Proof: "too far"},
			{Kind: "volumes", Nodes: []string{"n12"}, Pods: []string{"a/s", "a/t"}, Proof: "too deep"},
		},
		Skipped: []planner.Skipped{{Pod: "a/static", Node: "n1", Reason: "a static pod"}, {Pod: "b/static", Node: "n2"}},
		Again:   []planner.Journey{{Pod: "a/x", Nodes: []string{"n1", "s1", "n1"}}, {Pod: "b/y", Nodes: []string{"n2", "s2", "n2"}}},
		Waiting: []string{"a/big", "b/big"}, Replaced: 5, Evictions: 3, Total: 61 * s,
	}
}

// Every part of a plan is in the table, the script and the page, that of one namespace when -n is given.
func TestMadePlan(t *testing.T) {
	var out strings.Builder
	in := &input{objects: &dump.Objects{}}
	for _, name := range []string{"n1", "n2", "s1", "s2"} {
		n := testkit.Node(name).Obj()
		in.objects.Nodes = append(in.objects.Nodes, n)
	}
	for _, namespace := range []string{"a", "b"} {
		for _, name := range []string{"p1", "q", "x", "y", "new", "late", "alone"} {
			p := testkit.Pod(name).Obj()
			p.Namespace = namespace
			in.objects.Pods = append(in.objects.Pods, p)
		}
	}
	for _, c := range []options{
		{grace: -1},
		{grace: 0, Common: program.Common{Tables: program.Tables{Namespace: "a"}}, plan: planner.Options{Timeout: 1, Drain: disruption.DrainOptions{Force: true, IgnoreDaemonSets: true, DeleteEmptyDirData: true}}},
		{grace: 7, Common: program.Common{Tables: program.Tables{Namespace: "b", Layout: report.Layout{NoHeaders: true}}}},
	} {
		a := shown(madePlan(), c)
		fmt.Fprintf(&out, "namespace %q, grace %d\n\n", c.Tables.Namespace, c.grace)
		a.owners = map[string]string{"a/p1": "ReplicaSet a", "a/p3": "ReplicaSet a", "b/q": "StatefulSet b"}
		a.waits = []waiting{{"", "no room", []string{"a/big"}}, {"Job b", "no device", []string{"b/big"}}}
		a.table(&out, c.Tables.Layout)
		out.WriteString(a.remedies(c.Tables.Layout, false))
		if c.Tables.Namespace != "" {
			data, err := report.Data("yaml", a)
			require.NoError(t, err)
			out.Write(data)
		}
		out.WriteString(script(madePlan(), c))
	}
	testkit.Golden(t, "testdata/made-plan.txt", out.String())
	nothing := script(&planner.Plan{}, options{})
	require.Equal(t, "#!/bin/sh\n# 0 nodes in 0 steps, 0 evictions, 0s\nset -e\n", nothing)
	for _, namespace := range []string{"", "b"} {
		tables := program.Tables{Namespace: namespace}
		data, err := shown(madePlan(), options{Common: program.Common{Tables: tables}}).page(in, &tables)
		require.NoError(t, err)
		testkit.GoldenPage(t, "testdata/made-plan"+namespace+".page", string(data))
	}
}
