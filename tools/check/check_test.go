package check

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

const (
	shop    = "../../examples/testdata/cluster.yaml"
	shipped = "testdata/cluster.yaml"
)

func check(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

// The output on the shipped cluster is asserted whole, in every form, and has the form of the schemas.
func TestShippedCluster(t *testing.T) {
	type test struct {
		name string
		args []string
	}
	testkit.Run(t, []test{
		{"cluster", nil},
		{"spread", []string{"-spread", "shop/web-1"}},
		{"place", []string{"-spread", "shop/web-1", "-place", "5"}},
		{"delete", []string{"-spread", "shop/web-1", "-delete", "3"}},
	}, func(t *testing.T, c test) {
		for form, ending := range map[string]string{"table": ".table", "json": ".json", "yaml": ".out.yaml"} {
			t.Run(form, func(t *testing.T) {
				args := append([]string{"-f", shipped, "-o", form}, c.args...)
				code, out, errs := check("", args...)
				require.Zero(t, code, errs)
				require.Empty(t, errs)
				testkit.Golden(t, filepath.Join("testdata", c.name+ending), out)
			})
		}
	})
	code, out, errs := check("", "-f", shop, "-o", "json") // pods that their nodes reject
	require.Zero(t, code, errs)
	const apart = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {nodeName: n1, containers: [{name: c}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]}}
`
	_, excluded, _ := check(apart, "-f", "-", "-o", "json", "-spread", "default/web")
	schema.Check(t, testkit.Golden, map[string]any{"ClusterCheck": clusterCheck{}, "SpreadReport": spreadReport{}}, []string{out, excluded}, nil)
}

// Running pods that their nodes would reject now are listed with the rule and the numbers.
func TestViolations(t *testing.T) {
	code, out, errs := check("", "-f", shop, "-o", "json", "-fail-found")
	require.Equal(t, program.No, code)
	require.Empty(t, errs)
	var c clusterCheck
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	require.Len(t, c.Violations, 1)
	require.Equal(t, []string{"ml", "serving-6d4b75cb6d-cq6kx", "gpu-c1", "TaintToleration"},
		[]string{c.Violations[0].Namespace, c.Violations[0].Name, c.Violations[0].Node, c.Violations[0].Rejections[0].Plugin})
	code, out, _ = check("", "-f", shop, "-fail-found", "-n", "shop")
	require.Zero(t, code, "nothing is wrong in that namespace")
	require.Contains(t, out, "Pods on nodes that would reject them now: 0 of ")
}

// Mistakes in the constraints of a controller's pods are listed once, with all its pods.
func TestFindings(t *testing.T) {
	_, out, _ := check("", "-f", shipped, "-o", "json")
	var c clusterCheck
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	var kinds []string
	for _, f := range c.Findings {
		require.Equal(t, "ReplicaSet shop/api", f.Owner)
		kinds = append(kinds, f.Kind)
	}
	require.Equal(t, []string{"SelectorMissesPod", "NodesWithoutKey"}, kinds)
	require.Equal(t, []string{"shop/api-1", "shop/api-2"}, c.Findings[0].Pods)
	require.Equal(t, []string{"n5"}, c.Findings[1].Nodes)
}

// More pods go to the domains with fewest pods, as far as there is room.
func TestPlace(t *testing.T) {
	asked := func(n string) *placed {
		_, out, _ := check("", "-f", shipped, "-spread", "web-1", "-n", "shop", "-place", n, "-o", "json")
		var s spreadReport
		require.NoError(t, json.Unmarshal([]byte(out), &s))
		return s.Place
	}
	require.Equal(t, &placed{3, []string{"n3", "n5", "n4"}, true}, asked("3"), "zone b and c have fewer pods; n5 takes one")
	all := asked("100")
	require.Less(t, len(all.Nodes), 100)
	require.True(t, all.Proven)
}

// The pods of the fullest domains go first.
func TestDelete(t *testing.T) {
	_, out, _ := check("", "-f", shipped, "-spread", "shop/web-1", "-delete", "2", "-o", "json")
	var s spreadReport
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Len(t, s.Delete, 2)
	require.Equal(t, "n1", s.Delete[0].Node)
	require.Zero(t, s.Delete[1].Excess)
}

func TestNamespaceAndHeaders(t *testing.T) {
	_, out, _ := check("", "-f", shipped, "-no-headers")
	require.NotContains(t, out, "OWNER")
	require.NotContains(t, out, "Likely")
}

// Bad input: one line on standard error, nothing on standard output, exit 2.
func TestBadInput(t *testing.T) {
	type test struct {
		name, want string
		args       []string
	}
	testkit.Run(t, []test{
		{"no input", "-f: Required value", nil},
		{"an argument", `unexpected argument "x"`, []string{"-f", shipped, "x"}},
		{"unknown output", `-o: Unsupported value: "xml"`, []string{"-f", shipped, "-o", "xml"}},
		{"a wrong name", `-spread: Not found: "shop/wbe-1": no pod of that namespace and name; near: shop/web-1`, []string{"-f", shipped, "-spread", "shop/wbe-1"}},
		{"placing nothing", "-place, -delete: Forbidden: go with -spread", []string{"-f", shipped, "-place", "3"}},
		{"too many", "-place: Invalid value: 100001: not in valid range [1-100000]", []string{"-f", shipped, "-spread", "web-1", "-place", "100001"}},
		{"deleting none", "-delete: Invalid value: -1", []string{"-f", shipped, "-spread", "web-1", "-delete", "-1"}},
		{"no controller", "-delete: Invalid value: the pod has no controller, or none of its pods runs", []string{"-f", shipped, "-spread", "shop/lone", "-delete", "1"}},
		{"an unknown field", `Node: unknown field "spec.colour" in 1 object(s)`, []string{"-f", "-", "-strict"}},
		{"no headers of data", "-no-headers: Invalid value: true: goes with tables", []string{"-f", shipped, "-no-headers", "-o", "json"}},
	}, func(t *testing.T, c test) {
		code, out, errs := check("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {colour: red}}", c.args...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
	})
	code, help, errs := check("", "-h")
	require.Zero(t, code)
	require.Empty(t, errs)
	testkit.Golden(t, "testdata/help.txt", help)
	code, out, errs := check("", "-f", shipped, "-strict", "-spread", "shop/lone")
	require.Zero(t, code, "nothing to warn of")
	require.Empty(t, errs)
	require.Contains(t, out, "app=lone")
}
