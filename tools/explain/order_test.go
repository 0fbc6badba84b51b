package explain

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// Nodes that can take the pod come first, by score; then fewer plugins, the smaller shortage and the name decide.
func TestOrder(t *testing.T) {
	one, two := []placement.Rejection{cpu("a")}, []placement.Rejection{cpu("a"), taint("b")}
	table := []placement.NodeReport{
		{Node: "b-two", Rejections: two}, {Node: "a-far", Rejections: one}, {Node: "c-low", Total: 1}, {Node: "d-near", Rejections: one}, {Node: "e-high", Total: 9}, {Node: "c-near", Rejections: one}, {Node: "b-low", Total: 1},
	}
	names := func(list []placement.NodeReport) (out []string) {
		for _, n := range list {
			out = append(out, n.Node)
		}
		return out
	}
	short := func(node string) float64 {
		return map[string]float64{"a-far": 2, "c-near": 1, "d-near": 1, "b-two": 0, "e-high": 5, "b-low": 7}[node]
	}
	before := fmt.Sprint(table)
	require.Equal(t, []string{"e-high", "b-low", "c-low", "c-near", "d-near", "a-far", "b-two"}, names(Order(table, short)))
	require.Equal(t, []string{"e-high", "b-low", "c-low", "a-far", "c-near", "d-near", "b-two"}, names(Order(table, nil)))
	require.Equal(t, before, fmt.Sprint(table))
}

// A shortage is the missing share of each request, added up.
func TestShortage(t *testing.T) {
	c, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("free").Capacity("cpu=8,memory=8Gi,pods=10").Obj(), testkit.Node("half").Capacity("cpu=2,memory=8Gi,pods=10").Obj(), testkit.Node("used").Capacity("cpu=4,memory=1Gi,pods=10").Obj(), testkit.Node("full").Capacity("cpu=4,memory=4Gi,pods=1").Obj()},
		Pods:  []*v1.Pod{testkit.Pod("a").Request("cpu=3").On("used").Obj(), testkit.Pod("b").On("full").Obj()},
	})
	require.NoError(t, err)
	short := Shortage(testkit.Pod("p").Request("cpu=4,memory=4Gi").Obj(), c)
	for node, want := range map[string]float64{"free": 0, "half": 0.5, "used": 0.75 + 0.75, "full": 1} {
		require.InDelta(t, want, short(node), 1e-9, node)
	}
}

// A node counts once for a reason, three details are told, and a fourth leaves the nearest node's as an example.
func TestDetails(t *testing.T) {
	table := func(n int) (list []placement.NodeReport) {
		for k := range n {
			list = append(list, rejected(fmt.Sprint("n", k), cpu(fmt.Sprint(k))))
		}
		return list
	}
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 1, 9: 1} {
		got := Of(table(n), nil).Obstacles
		require.Len(t, got, want, "%d nodes", n)
		if want == 1 && n > 1 {
			require.Equal(t, Obstacle{"NodeResourcesFit", "Insufficient cpu", "cpu: 0", "n0", n}, got[0])
		}
	}
	twice := rejected("n1", placement.Rejection{Plugin: "X", Reasons: []string{"a", "a"}, Numbers: []string{"1", "2"}})
	require.Equal(t, []Obstacle{{"X", "a", "1", "", 1}, {"X", "a", "2", "", 1}}, Of([]placement.NodeReport{twice}, nil).Obstacles)
	many := []placement.NodeReport{rejected("n1", placement.Rejection{Plugin: "X", Reasons: []string{"a"}, Numbers: []string{"1", "2", "3", "4", "5"}})}
	require.Equal(t, []Obstacle{{"X", "a", "1", "n1", 1}}, Of(many, nil).Obstacles, "one node, whatever it says")
	held := func(node, by string) placement.NodeReport {
		return rejected(node, placement.Rejection{Plugin: "X", Reasons: []string{"r"}, Numbers: []string{"0 left (held by claim ml/" + by + ")"}})
	}
	require.Equal(t, []Obstacle{{"X", "r", "0 left (held by claim ml/a)", "", 2}}, Of([]placement.NodeReport{held("n1", "a"), held("n2", "a")}, nil).Obstacles)
	require.Equal(t, []Obstacle{{"X", "r", "0 left (held by claim ml/a)", "n1", 3}}, Of([]placement.NodeReport{held("n1", "a"), held("n2", "b"), held("n3", "a")}, nil).Obstacles)
}

// Reasons have their numbers one by one when there are as many, and share them otherwise.
func TestReasonLines(t *testing.T) {
	for _, c := range []struct {
		reasons, numbers []string
		want             []reasonLine
	}{
		{[]string{"a"}, nil, []reasonLine{{"a", ""}}}, {[]string{"a", "b"}, nil, []reasonLine{{"a, b", ""}}}, {[]string{"a", "b"}, []string{"1", "2"}, []reasonLine{{"a", "1"}, {"b", "2"}}},
		{[]string{"a", "b"}, []string{"1"}, []reasonLine{{"a, b", "1"}}}, {[]string{"a"}, []string{"1", "2"}, []reasonLine{{"a", "1"}, {"a", "2"}}},
	} {
		require.Equal(t, c.want, reasonLines(placement.Rejection{Reasons: c.reasons, Numbers: c.numbers}))
	}
}

// At most four lines are about obstacles.
func TestLines(t *testing.T) {
	var a Answer
	for n := 1; n <= 6; n++ {
		a.Obstacles = append(a.Obstacles, Obstacle{Plugin: "P", Reason: fmt.Sprint("r", n), Nodes: n})
		lines := a.Lines()
		require.Len(t, lines, min(n, 4))
		require.Equal(t, "  1 node: r1 (P)", lines[0])
		switch {
		case n == 4:
			require.Equal(t, "  4 nodes: r4 (P)", lines[3])
		case n > 4:
			require.Equal(t, fmt.Sprintf("  and %d more reasons", n-3), lines[3])
		}
	}
	require.Equal(t, []string{"  1 node: Insufficient cpu: cpu: a (NodeResourcesFit)", "Nearest: n1 (NodeResourcesFit)"}, Of([]placement.NodeReport{rejected("n1", cpu("a"))}, nil).Lines())
	require.Equal(t, "r: d (P)", Obstacle{Plugin: "P", Reason: "r", Detail: "d"}.String())
	require.Equal(t, "r: on n1 d (P)", Obstacle{Plugin: "P", Reason: "r", Detail: "d", Example: "n1"}.String())
}
