package place

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

const configHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// configFile writes a configuration.
func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// placed returns where the pods of a simulation went, or why they went nowhere, by name.
func placed(t *testing.T, out string) map[string]string {
	t.Helper()
	var result struct {
		Pods []struct{ Pod, Node, Outcome, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result), "%q", out)
	nodes := map[string]string{}
	for _, p := range result.Pods {
		nodes[p.Pod] = p.Node
		if p.Node == "" {
			nodes[p.Pod] = p.Message
		}
	}
	return nodes
}

// twoNodes has a full and an empty node, and pods of three schedulers.
const twoNodes = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: empty}, status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: half, labels: {team: foo}}, status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}}
- {apiVersion: v1, kind: Pod, metadata: {name: running}, spec: {nodeName: half, containers: [{name: c, resources: {requests: {cpu: "4", memory: 8Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: packed}, spec: {schedulerName: packing, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: foo}, spec: {schedulerName: foo-scheduler, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}}
`

// A configuration that only names defaults changes nothing.
func TestDefaultConfiguration(t *testing.T) {
	_, want, _ := simulate(t, "", "-f", shop, "-o", "json", "-detail")
	for _, text := range []string{
		configHead + "percentageOfNodesToScore: 100\n",
		configHead + "profiles: [{percentageOfNodesToScore: 100}]\n",
		strings.Replace(configHead, "/v1", "/v1beta3", 1) + "percentageOfNodesToScore: 100\npodInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 10\n",
	} {
		code, out, errs := simulate(t, "", "-f", shop, "-o", "json", "-detail", "-config", configFile(t, text))
		require.Zero(t, code, errs)
		if !strings.Contains(text, "/v1beta3") { // which has one warning
			require.Empty(t, errs)
		}
		require.Equal(t, want, out)
	}
}

// Each pod goes by the profile that its schedulerName names.
func TestConfiguredProfiles(t *testing.T) {
	file := configFile(t, configHead+`
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  plugins:
    score: {enabled: [{name: NodeResourcesFit, weight: 10}], disabled: [{name: NodeResourcesBalancedAllocation}]}
    multiPoint: {enabled: [{name: GangScheduling}]}
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
- schedulerName: foo-scheduler
  pluginConfig:
  - name: NodeAffinity
    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: team, operator: In, values: [foo]}]}]}}}
`)
	code, out, errs := simulate(t, twoNodes, "-f", "-", "-o", "json", "-config", file)
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"default/web": "empty", "default/packed": "half", "default/foo": "half"}, placed(t, out))
	require.Equal(t, "warning: the input has no PriorityClass; if the cluster has such objects, they could change the answer: kubectl get priorityclasses -A -o yaml\n"+
		"warning: profile packing: plugin GangScheduling is left out at PreEnqueue: podberth does not have it\n"+
		"warning: profile packing: plugin GangScheduling is left out at Permit: podberth does not have it\n", errs)

	code, out, errs = simulate(t, twoNodes, "-f", "-", "-config", file, "-how-many", "default/foo")
	require.Zero(t, code, errs)
	require.Contains(t, out, "4 more pod(s) like default/foo fit.", "on the node of its profile alone")

	code, out, errs = simulate(t, twoNodes, "-f", "-", "-o", "json")
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"default/web": "empty"}, placed(t, out), "without a configuration the others are left alone")
}

// Filters, preemption and percentages of a configuration have an effect. -percentage wins over a percentage of the file.
func TestConfiguredPlugins(t *testing.T) {
	crowded := strings.ReplaceAll(twoNodes, `cpu: "1"`, `cpu: "9"`)
	file := configFile(t, configHead+"profiles: [{plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}}]\n")
	code, out, errs := simulate(t, crowded, "-f", "-", "-o", "json", "-config", file)
	require.Zero(t, code, errs)
	require.Equal(t, "empty", placed(t, out)["default/web"], "nothing looks at resources")

	file = configFile(t, configHead+"profiles: [{plugins: {postFilter: {disabled: [{name: '*'}]}}}]\n")
	_, out, errs = simulate(t, crowded, "-f", "-", "-o", "json", "-config", file)
	require.Equal(t, "0/2 nodes are available: 2 Insufficient cpu.", placed(t, out)["default/web"], errs)

	file = configFile(t, configHead+"percentageOfNodesToScore: 30\nprofiles: [{schedulerName: a, percentageOfNodesToScore: 0}, {schedulerName: b}]\npodInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 3\n")
	with, _, err := optionsOf(options{config: file, percentage: -1}, io.Discard)
	require.NoError(t, err)
	require.EqualValues(t, 30, with.PercentageOfNodesToScore)
	require.Zero(t, *with.Profiles[0].PercentageOfNodesToScore)
	require.Nil(t, with.Profiles[1].PercentageOfNodesToScore)
	require.Equal(t, "2s 3s", with.InitialBackoff.String()+" "+with.MaxBackoff.String())
	with, _, err = optionsOf(options{config: file, percentage: 70}, io.Discard)
	require.NoError(t, err)
	for _, p := range with.Profiles {
		require.EqualValues(t, 70, *p.PercentageOfNodesToScore)
	}
}

// A negative weight turns a score around, where kube-scheduler accepts one. There is no plan with it, so nothing to explain.
func TestNegativeWeight(t *testing.T) {
	const lists = "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodeResourcesFit, weight: %s}]}}}]\n"
	for weight, node := range map[string]string{"1": "empty", "-1": "half"} {
		file := configFile(t, configHead+strings.Replace(lists, "%s", weight, 1))
		code, out, errs := simulate(t, twoNodes, "-f", "-", "-o", "json", "-config", file)
		require.Zero(t, code, errs)
		require.Equal(t, node, placed(t, out)["default/web"], "weight %s", weight)
	}
	file := configFile(t, configHead+strings.Replace(lists, "%s", "-1", 1))
	code, out, errs := simulate(t, twoNodes, "-f", "-", "-o", "json", "-detail", "-config", file)
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "place: scores[0].weight: Invalid value: -1: must not be negative; 0 means 1\n")
	code, _, errs = simulate(t, twoNodes, "-f", "-", "-o", "html", "-config", file)
	require.Zero(t, code)
	require.Contains(t, errs, "warning: pod default/web: the page has no verdict of every plugin: scores[0].weight: Invalid value: -1: ")
}

// The simulation asks extenders, but never to bind.
func TestConfiguredExtenders(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/filter" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"NodeNames":["half"],"FailedNodes":{"empty":"the extender says no"}}`)
	}))
	defer server.Close()
	file := configFile(t, configHead+"extenders: [{urlPrefix: '"+server.URL+"', filterVerb: filter, bindVerb: bind, nodeCacheCapable: true}]\n")
	code, out, errs := simulate(t, twoNodes, "-f", "-", "-o", "json", "-config", file)
	require.Zero(t, code, errs)
	require.Equal(t, "half", placed(t, out)["default/web"])
	require.EqualValues(t, 1, asked.Load())
	require.Contains(t, errs, "warning: extender "+server.URL+": is not asked to bind\n")
	server.Close()
	_, out, errs = simulate(t, twoNodes, "-f", "-", "-o", "json", "-config", file)
	require.Contains(t, placed(t, out)["default/web"], "connection refused", errs)
	file = configFile(t, configHead+"extenders: [{urlPrefix: '"+server.URL+"', filterVerb: filter, prioritizeVerb: prioritize, weight: 1, ignorable: true}]\n")
	_, out, errs = simulate(t, twoNodes, "-f", "-", "-o", "json", "-config", file)
	require.Equal(t, "empty", placed(t, out)["default/web"], errs)
	require.Equal(t, 1, strings.Count(errs, "warning: extender "+server.URL+": passed over: Post "), errs)
}

// A configuration that a ConfigMap holds is read. The document of v1 that is printed for an old configuration loads as it stands, and has the
// defaults of the old version: constraints without a type are a list.
func TestConfigurationsThatPeopleHave(t *testing.T) {
	const strategy = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]\n"
	inMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  scheduler.yaml: |\n    " + strings.ReplaceAll(strings.TrimSpace(configHead+strategy), "\n", "\n    ") + "\n"
	code, out, errs := simulate(t, twoNodes, "-f", "-", "-o", "json", "-config", configFile(t, inMap))
	require.Zero(t, code, errs)
	_, plain, _ := simulate(t, twoNodes, "-f", "-", "-o", "json")
	_, bare, _ := simulate(t, twoNodes, "-f", "-", "-o", "json", "-config", configFile(t, configHead+strategy))
	require.Equal(t, placed(t, bare), placed(t, out))
	require.NotEqual(t, placed(t, plain), placed(t, out), "the strategy decides")

	old := strings.Replace(configHead, "/v1", "/v1beta1", 1) + "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]}]\n"
	code, _, errs = simulate(t, twoNodes, "-f", "-", "-config", configFile(t, old))
	require.Equal(t, program.BadInput, code)
	_, now, found := strings.Cut(errs, "In kubescheduler.config.k8s.io/v1 it is:\n")
	require.True(t, found, errs)
	require.Contains(t, now, "defaultingType: List")
	const service = "---\n{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: spread, labels: {app: web}}, spec: {containers: [{name: c}]}}\n"
	_, out, errs = simulate(t, twoNodes+service, "-f", "-", "-o", "json", "-config", configFile(t, now))
	require.Contains(t, out, "topology spread constraints", errs)
	_, out, _ = simulate(t, twoNodes+service, "-f", "-", "-o", "json")
	require.NotContains(t, out, "topology spread constraints")
}

func TestBadConfigurations(t *testing.T) {
	type test struct{ name, text, err string }
	testkit.Run(t, []test{
		{"invalid", configHead + "parallelism: 0\n", ": parallelism: Invalid value: 0: should be an integer value greater than zero\n"},
		{"unknown plugin", configHead + "profiles: [{plugins: {filter: {enabled: [{name: Nope}]}}}]\n", `: initializing profiles: creating profile for scheduler name default-scheduler: FilterPlugin "Nope" does not exist` + "\n"},
		{"TLS", configHead + "extenders: [{enableHTTPS: true, tlsConfig: {caFile: /nope}}]\n", ": couldn't build extenders: open /nope: no such file or directory\n"},
		{"old", strings.Replace(configHead, "/v1", "/v1alpha1", 1) + "algorithmSource: {provider: DefaultProvider}\npercentageOfNodesToScore: 50\n",
			`: no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1alpha1" in scheme "pkg/runtime/scheme.go:111"` + "\nIn kubescheduler.config.k8s.io/v1 it is:\n" + configHead + "percentageOfNodesToScore: 50\nprofiles:\n- plugins:\n    score:\n      enabled:\n      - name: InterPodAffinity\n        weight: 1\n      - name: NodeAffinity\n        weight: 1\n      - name: TaintToleration\n        weight: 1\n"},
	}, func(t *testing.T, c test) {
		file := configFile(t, c.text)
		code, out, errs := simulate(t, twoNodes, "-f", "-", "-config", file)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Equal(t, "place: "+file+c.err, errs)
	})
	code, _, errs := simulate(t, twoNodes, "-f", "-", "-config", "/nope")
	require.Equal(t, program.BadInput, code)
	require.Equal(t, "place: -config: open /nope: no such file or directory\n", errs)
}
