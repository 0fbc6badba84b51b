package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// searching are the commands that search, with what they search for. They end by --steps and --time, which have defaults.
var searching = []string{"why", "place", "drain", "failures", "consolidate", "rollout", "upgrade", "preflight"}

// linear are the other commands that decide, with the reason why they need no bound.
var linear = map[string]string{
	"fit":      "places one pod after the other, until one stays",
	"evict":    "asks about one pod",
	"pressure": "ranks the pods of one node",
	"taints":   "plays the events of the pods, each once",
	"check":    "compares two configurations",
	"lint":     "asks each rule about each object",
}

// Every command that searches has bounds, and every other one is known not to search.
func TestEverySearchHasBounds(t *testing.T) {
	for _, p := range []string{"why", "place", "fit", "drain", "evict", "pressure", "taints", "failures", "consolidate", "rollout", "upgrade", "preflight", "check", "lint"} {
		code, help, errs := podberth(t, "", p, "--help")
		require.Zero(t, code, errs)
		searches := slices.Contains(searching, p)
		require.NotEqual(t, searches, linear[p] != "", p)
		for _, flag := range []string{"      --time DURATION ", "      --steps N "} {
			require.Equal(t, searches, strings.Contains(help, flag), "%s%s", p, flag)
		}
	}
	require.Len(t, linear, 6)
}

// onePod are ten nodes, a waiting pod with a spec, and an application with one running pod of that spec.
func onePod(spec string) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {a: b}}\nstatus: {nodeInfo: {kubeletVersion: v1.36.0}, allocatable: {cpu: 2, memory: 4Gi, pods: 10}, conditions: [{type: Ready, status: 'True'}]}\n", i)
	}
	fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: waits, namespace: default}\nspec: {%s}\n", spec)
	fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web, namespace: default, uid: web}\nspec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {%s}}}\nstatus: {replicas: 1}\n", spec)
	fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: runs, namespace: default, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}\n"+
		"spec: {nodeName: n0, %s}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}\n", spec)
	return b.String()
}

// What a command costs does not follow the size of one pod: at most 0.8 s of a processor for a pod with a term of 1,000 requirements or
// with 200 extended resources.
func TestCostOfOnePod(t *testing.T) {
	testkit.Sequential(t)
	var requirements, resources strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&requirements, "{key: k%d, operator: In, values: [a]},", i)
	}
	for i := range 200 {
		fmt.Fprintf(&resources, "example.com/r%d: 1,", i)
	}
	for name, spec := range map[string]string{
		"requirements": "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [" + requirements.String() + "]}]}}}, containers: [{name: c, image: i}]",
		"resources":    "containers: [{name: c, image: i, resources: {requests: {" + resources.String() + "}, limits: {" + resources.String() + "}}}]",
	} {
		in := onePod(spec)
		for _, command := range []string{
			"why default/waits --all", "why default/runs", "why default/runs --where n3", "place", "place --pack", "place --preemption optimal", "fit default/waits", "drain n0 --force", "evict default/runs",
			"taints n0", "failures", "failures --headroom", "consolidate", "rollout --force --ignore-daemonsets", "upgrade --from 1.36 --to 1.37", "preflight --from 1.36 --to 1.37", "check", "lint",
		} {
			began := testkit.ProcessorTime(t)
			code, _, errs := podberth(t, in, append(strings.Fields(command), "-f", "-")...)
			require.Less(t, testkit.ProcessorTime(t)-began, 800*time.Millisecond, "%s, %s", name, command)
			require.Less(t, code, 2, "%s, %s: %s", name, command, errs)
		}
	}
}
