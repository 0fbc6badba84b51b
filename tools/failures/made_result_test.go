package failures

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// madeResults have every part of a result, of two namespaces.
func madeResults() []failures.Result {
	pod := func(namespace, name string) *v1.Pod {
		p := testkit.Pod(name).Obj()
		p.Namespace = namespace
		return p
	}
	after := 300 * time.Second
	return []failures.Result{
		{
			Scenario: failures.Scenario{Name: `zone "a"`, Nodes: []string{"n1", "n2"}},
			Pods:     []failures.Outcome{{Pod: pod("a", "x"), From: "n1", Fate: failures.Placed, Node: "n3", Leaves: &after}, {Pod: pod("b", "y"), From: "n2", Fate: "Pending"}, {Pod: pod("b", "z"), From: "n3", Fate: "Pending", DisplacedBy: "a/x"}},
			Placed:   1, Pending: 2, Waiting: 3, Gone: 4, Tied: 5, Foreign: 6, Displaced: 1, Released: 7,
			Groups: []failures.Group{
				{Workload: "ReplicaSet a/x", Cause: "resources", Reason: "Insufficient cpu", Pods: []string{"a/p", "a/q"}},
				{Workload: "ReplicaSet b/y", Cause: "taints", Reason: "tainted", Pods: []string{"b/y"}},
			},
			Budgets:   []failures.Budget{{Name: "a/x", Minimum: 5, Before: 4, Lost: 3, After: 2}, {Name: "b/y", Minimum: 9, Before: 8, Lost: 7, After: 6}},
			Workloads: []failures.Workload{{Kind: "StatefulSet", Namespace: "a", Name: "s", Replicas: 3, Before: 3, Lost: 1, After: 1, Quorum: 2}, {Kind: "StatefulSet", Namespace: "b", Name: "s", Replicas: 5, Before: 4, Lost: 3, After: 3, Quorum: 3}},
			Left:      []failures.Resource{{Name: "cpu", Allocatable: 9000, Requested: 4000}, {Name: "memory", Allocatable: 8 << 30, Requested: 3 << 30}},
			Bounds:    &failures.Bounds{Orders: 3, Fewest: 4, Most: 6},
		},
		{
			Scenario: failures.Scenario{Name: "n3", Nodes: []string{"n3"}}, Waiting: 1,
			Groups: []failures.Group{{Workload: "ReplicaSet a/x", Cause: "resources", Reason: "Insufficient cpu", Pods: []string{"a/p"}}},
			Bounds: &failures.Bounds{Orders: 3, Fewest: 1, Most: 1},
		},
		{Scenario: failures.Scenario{Name: "n4", Nodes: []string{"n4"}}, Displaced: 1, Groups: []failures.Group{{Workload: "ReplicaSet a/x", Cause: "resources", Reason: "Insufficient cpu", Pods: []string{"a/p", "a/q", "a/r"}}}},
	}
}

// Every part of the results is in the table and the metrics, that of one namespace when -n is given.
func TestMadeResults(t *testing.T) {
	var out strings.Builder
	for _, c := range []options{{}, {Common: program.Common{Tables: program.Tables{Namespace: "a", Layout: report.Layout{NoHeaders: true}}}}, {Common: program.Common{Tables: program.Tables{Namespace: "b"}}}} {
		a := &failureReport{Summary: summary{Scenarios: 3, Failing: 2, Worst: "zone", Pending: 5}, Alerts: []alert{{"cpu", "5", "4", true}, {"memory", "5Gi", "6Gi", false}}}
		results := madeResults()
		for i := range results {
			a.Scenarios = append(a.Scenarios, shown(&results[i], c))
		}
		a.table(&out, c.Tables)
		data, err := report.Data("yaml", a.Scenarios[0])
		require.NoError(t, err)
		out.Write(data)
		if c.Tables.Namespace == "" {
			out.WriteString(a.metrics())
		}
	}
	for _, h := range []headroom{
		{}, {Survives: 1}, {Survives: 2, Limited: true, Played: 9}, {Limited: true, Played: 1}, {Found: []string{"n1"}, Pending: 1, Exact: true}, {Survives: 1, Found: []string{"n1", "n2", "n3"}, Pending: 2, Limited: true},
		{Found: []string{"n1"}, Pending: 0, Exact: true, Binding: &failures.Group{Workload: "w", Cause: "c", Reason: "r"}, Remedies: []failures.Remedy{{Text: "more", Holds: true}, {Text: "less", Worst: "n2", Stays: 3}}},
	} {
		a := &failureReport{Summary: summary{Scenarios: 1, Failing: 1}, Headroom: &h}
		a.table(&out, program.Tables{})
		out.WriteString(a.metrics())
	}
	testkit.Golden(t, "testdata/made-results.txt", out.String())
	require.Equal(t, []int{-1, 1, 2, -3}, []int{orNone(0), orNone(1), orNone(2), orNone(-3)})
}

// An alert fires when the pods ask for more than what the nodes without the largest offer, and that is something.
func TestAlerts(t *testing.T) {
	for _, c := range []struct {
		nodes []string
		asked string
		want  string
	}{
		{[]string{"cpu=4", "cpu=2"}, "cpu=2", "2 2 false"}, {[]string{"cpu=4", "cpu=2"}, "cpu=2001m", "2001m 2 true"}, {[]string{"cpu=2", "cpu=4", "cpu=3"}, "cpu=5", "5 5 false"},
		{[]string{"cpu=4"}, "cpu=5", "5 0 false"}, {[]string{"cpu=4", "cpu=1m"}, "cpu=5", "5 1m true"}, {[]string{"cpu=4", "cpu=0"}, "cpu=5", "5 0 false"},
	} {
		var objects cluster.Objects
		for i, n := range c.nodes {
			objects.Nodes = append(objects.Nodes, testkit.Node(string(rune('a'+i))).Capacity(n).Obj())
		}
		objects.Pods = []*v1.Pod{testkit.Pod("p").Request(c.asked).On("a").Obj()}
		s, err := cluster.New(objects)
		require.NoError(t, err)
		a := (&input{snapshot: s}).alerts()
		require.Len(t, a, 2)
		require.Equal(t, c.want, strings.Join([]string{a[0].Requested, a[0].Rest, map[bool]string{true: "true", false: "false"}[a[0].Fires]}, " "), c)
		require.False(t, a[1].Fires)
	}
}
