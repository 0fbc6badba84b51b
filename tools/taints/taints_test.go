package taints

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

const shop = "../../examples/testdata/cluster.yaml"

func forecast(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

// The timeline of the shipped cluster is asserted whole, as table and JSON.
func TestShippedCluster(t *testing.T) {
	type test struct {
		name  string
		forms []string
	}
	testkit.Run(t, []test{
		{"events", []string{"table", "json", "yaml"}},
		{"zone-outage", []string{"table", "json"}},
		{"blackout", []string{"table", "json"}},
	}, func(t *testing.T, c test) {
		for _, form := range c.forms {
			t.Run(form, func(t *testing.T) {
				args := []string{"-f", shop, "-events", filepath.Join("testdata", c.name+".yaml"), "-admit", "-o", form}
				code, out, errs := forecast("", args...)
				require.Zero(t, code, errs)
				require.Empty(t, errs)
				testkit.Golden(t, filepath.Join("testdata", c.name+map[string]string{"table": ".table", "json": ".json", "yaml": ".out.yaml"}[form]), out)
				_, again, _ := forecast("", args...)
				require.Equal(t, out, again, "same input, same bytes")
			})
		}
	})
}

func timeline(t *testing.T, stdin string, args ...string) (line taint.Timeline) {
	t.Helper()
	code, out, errs := forecast(stdin, append(args, "-o", "json")...)
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &line))
	return line
}

// What the shipped timelines say, in few words.
func TestStories(t *testing.T) {
	line := timeline(t, "", "-f", shop, "-events", "testdata/events.yaml", "-admit")
	evicted := map[string]int{}
	for _, e := range line.Evictions() {
		evicted[e.Node]++
	}
	require.Equal(t, map[string]int{"general-a1": 7, "memory-a1": 1, "gpu-a1": 2}, evicted)
	require.Equal(t, 7, cancelled(line), "all of general-b1")
	line = timeline(t, "", "-f", shop, "-events", "testdata/blackout.yaml", "-admit")
	require.Empty(t, line.Evictions(), "nobody leaves while all zones are down")

	line = timeline(t, "", "-f", shop, "-events", "testdata/events.yaml", "-admit", "-until", "7m")
	require.Len(t, line.Pending, 2, "the two of gpu-a1 still have time")
	line = timeline(t, "", "-f", shop, "-events", "testdata/events.yaml", "-admit", "-node-monitor-grace-period", "5m")
	require.Zero(t, cancelled(line), "three minutes of silence are nothing then")
	line = timeline(t, "", "-f", shop, "-events", "testdata/zone-outage.yaml", "-admit", "-node-eviction-rate", "0")
	require.Empty(t, line.Evictions(), "a rate of 0 taints nobody")
	line = timeline(t, "", "-f", shop, "-events", "testdata/events.yaml")
	for _, e := range line.Evictions() {
		require.Contains(t, e.Cause, "not tolerated", "without the tolerations of admission pods leave at once")
	}
}

// tolerating is a pod on n1 with a toleration for an unreachable node.
func tolerating(name, seconds string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {nodeName: n1, priority: 0, containers: [{name: c}], tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute" + seconds + "}]}\n"
}

const (
	twoNodes = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\n"
	silence  = "events: [{at: 0s, node: n1, heartbeats: stop}]\n"
)

// The documentation's application with much local state stays for 6000 seconds, a DaemonSet pod for ever, others for 300.
func TestTolerationSeconds(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events.yaml")
	require.NoError(t, os.WriteFile(events, []byte(silence), 0o644))
	input := twoNodes + tolerating("state", ", tolerationSeconds: 6000") + tolerating("daemon", "") + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeName: n1, containers: [{name: c}]}\n"
	line := timeline(t, input, "-f", "-", "-events", events, "-admit", "-until", "3h")
	var got []string
	for _, e := range line.Evictions() {
		got = append(got, e.At.Duration.String()+" "+e.Pod)
	}
	require.Equal(t, []string{"5m55s default/web", "1h40m55s default/state"}, got, "the taint comes 55 seconds after the silence")
}

func TestWarnings(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events.yaml")
	require.NoError(t, os.WriteFile(events, []byte(silence), 0o644))
	input := strings.Replace(twoNodes+tolerating("a", ""), "nodeName: n1", "nodeName: n3", 1)
	code, _, errs := forecast(input, "-f", "-", "-events", events)
	require.Zero(t, code)
	require.Equal(t, "warning: pod default/a: spec.nodeName: Invalid value: \"n3\": no such node in the input; left out of the forecast\n", errs)
	code, out, _ := forecast(input, "-f", "-", "-events", events, "-strict")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
}

// -stop and -stop-zone need no file: they are the events of a silence from the start.
func TestStopNodeAndZone(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events.yaml")
	require.NoError(t, os.WriteFile(events, []byte("events: [{at: 0s, node: general-a1, heartbeats: stop}]"), 0o644))
	want := timeline(t, "", "-f", shop, "-events", events, "-admit")
	require.NotEmpty(t, want.Evictions())
	require.Equal(t, want, timeline(t, "", "-f", shop, "-stop", "general-a1", "-admit"))
	stopped := func(args ...string) (nodes []string) {
		for _, e := range timeline(t, "", append([]string{"-f", shop, "-admit"}, args...)...).Entries {
			if e.What == taint.EntryEvent {
				nodes = append(nodes, e.Node)
			}
		}
		return nodes
	}
	require.Equal(t, []string{"general-b1", "general-b2", "gpu-b1", "memory-b1"}, stopped("-stop-zone", "eu-1b"))
	require.Equal(t, []string{"general-a1", "general-b1", "general-b2", "gpu-b1", "memory-b1"}, stopped("-stop-zone", "eu-1b", "-stop", "general-a1", "-stop", "gpu-b1"))
	require.Contains(t, stopped("-stop", "general-b2", "-events", "testdata/events.yaml"), "gpu-a1", "beside the events of a file")
	code, _, errs := forecast("", "-f", shop, "-stop", "general-a9")
	require.Equal(t, program.BadInput, code)
	require.Equal(t, "taints: NODE: Not found: \"general-a9\": no such node in the input; near: general-a1, general-a2, general-b1\n", errs)
	code, _, errs = forecast("", "-f", shop, "-stop-zone", "b")
	require.Equal(t, program.BadInput, code)
	require.Equal(t, "taints: -stop-zone: Not found: \"b\": the zones of the input, by the label topology.kubernetes.io/zone: eu-1a, eu-1b, eu-1c\n", errs)
}

// The sample of events in the help is a file that -events reads.
func TestSampleInHelp(t *testing.T) {
	_, help, _ := forecast("", "-h")
	_, text, _ := strings.Cut(help, "\nFiles:\n")
	text, _, _ = strings.Cut(text, "\n\n")
	events := filepath.Join(t.TempDir(), "events.yaml")
	require.NoError(t, os.WriteFile(events, []byte(text), 0o644))
	var nodes string
	for _, name := range []string{"node-a1", "node-a2", "node-b1", "node-c1"} {
		nodes += "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\n"
	}
	happened := 0
	for _, e := range timeline(t, nodes, "-f", "-", "-events", events).Entries {
		if e.What == taint.EntryEvent {
			happened++
		}
	}
	require.Equal(t, 6, happened)
}

// -n prints the pods of a namespace, and what happens to nodes; -no-headers leaves out the header.
func TestNamespaceAndHeaders(t *testing.T) {
	for _, e := range timeline(t, "", "-f", shop, "-stop", "general-a1", "-admit", "-n", "data").Entries {
		require.True(t, e.Pod == "" || strings.HasPrefix(e.Pod, "data/"), e.Pod)
	}
	_, out, _ := forecast("", "-f", shop, "-stop", "general-a1", "-no-headers")
	require.True(t, strings.HasPrefix(out, "0s "), out)
	_, whole, _ := forecast("", "-f", shop, "-stop", "general-a1")
	require.True(t, strings.Contains(whole, "\n\nAT "), whole)
	require.True(t, strings.HasSuffix(whole, "\n"+out))
	code, _, errs := forecast("", "-f", shop, "-stop", "general-a1", "-no-headers", "-o", "yaml")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "-no-headers: Invalid value: true: goes with tables")
}

// The outputs have the form of the schema, and the schema that of the type.
func TestSchema(t *testing.T) {
	code, out, errs := forecast("", "-f", shop, "-admit", "-o", "json", "-stop", "gpu-a1", "-until", "2m")
	require.Zero(t, code, errs)
	schema.Check(t, testkit.Golden, map[string]any{"TaintForecast": answer{}}, []string{out}, nil)
}

// Bad input: one line on standard error, nothing on standard output, exit 2.
func TestBadInput(t *testing.T) {
	type test struct {
		name, events, want string
		args               []string
	}
	testkit.Run(t, []test{
		{"unknown node", "events: [{at: 0s, node: n9, heartbeats: stop}]", `events.yaml: events[0].node: Not found: "n9"`, nil},
		{"a negative time", "events: [{at: -1s, node: n1, heartbeats: stop}]", `events[0].at: Invalid value: "-1s": must not be negative`, nil},
		{"a time that is none", "events: [{at: soon, node: n1, heartbeats: stop}]", `events.yaml: events[0].at: Invalid value: "soon": must be a duration such as 90s or 5m`, nil},
		{"two changes", "events: [{at: 0s, node: n1, heartbeats: stop, deleted: true}]", "exactly one of condition, taint, heartbeats, unschedulable and deleted must be set", nil},
		{"no change", "events: [{at: 0s, node: n1}]", "exactly one of condition, taint, heartbeats, unschedulable and deleted must be set", nil},
		{"a bad taint", "events: [{at: 0s, node: n1, taint: 'a=b:Never'}]", `events[0].taint: Invalid value: "a=b:Never"`, nil},
		{"a status that YAML reads as a truth", "events: [{at: 0s, node: n1, condition: Ready, status: True}]", `events[0].status: Invalid value: true: must be a string; YAML reads y, n, yes, no, on, off, true and false as a truth: write it in quotes`, nil},
		{"an unknown status", "events: [{at: 0s, node: n1, condition: Ready, status: Maybe}]", `events[0].status: Unsupported value: "Maybe"`, nil},
		{"unknown heartbeats", "events: [{at: 0s, node: n1, heartbeats: skip}]", `events[0].heartbeats: Unsupported value: "skip": supported values: "stop", "resume"`, nil},
		{"a field that is none", "events: [{at: 0s, node: n1, heartbeat: stop}]", `events.yaml: unknown field "events[0].heartbeat"`, nil},
		{"a list", "[{at: 0s, node: n1, heartbeats: stop}]", "events.yaml: ", nil},
		{"nothing", "", "events.yaml: is empty", nil},
		{"far away", "events: [{at: 9999h, node: n1, heartbeats: stop}]", `events.yaml: events: Invalid value: "9999h0m0s"`, nil},
		{"until when", silence, `-until: Invalid value: "-5s": must be from 0s to 720h0m0s`, []string{"-until", "-5s"}},
		{"a negative rate", silence, "-node-eviction-rate: Invalid value: -1: must be a number not less than 0", []string{"-node-eviction-rate", "-1"}},
		{"a threshold above 1", silence, "-unhealthy-zone-threshold: Invalid value: 2: must be a number from 0 to 1", []string{"-unhealthy-zone-threshold", "2"}},
		{"a hasty monitor", silence, `-node-monitor-period: Invalid value: "1ms": must be at least 100ms`, []string{"-node-monitor-period", "1ms"}},
		{"a negative grace", silence, `-node-monitor-grace-period: Invalid value: -1s: must not be negative`, []string{"-node-monitor-grace-period", "-1s"}},
		{"unknown output", silence, `-o: Unsupported value: "xml": supported values: table, json, yaml`, []string{"-o", "xml"}},
		{"an argument", silence, `unexpected argument "x"`, []string{"x"}},
	}, func(t *testing.T, c test) {
		events := filepath.Join(t.TempDir(), "events.yaml")
		require.NoError(t, os.WriteFile(events, []byte(c.events), 0o644))
		code, out, errs := forecast(twoNodes, append([]string{"-f", "-", "-events", events}, c.args...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
	})
	type test2 struct {
		name string
		args []string
		want string
	}
	testkit.Run(t, []test2{
		{"no input", nil, "-f: Required value"},
		{"no events", []string{"-f", shop}, "-stop-zone or -events: Required value"},
		{"no such file", []string{"-f", shop, "-events", "testdata/none.yaml"}, "testdata/none.yaml"},
		{"standard input twice", []string{"-f", "-", "-events", "-"}, "standard input can be read once only"},
		{"a rate that is none", []string{"-node-eviction-rate", "fast"}, `invalid value "fast" for flag -node-eviction-rate: must be a number`},
	}, func(t *testing.T, c test2) {
		code, out, errs := forecast("", c.args...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	})
	code, help, errs := forecast("", "-h")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Contains(t, help, "Usage:\n  taints -f PATH")
	require.NotRegexp(t, `(?m)^  -\S+ (value|int|uint|string|float|duration)$|default -`, help, "flags have their own words and no internal defaults")
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// Tables are as wide as the terminal.
func TestTerminal(t *testing.T) {
	args := []string{"-f", shop, "-events", "testdata/events.yaml"}
	var out terminal
	require.Zero(t, Run(t.Context(), args, nil, &out, &strings.Builder{}))
	_, wide, _ := forecast("", args...)
	require.NotEqual(t, wide, out.String())
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len(line), 61)
	}
}

// A StatefulSet's pod on a silent node is named, with what a person can do once the node is off. A long timeline is grouped by time.
func TestSummary(t *testing.T) {
	const db = `
{apiVersion: v1, kind: Node, metadata: {name: n1.example.com}, status: {conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2.example.com}, status: {conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]}, spec: {nodeName: n1.example.com, containers: [{name: c}]}, status: {phase: Running}}
`
	code, out, errs := forecast(db, "-f", "-", "-stop", "n1.example.com", "-admit")
	require.Zero(t, code, errs)
	require.True(t, strings.HasPrefix(out, `1 pod is evicted from 1 node, at 5m55s; 0 leave later, 0 stay
default/db-0 stays Terminating, and no new default/db-0 is made, until the kubelet answers. When n1 is powered off, taint it node.kubernetes.io/out-of-service:NoExecute: then the pod is deleted at once.
Names of nodes are without .example.com.

AT      NODE   POD            WHAT`), out)
	var many strings.Builder
	many.WriteString(db)
	for i := range 100 {
		fmt.Fprintf(&many, "---\n{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {nodeName: n1.example.com, containers: [{name: c}]}, status: {phase: Running}}\n", i)
	}
	_, out, _ = forecast(many.String(), "-f", "-", "-stop", "n1.example.com", "-admit")
	require.True(t, strings.HasPrefix(out, "101 pods are evicted from 1 node, at 5m55s; 0 leave later, 0 stay\n"), out)
	require.Regexp(t, `(?m)^5m55s +evicted +1 +101 +node.kubernetes.io/unreachable:NoExecute$`, out)
	require.Contains(t, out, "--all prints what happens to each node and pod: 207 lines\n")
	require.Less(t, strings.Count(out, "\n"), 20)
	_, out, _ = forecast(many.String(), "-f", "-", "-stop", "n1.example.com", "-admit", "-all")
	require.Greater(t, strings.Count(out, "\n"), 207)
	_, out, _ = forecast(many.String(), "-f", "-", "-stop", "n1.example.com", "-admit", "-until", "3m")
	require.True(t, strings.HasPrefix(out, "no pod is evicted within 3m0s; 101 leave later, 0 stay\n"), out)
}

func cancelled(line taint.Timeline) (n int) {
	for _, e := range line.Entries {
		if e.What == taint.EntryCancelled {
			n++
		}
	}
	return n
}
