package consolidate

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// Every part of a plan is in the table, that of one namespace when -n is given.
func TestMadePlan(t *testing.T) {
	move := func(namespace, name, to string, way consolidation.Way, chosen bool, budgets ...string) consolidation.Move {
		p := testkit.Pod(name).Obj()
		p.Namespace = namespace
		return consolidation.Move{Pod: p, From: "n1", To: to, Way: way, Chosen: chosen, Budgets: budgets}
	}
	held := testkit.Pod("holds").Obj()
	held.Namespace = "a"
	p := &consolidation.Plan{
		Nodes:  []consolidation.Emptied{{Node: "n1", Price: 1_500_000, Wave: 1, Moves: 3}, {Node: "n2", Price: 10_000_000, Wave: -1}, {Node: "n3", Price: 1, Wave: 0, Moves: 1}},
		Added:  []consolidation.Added{{Type: "large", Node: testkit.Node("large-1").Obj(), Price: 2_000_000}},
		Waves:  [][]consolidation.Move{{move("a", "x", "n4", "InPlace", false, "a/b1", "a/b2"), move("b", "y", "n5", "", true)}, {move("b", "z", "n4", "", false)}},
		Before: 30_000_000, After: 20_000_000, Bound: 14_000_000, Steps: 7,
		Kept: []consolidation.Kept{{Node: "n6", Reason: "static pod"}, {Node: "n7", Pod: held, Reason: "annotation"}},
	}
	r := &consolidation.Replay{Same: 1, Elsewhere: []consolidation.Move{move("a", "x", "n4", "", true)}, Nodes: []string{"n8"}, Pending: []consolidation.Move{move("b", "y", "n5", "", true)}}
	var out strings.Builder
	for _, c := range []struct {
		in input
		o  options
		r  *consolidation.Replay
	}{
		{input{nodes: 9}, options{}, r},
		{input{nodes: 1, prices: map[*v1.Node]int64{}}, options{Common: program.Common{Tables: program.Tables{Namespace: "a"}}}, r},
		{input{nodes: 1, prices: map[*v1.Node]int64{}}, options{Common: program.Common{Tables: program.Tables{Layout: report.Layout{NoHeaders: true}}}}, r},
		{input{}, options{Common: program.Common{Tables: program.Tables{Namespace: "c"}}}, &consolidation.Replay{Same: 3}},
	} {
		a := c.in.shown(p, c.r, c.o)
		a.table(&out, c.o.Tables)
		if c.o.Tables.Namespace == "a" {
			data, err := report.Data("yaml", a)
			require.NoError(t, err)
			out.Write(data)
		}
		out.WriteString("====\n")
	}
	testkit.Golden(t, "testdata/made-plan.txt", out.String())
	for _, c := range []struct {
		after, bound int64
		gap          float64
	}{{3, 3, 0}, {3, 4, 0}, {3, 2, 0.3334}, {4, 3, 0.25}, {10000, 9999, 0.0001}, {100001, 100000, 0.0001}} {
		require.InDelta(t, c.gap, (&input{}).shown(&consolidation.Plan{After: c.after, Bound: c.bound}, r, options{}).Summary.Gap, 1e-12)
	}
	for n, want := range map[int64]string{0: "0", 1: "0.000001", 100_000: "0.1", 1_000_000: "1", 10_000_000: "10", 10_500_000: "10.5", 123_456_789: "123.456789"} {
		require.Equal(t, want, (&input{prices: map[*v1.Node]int64{}}).cost(n))
	}
	require.Equal(t, "10", (&input{}).cost(10))
}

// With -time the search has no other end unless -steps names one.
func TestEndsOfTheSearch(t *testing.T) {
	for _, c := range []struct {
		args  string
		steps int
		time  time.Duration
	}{{"", 1000, time.Minute}, {"-time 1ns", math.MaxInt, 1}, {"-time 0s", 1000, 0}, {"-time 1m -steps 5", 5, time.Minute}, {"-steps 0", 0, time.Minute}, {"-steps 0 -time 1s -max-moves 0", 0, time.Second}, {"-seed 3 -time 1s", math.MaxInt, time.Second}} {
		o, err := parseFlags(append([]string{"-f", "x"}, strings.Fields(c.args)...), &strings.Builder{})
		require.NoError(t, err, c.args)
		require.Equal(t, c.steps, o.Steps, c.args)
		require.Equal(t, c.time, o.Time, c.args)
	}
	for args, want := range map[string]string{
		"-time -1ns":                        "-time: Invalid value: -1ns: must not be negative",
		"-defragment gpu -types types.yaml": "-defragment: Forbidden: with -price-label or -types",
		"-defragment gpu -price-label x":    "-defragment: Forbidden: with -price-label or -types",
	} {
		_, err := parseFlags(append([]string{"-f", "x"}, strings.Fields(args)...), &strings.Builder{})
		require.EqualError(t, err, want)
	}
}

// What cannot be planned for is an error. Types without prices cost 1.
func TestLimitsOfInput(t *testing.T) {
	const node = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', pods: '10'}}}\n"
	const stray = "---\n{apiVersion: v1, kind: Pod, metadata: {name: stray}, spec: {nodeName: n9, containers: [{name: c}]}}\n"
	for _, c := range []struct{ input, args, want string }{
		{node + stray, "-strict", "n9"},
		{strings.Replace(node, "status:", "state: {}, status:", 1), "-strict", `unknown field "state"`},
		{node, "-types " + shipped + " -types " + types + " -max-moves 1 -config testdata/types.yaml", "types.yaml"},
	} {
		code, out, errs := planning(c.input, append([]string{"-f", "-"}, strings.Fields(c.args)...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	code, _, errs := planning(node+stray, "-f", "-")
	require.Zero(t, code, errs)
	_, err := readTypes(options{types: []string{"testdata/no-nodes.yaml"}})
	require.EqualError(t, err, "-types: Required value: there is no Node in it")
	_, out, _ := planning("", "-f", "testdata/full.yaml", "-types", types, "-o", "json")
	require.Contains(t, out, `"price": "1"`)
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// Tables are as wide as the terminal.
func TestTerminal(t *testing.T) {
	var out terminal
	require.Zero(t, Run(t.Context(), []string{"-f", shipped}, nil, &out, &strings.Builder{}))
	_, wide, _ := planning("", "-f", shipped)
	require.NotEqual(t, wide, out.String())
}

// Nodes that -time leaves before anybody tries them are counted at the end.
func TestNotTried(t *testing.T) {
	code, out, errs := planning("", "-f", shipped, "-time", "1ns")
	require.Zero(t, code, errs)
	require.Regexp(t, `\n\nnot tried: [1-9][0-9]* nodes; --time and --steps say how long to search\n$`, out)
	_, out, _ = planning("", "-f", shipped)
	require.NotContains(t, out, "not tried")
	require.Equal(t, "\nnot tried: 7 steps; --time and --steps say how long to search\n", (&summary{Unsearched: 7}).notTried())
	require.Equal(t, "\nnot tried: 1 node; --time and --steps say how long to search\n", (&summary{Untried: 1, Unsearched: 7}).notTried())
	require.Empty(t, (&summary{}).notTried())
}
