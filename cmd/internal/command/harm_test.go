package command_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// onlyThere is a cluster in which two pods of a Deployment and a bare one have room on a single node alone, and this node has a taint. Another node
// of its kind is full, so that the taint of a person would be a mark. Half of the pods select the node, so that they would be meant for its pool.
func onlyThere(r *rand.Rand, key string) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	meant := r.IntN(2) == 0
	effect, value := pick("NoSchedule", "NoExecute"), pick("", "true", "v")
	node := func(name, spec, cpu string) string {
		labels := ""
		if meant && name == "only" {
			labels = ", disk: ssd"
		}
		return fmt.Sprintf("---\n{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s, topology.kubernetes.io/zone: %s, pool: general%s}}, spec: {%s}, status: {allocatable: {cpu: '%s', memory: 16Gi, pods: '10'}, conditions: [{type: Ready, status: 'True'}]}}\n",
			name, name, pick("a", "b"), labels, spec, cpu)
	}
	cordon := ""
	if key == "node.kubernetes.io/unschedulable" {
		cordon = "unschedulable: true, "
	}
	text := node("full", "", "16") + node("only", fmt.Sprintf("%staints: [{key: %s, value: '%s', effect: %s}]", cordon, key, value, effect), "16")
	if r.IntN(2) == 0 {
		text += node("small", "", "1")
	}
	rules := pick("", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}], ",
		"tolerations: [{key: other, operator: Exists}], ")
	if meant {
		rules = "nodeSelector: {disk: ssd}, " + rules
	}
	containers := "containers: [{name: c, image: registry.example.com/i:1, resources: {requests: {cpu: '3', memory: 1Gi}}}]"
	template := fmt.Sprintf("{metadata: {labels: {app: web}}, spec: {%s%s}}", rules, containers)
	text += fmt.Sprintf("---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: %s}}\n", template) +
		fmt.Sprintf("---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, uid: r, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: %s}}\n", template) +
		"---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}\n"
	for k, where := range []string{"nodeName: full, ", "", ""} {
		phase := "Pending"
		if where != "" {
			phase = "Running, conditions: [{type: Ready, status: 'True'}]"
		}
		text += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: web-1-%d, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}]}, spec: {priority: 0, %s%s%s}, status: {phase: %s}}\n", k, where, rules, containers, phase)
	}
	text += "---\n{apiVersion: v1, kind: Pod, metadata: {name: filler}, spec: {nodeName: full, priority: 10, containers: [{name: c, image: registry.example.com/i:1, resources: {requests: {cpu: '12'}}}]}, status: {phase: Running}}\n"
	return text + fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {priority: 0, %s%s}, status: {phase: Pending}}\n", rules, containers)
}

// Every command about clusters in which a pod fits on one node alone, which has a taint that advice neither tolerates nor removes: no output
// says so, in any form.
func TestNoForbiddenEdit(t *testing.T) {
	const every = 4 // questions about every taint; of the others each taint has some
	questions := [][]string{
		{"why", "deployment/web", "-o", "wide"}, {"why", "bare", "-o", "json"}, {"lint"}, {"place", "-o", "html"},
		{"why", "deployment/web"}, {"why", "deployment/web", "-o", "html"}, {"why", "bare", "--where", "only"}, {"place"}, {"place", "-o", "json"}, {"lint", "-o", "json"}, {"lint", "-o", "sarif"},
		{"drain", "full", "--force"}, {"drain", "full", "--force", "-o", "json"}, {"evict", "web-1-0"}, {"failures"}, {"failures", "-o", "json"}, {"consolidate", "--steps", "20", "--why"},
		{"rollout", "--surge", "1"}, {"preflight", "--from", "1.36", "--to", "1.37", "--surge", "1", "--time", "0"}, {"upgrade", "--from", "1.36", "--to", "1.37"},
		{"no-pods", "deployment/web"}, {"what-if", "--scale", "deployment/web=4"}, {"what-if", "--remove-node", "full", "-o", "json"}, {"fit", "bare"}, {"taints", "only"}, {"check"},
	}
	keys := testkit.AgentTaints
	if testing.Short() {
		keys = keys[:6]
	}
	waits := 0
	for k, key := range keys {
		input := onlyThere(rand.New(rand.NewPCG(uint64(k), 74)), key)
		for at, q := range questions {
			if at >= every && k%8 != at%8 {
				continue
			}
			_, out, errs := podberth(t, input, append(q, "-f", "-")...)
			require.NotEmpty(t, out+errs, "%s: %v", key, q)
			require.NotContains(t, errs, "error:", "%s: %v", key, q)
			require.Empty(t, testkit.Harms(out), "%s: %v", key, q)
			require.Empty(t, testkit.Harms(errs), "%s: %v", key, q)
			if q[0] == "why" && strings.Contains(out, "waits: ") {
				waits++
			}
		}
	}
	require.GreaterOrEqual(t, waits, len(keys))

	told := 0
	for k := range uint64(8) { // the taint of a person
		_, out, _ := podberth(t, onlyThere(rand.New(rand.NewPCG(k, 74)), "example.com/team"), "why", "bare", "-o", "wide", "-f", "-")
		if strings.Contains(out, "tolerate example.com/team") || strings.Contains(out, "remove the taint example.com/team") {
			told++
		}
	}
	require.Equal(t, 8, told)
}

// No golden file of any command, and none of a library, has such a sentence either.
func TestNoForbiddenEditInGoldenFiles(t *testing.T) {
	testkit.Sequential(t)
	files := 0
	require.NoError(t, filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "/testdata/") || strings.Contains(path, "/fuzz/") {
			return err
		}
		switch filepath.Ext(path) {
		case ".txt", ".json", ".yaml", ".table", ".page", ".sh", ".sarif":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, line := range testkit.Harms(string(text)) {
			require.Contains(t, line, "kube-system", "%s: pods of the cluster itself alone tolerate its nodes", path)
		}
		return nil
	}))
	require.Greater(t, files, 500)
}
