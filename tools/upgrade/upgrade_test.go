package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func shipped(from, to string, more ...string) []string {
	return append([]string{"-f", "testdata/cluster.yaml", "-from", from, "-to", to}, more...)
}

func TestShippedCluster(t *testing.T) {
	for _, pair := range [][2]string{{"1.34", "1.35"}, {"1.35", "1.36"}, {"1.36", "1.37"}, {"1.37", "1.36"}} {
		code, out, errs := run(shipped(pair[0], pair[1])...)
		require.Zero(t, code, errs)
		testkit.Golden(t, "testdata/"+pair[0]+"-"+pair[1]+".table", out)
	}
	for form, ending := range map[string]string{"json": "json", "yaml": "out.yaml"} {
		code, out, errs := run(shipped("1.36", "1.37", "-o", form)...)
		require.Zero(t, code, errs)
		testkit.Golden(t, "testdata/1.36-1.37."+ending, out)
	}
}

// Every pod of the shipped cluster that says in a comment which rule it shows changes by that rule.
func TestRules(t *testing.T) {
	rules := func(from, to string) map[string][]string {
		_, out, errs := run(shipped(from, to, "-o", "json")...)
		require.Empty(t, errs)
		var a upgradeReport
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		found := map[string][]string{}
		for _, p := range a.Pods {
			found[p.Pod] = ids(p.Rules)
		}
		for _, p := range a.Running {
			found[p.Pod] = ids(p.Rules)
		}
		return found
	}
	require.Equal(t, map[string][]string{"default/balance": {"L5.1"}, "default/restarts": {"L2.2"}}, rules("1.35", "1.36"))
	require.Equal(t, map[string][]string{
		"default/large": {"L6.1"}, "default/urgent": {"L6.2"}, "default/apart": {"L3.4"}, "default/stores": {"L2.4"}, "default/near": {"L3.4"}, "default/restarts": {"L6.1"},
	}, rules("1.36", "1.37"))
	require.Empty(t, rules("1.36", "1.36"))
}

// pairs are two nodes of unlike balance. n1 has an image of the pod's container, n2 the image of its volume.
const pairs = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "10", memory: 10Gi, pods: "110"}, images: [{names: ["app:1"], sizeBytes: 356515840}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "10", memory: 10Gi, pods: "110"}, images: [{names: ["model:1"], sizeBytes: 253755392}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: even, namespace: default}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "5", memory: 5Gi}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: uneven, namespace: default}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: "8", memory: 2Gi}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {volumes: [{name: m, image: {reference: "model:1"}}], containers: [{name: c, image: "app:1", resources: {requests: {cpu: "1", memory: 3Gi}}}]}}
`

// shrunk has a node whose first pod counts with 3 cpu in v1.37, with 1 before; gpu a node whose device serves a running pod.
const (
	shrunk = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 10Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: init, namespace: default}, spec: {nodeName: n1, initContainers: [{name: i, resources: {requests: {cpu: "1"}}}], containers: [{name: c, resources: {requests: {cpu: "1"}}}]}, status: {phase: Running, initContainerStatuses: [{name: i, resources: {requests: {cpu: "3"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: late, namespace: default}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}, status: {phase: Running}}
`
	gpu = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 10Gi, pods: "110"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: drv, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: trains, namespace: default}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {example.com/gpu: "1"}}}]}, status: {phase: Running}}
`
)

// A change that two rules make together has both; a running pod that its node refuses has the rule, also when another pod of the node
// is the reason.
func TestRulesTogether(t *testing.T) {
	for name, c := range map[string]struct{ objects, from, to, want string }{
		"two scores":      {pairs, "1.35", "1.36", "default/web L5.2 L5.1"},
		"back":            {pairs, "1.36", "1.35", "default/web L5.2 L5.1"},
		"resized":         {shrunk, "1.36", "1.37", "default/late L4.3"},
		"resized earlier": {shrunk, "1.35", "1.36", ""},
		"devices":         {gpu, "1.36", "1.35", "default/trains L3.3"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, rulesOf(t, c.objects, c.from, c.to))
		})
	}
}

// rulesOf returns the pods that change, each with its rules.
func rulesOf(t *testing.T, objects, from, to string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(t.Context(), []string{"-f", "-", "-from", from, "-to", to, "-o", "json"}, strings.NewReader(objects), &out, &errs)
	require.Zero(t, code, errs.String())
	var a upgradeReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &a))
	var got []string
	for _, p := range a.Pods {
		got = append(append(got, p.Pod), ids(p.Rules)...)
	}
	for _, p := range a.Running {
		got = append(append(got, p.Pod), ids(p.Rules)...)
	}
	return strings.Join(got, " ")
}

func TestConfiguration(t *testing.T) {
	fields := func(from, to string) (out []string) {
		_, text, errs := run(shipped(from, to, "-o", "json", "-config", "testdata/scheduler.yaml")...)
		require.Empty(t, errs)
		var a upgradeReport
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		for _, f := range a.Fields {
			out = append(out, f.Rule.ID+" "+f.Field)
		}
		return out
	}
	require.Equal(t, []string{"L11.1 profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio"}, fields("1.35", "1.36"))
	require.Equal(t, []string{"L11.2 profiles[0].pluginConfig[1].args.shape"}, fields("1.37", "1.36"))
	require.Equal(t, []string{
		"L11.4 profiles[0].plugins.placementScore", "L11.2 profiles[0].pluginConfig[1].args.shape", "L11.3 profiles[0].pluginConfig[2].args.bindingTimeout",
	}, fields("1.37", "1.34"))
	require.Empty(t, fields("1.36", "1.37"))
}

func TestFlags(t *testing.T) {
	code, help, _ := run("-h")
	require.Zero(t, code)
	require.Contains(t, help, "upgrade -f PATH -from VERSION -to VERSION [flags]")
	for _, c := range []struct{ args, want string }{
		{"", "-f: Required value: at least one file, folder or -"},
		{"-f testdata/cluster.yaml", "-from and -to: both versions are required"},
		{"-f testdata/cluster.yaml -from 1.36", "-from and -to: both versions are required"},
		{"-f testdata/cluster.yaml -to 1.36", "-from and -to: both versions are required"},
		{"-f testdata/cluster.yaml -from 1.33 -to 1.36", `release "1.33": known are 1.34, 1.35, 1.36 and 1.37`},
		{"-f testdata/cluster.yaml -from 1.37 -to 1.38", "known are 1.34, 1.35, 1.36 and 1.37; announced, not proven: groups of pods (gate GenericWorkload), "},
		{"-f testdata/cluster.yaml -from 1.36 -to 1.37 web", `unexpected argument "web"`},
		{"-f testdata/cluster.yaml -from 1.36 -to 1.37 -o csv", "csv"},
		{"-f no/such/file -from 1.36 -to 1.37", "no/such/file"},
		{"-f testdata/cluster.yaml -from 1.36 -to 1.37 -config no/such/file", "no/such/file"},
	} {
		code, out, errs := run(strings.Fields(c.args)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	code, _, _ = run(shipped("1.36", "1.37", "-fail-changed")...)
	require.Equal(t, program.No, code)
	code, _, _ = run(shipped("1.36", "1.36", "-fail-changed")...)
	require.Zero(t, code)
	code, _, _ = run(shipped("1.36", "1.37", "-fail-changed", "-n", "vault")...)
	require.Zero(t, code, "the other pods are not shown and do not count")
}

// The outputs have the form of the schema, and the schema that of the type.
func TestSchema(t *testing.T) {
	_, out, _ := run(shipped("1.37", "1.34", "-o", "json", "-config", "testdata/scheduler.yaml")...)
	_, limited, _ := run(shipped("1.36", "1.37", "-o", "json", "-steps", "1")...)
	schema.Check(t, testkit.Golden, map[string]any{"UpgradeReport": upgradeReport{}}, []string{out, limited}, nil)
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// Tables are as wide as the terminal.
func TestTerminal(t *testing.T) {
	var out terminal
	require.Zero(t, Run(t.Context(), shipped("1.36", "1.37"), nil, &out, &strings.Builder{}))
	_, wide, _ := run(shipped("1.36", "1.37")...)
	require.NotEqual(t, wide, out.String())
}
