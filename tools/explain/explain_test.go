package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/placement"
)

func rejected(node string, list ...placement.Rejection) placement.NodeReport {
	return placement.NodeReport{Node: node, Rejections: list}
}

func cpu(detail string) placement.Rejection {
	return placement.Rejection{Plugin: "NodeResourcesFit", Code: "Unschedulable", Reasons: []string{"Insufficient cpu"}, Numbers: []string{"cpu: " + detail}}
}

func taint(lines ...string) placement.Rejection {
	return placement.Rejection{Plugin: "TaintToleration", Reasons: []string{"node(s) had untolerated taint(s)"}, Numbers: lines}
}

// Reasons are grouped over the nodes; of many different details the nearest node's is an example.
func TestObstacles(t *testing.T) {
	table := []placement.NodeReport{
		rejected("n1", cpu("a")), rejected("n2", cpu("b")), rejected("n3", cpu("c")), rejected("n4", cpu("d")),
		rejected("n5", taint("x rejects")), rejected("n6", taint("x rejects", "y rejects")), {Node: "n7", Total: 5},
	}
	short := map[string]float64{"n1": 4, "n2": 1, "n3": 2, "n4": 3}
	a := Of(table, func(node string) float64 { return short[node] })
	require.Equal(t, []Obstacle{
		{"NodeResourcesFit", "Insufficient cpu", "cpu: b", "n2", 4},
		{"TaintToleration", "node(s) had untolerated taint(s)", "x rejects", "", 2},
		{"TaintToleration", "node(s) had untolerated taint(s)", "y rejects", "", 1},
	}, a.Obstacles)
	require.Equal(t, []Near{{"n5", []string{"TaintToleration"}}, {"n6", []string{"TaintToleration"}}, {"n2", []string{"NodeResourcesFit"}}}, a.Nearest)
	require.Empty(t, a.Help, "no remedy without a proof")
}

// Reasons of one plugin are told apart.
func TestReasonsOfOnePlugin(t *testing.T) {
	both := cpu("d")
	both.Reasons, both.Numbers = append(both.Reasons, "Insufficient memory"), append(both.Numbers, "memory: e")
	require.Equal(t, []Obstacle{
		{"NodeResourcesFit", "Insufficient cpu", "cpu: a", "n1", 4},
		{"NodeResourcesFit", "Insufficient memory", "memory: e", "", 1},
	}, Of([]placement.NodeReport{rejected("n1", cpu("a")), rejected("n2", cpu("b")), rejected("n3", cpu("c")), rejected("n4", both)}, nil).Obstacles)
}

// Nodes with many different taints are counted by taint, in place of an example.
func TestManyTaints(t *testing.T) {
	table := []placement.NodeReport{
		rejected("n1", taint("dedicated=a:NoSchedule rejects")), rejected("n2", taint("dedicated=b:NoSchedule rejects")),
		rejected("n3", taint("off:NoSchedule rejects", "off:NoExecute rejects", "gpu=yes:NoSchedule rejects")), rejected("n4", taint("gpu=yes:NoSchedule rejects")),
	}
	require.Equal(t, []Obstacle{
		{"TaintToleration", "node(s) had untolerated taint(s)", "by taint: gpu=yes 2, dedicated=a 1, dedicated=b 1, off 1", "", 4},
	}, Of(table, nil).Obstacles)
	table = append(table, rejected("n5", taint("x rejects")))
	require.Equal(t, "  5 nodes: node(s) had untolerated taint(s): by taint: gpu=yes 2, dedicated=a 1, dedicated=b 1, off 1, 1 more (TaintToleration)", Of(table, nil).Lines()[0])
}

// Nodes whose devices other claims hold are one obstacle, and the claims of the nearest node are an example.
func TestObstaclesHeld(t *testing.T) {
	devices := func(detail string) placement.Rejection {
		return placement.Rejection{Plugin: "DynamicResources", Reasons: []string{"cannot allocate all claims"}, Numbers: []string{detail}}
	}
	var table []placement.NodeReport
	for _, node := range []string{"n1", "n2", "n3", "n4", "n5"} {
		table = append(table, rejected(node, devices("0 left; 2 fail the test: is not in use (held by claim ml/"+node+")")))
	}
	table = append(table, rejected("n6", devices("0 of 0 left")), rejected("n7", devices("0 of 0 left")))
	require.Equal(t, []Obstacle{
		{"DynamicResources", "cannot allocate all claims", "0 left; 2 fail the test: is not in use (held by claim ml/n1)", "n1", 5},
		{"DynamicResources", "cannot allocate all claims", "0 of 0 left", "", 2},
	}, Of(table, func(string) float64 { return 0 }).Obstacles)
}

// Lines name the plugins, those of callers too.
func TestPluginsOfCallers(t *testing.T) {
	tenant := placement.Rejection{Plugin: "Tenant", Reasons: []string{"node(s) belonged to another tenant"}}
	a := Of([]placement.NodeReport{rejected("n1", tenant, cpu("a")), rejected("n2", tenant)}, nil)
	require.Equal(t, []string{
		"  2 nodes: node(s) belonged to another tenant (Tenant)",
		"  1 node: Insufficient cpu: cpu: a (NodeResourcesFit)",
		"Nearest: n2 (Tenant), n1 (Tenant, NodeResourcesFit)",
	}, a.Lines())
}

// An answer without obstacles has no lines, and its lists are empty, not null.
func TestNothingInTheWay(t *testing.T) {
	a := Of([]placement.NodeReport{{Node: "n1"}}, nil)
	require.Empty(t, a.Lines())
	require.Equal(t, Answer{Obstacles: []Obstacle{}, Nearest: []Near{}, Help: []string{}}, a)
}
