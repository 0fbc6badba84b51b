package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// gpuZones has two GPUs on n1 of zone a, none on n2 of zone a, and one on n3 of zone b. A class gives them a resource name too.
func gpuZones() string {
	var b strings.Builder
	for _, n := range []struct {
		name, zone string
		gpus       int
	}{{"n1", "a", 2}, {"n2", "a", 0}, {"n3", "b", 1}} {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s, topology.kubernetes.io/zone: %[2]s}}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "20"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: %[1]s}
spec: {driver: gpu.example.com, nodeName: %[1]s, pool: {name: %[1]s, generation: 1, resourceSliceCount: 1}, devices: [`, n.name, n.zone)
		for k := range n.gpus {
			fmt.Fprintf(&b, "{name: gpu-%d}, ", k)
		}
		b.WriteString("]}\n")
	}
	return b.String() + `---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
`
}

const oneGPU = `{devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}`

// pod is spread over zones and asks for devices as spec says.
func pod(spec, status string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {namespace: ml, name: web, uid: u-web, labels: {app: web}}
spec:
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]
%s
%s
`, spec, status)
}

const plain = "  containers: [{name: c, image: web, resources: {requests: {cpu: 100m}}}]"

// More pods take as many devices as each node has left.
func TestPlaceDevices(t *testing.T) {
	fromTemplate := plain + "\n  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"
	template := "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {namespace: ml, name: one}\nspec: {spec: " + oneGPU + "}\n"
	claim := func(name, status string) string {
		return "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {namespace: ml, name: " + name + ", uid: c-" + name +
			", ownerReferences: [{apiVersion: v1, kind: Pod, name: web, uid: u-web, controller: true}]}\nspec: " + oneGPU + "\n" + status
	}
	allocated := func(node string) string {
		return "status: {allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: " + node + ", device: gpu-0}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [" + node + "]}]}]}}}\n"
	}
	type test struct {
		name, why, input string
		want             []string
	}
	testkit.Run(t, []test{
		{"no devices", "every node has room", pod(plain, ""), []string{"n1", "n3", "n2", "n3", "n1"}},
		{"from a template", "zone b takes one pod, so zone a takes two", template + pod(fromTemplate, ""), []string{"n1", "n3", "n1"}},
		{"from a template that is not in the input", "the pod's claim says what the template said; its GPU is taken",
			claim("web-gpu", allocated("n1")) + pod("  nodeName: n1\n"+fromTemplate, "status: {resourceClaimStatuses: [{name: gpu, resourceClaimName: web-gpu}]}"), []string{"n3", "n1"}},
		{"a resource of the class", "the nodes list none of it", pod(strings.Replace(plain, "cpu: 100m", "cpu: 100m, example.com/gpu: \"1\"", 1), ""), []string{"n1", "n3", "n1"}},
		{"a claim that all share", "it has its device on n3", claim("shared", allocated("n3")) + pod(plain+"\n  resourceClaims: [{name: gpu, resourceClaimName: shared}]", ""), []string{"n3"}},
		{"a template that has changed", "the pod's claim took two GPUs, a new claim takes one", template + strings.Replace(claim("web-gpu", ""), "count: 1", "count: 2", 1) +
			pod(fromTemplate, "status: {resourceClaimStatuses: [{name: gpu, resourceClaimName: web-gpu}]}"), []string{"n1", "n3", "n1"}},
		{"claims of several templates", "the status of the right claim counts, not the one before it",
			strings.Replace(claim("other", ""), "count: 1", "count: 2", 1) + claim("web-gpu", "") +
				pod(fromTemplate, "status: {resourceClaimStatuses: [{name: none}, {name: other, resourceClaimName: other}, {name: gpu, resourceClaimName: web-gpu}]}"), []string{"n1", "n3", "n1"}},
		{"no claim was needed", "the status has no name, so nobody knows the template", pod(fromTemplate, "status: {resourceClaimStatuses: [{name: gpu}]}"), []string{}},
		{"the claim is not in the input", "nobody knows the template", pod(fromTemplate, "status: {resourceClaimStatuses: [{name: gpu, resourceClaimName: web-gpu}]}"), []string{}},
		{"no claim", "nobody can make it", pod(fromTemplate, ""), []string{}},
	}, func(t *testing.T, c test) {
		code, out, errs := check(gpuZones()+c.input, "-f", "-", "-spread", "ml/web", "-place", "5", "-o", "json")
		require.Zero(t, code, errs)
		var s spreadReport
		require.NoError(t, json.Unmarshal([]byte(out), &s))
		require.Equal(t, &placed{5, c.want, true}, s.Place)
		_, out, _ = check(gpuZones()+c.input, "-f", "-", "-spread", "ml/web", "-place", "1", "-o", "json")
		s = spreadReport{}
		require.NoError(t, json.Unmarshal([]byte(out), &s))
		require.Equal(t, &placed{1, c.want[:min(1, len(c.want))], true}, s.Place)
	})
}

// Where the rooms of two nodes do not add up, -place says so.
func TestPlaceSharedDevices(t *testing.T) {
	const want = "-place: Forbidden: pods like ml/web on several nodes need the same devices or the same claim; fit counts them"
	claims := "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {namespace: ml, name: free, uid: c-free}\nspec: " + oneGPU + "\n"
	code, out, errs := check(gpuZones()+claims+pod(plain+"\n  resourceClaims: [{name: gpu, resourceClaimName: free}]", ""), "-f", "-", "-spread", "ml/web", "-place", "5")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, want)
}

// A search that was cut short says so where it found too few nodes.
func TestUnprovenPlaces(t *testing.T) {
	for found, want := range []string{"\n0 of 2 more pods find a node; the search was cut short, so there may be room for more\n", "\n1 of 2 more pods find a node; the search was cut short, so there may be room for more\n\n1   n\n", "\n2 of 2 more pods find a node\n\n1   n\n2   n\n"} {
		var b strings.Builder
		(&spreadReport{Constraints: []constraint{{}}, Place: &placed{Asked: 2, Nodes: []string{"n", "n"}[:found]}}).table(&b, report.Layout{NoHeaders: true})
		require.Equal(t, want, b.String())
	}
}
