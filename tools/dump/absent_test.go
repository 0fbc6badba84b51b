package dump

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The command that makes a dump names every kind that is read, but for one that clusters before v1.37 do not serve: kubectl would print
// nothing at all there. The package comment and docs/start/terminal.md have the command.
func TestCommandMakesAWholeDump(t *testing.T) {
	list := strings.Split(strings.Fields(Command)[2], ",")
	for kind := range kinds {
		if kind != "Eviction" && kind != "Kubelet" && kind != taintRule && !strings.HasSuffix(kind, "PodGroup") { // a request, what kubectl does not print, and what many servers lack
			require.Contains(t, list, plural(kind))
		}
	}
	require.Len(t, list, len(kinds)-5)
	for _, file := range []string{"doc.go", "../../docs/start/terminal.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), Command, file)
	}
}

// Kinds that the input lacks are named where the answer could change.
func TestAbsentKindsAreNamed(t *testing.T) {
	const (
		node      = "{apiVersion: v1, kind: Node, metadata: {name: n1}}"
		low       = "{apiVersion: v1, kind: Pod, metadata: {name: low}, spec: {nodeName: n1, priority: 0}}"
		equal     = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0}}"
		high      = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 10}}"
		fresh     = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}"
		disk      = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}"
		ephemeral = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0, volumes: [{name: u, emptyDir: {}}, {name: v, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}}"
		bound     = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: n1, priority: 0, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}"
		near      = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, namespaceSelector: {matchLabels: {team: a}}}]}}}}"
	)
	settled := strings.Replace(near, "spec: {", "spec: {nodeName: n1, ", 1)
	all := func(*v1.Pod) bool { return true }
	line := func(names, plurals string) string {
		return "the input has no " + names + "; if the cluster has such objects, they could change the answer: kubectl get " + plurals + " -A -o yaml"
	}
	testkit.Run(t, []struct {
		name, why string
		text      []string
		asks      Asks
		want      string
	}{
		{"nothing", "no pod could be preempted, none has claims", []string{node, low, equal}, Asks{Placed: Pending}, ""},
		{"no nodes", "no pod can be placed", []string{equal}, Asks{Placed: Pending}, line("Node", "nodes")},
		{"budgets", "the pending pod could preempt", []string{node, low, high}, Asks{Placed: Pending}, line("PodDisruptionBudget", "poddisruptionbudgets")},
		{"budgets in any case", "a drain", []string{node, low}, Asks{Placed: Pending, Budgets: true}, line("PodDisruptionBudget", "poddisruptionbudgets")},
		{"priority classes", "one could be the default", []string{node, fresh}, Asks{Placed: Pending}, line("PriorityClass", "priorityclasses")},
		{"storage", "the pod has a claim", []string{node, disk}, Asks{Placed: Pending}, line("PersistentVolume, PersistentVolumeClaim, StorageClass, CSINode", "persistentvolumes,persistentvolumeclaims,storageclasses,csinodes")},
		{"several pods", "each kind is named once", []string{node, disk, strings.Replace(ephemeral, "name: a", "name: b", 1)}, Asks{Placed: Pending}, line("PersistentVolume, PersistentVolumeClaim, StorageClass, CSINode", "persistentvolumes,persistentvolumeclaims,storageclasses,csinodes")},
		{"an ephemeral volume", "it has a claim of its own", []string{node, ephemeral}, Asks{Placed: Pending}, line("PersistentVolume, PersistentVolumeClaim, StorageClass, CSINode", "persistentvolumes,persistentvolumeclaims,storageclasses,csinodes")},
		{"a finished pod", "it asks for nothing", []string{node, strings.Replace(disk, "spec:", "status: {phase: Failed}, spec:", 1)}, Asks{Placed: all, Budgets: true}, ""},
		{"a finished pod of low priority", "nobody preempts it", []string{node, strings.Replace(low, "spec:", "status: {phase: Failed}, spec:", 1), high}, Asks{Placed: Pending}, ""},
		{"a pod that is being deleted", "it waits for no node", []string{node, low, strings.Replace(disk, "name: a", "name: a, deletionTimestamp: '2026-03-02T08:00:00Z'", 1)}, Asks{Placed: Pending}, ""},
		{"a running pod without priority", "no class is asked for", []string{node, strings.Replace(fresh, "spec: {", "spec: {nodeName: n1", 1)}, Asks{Placed: all}, ""},
		{"a running pod that stays", "its claims are bound", []string{node, bound}, Asks{Placed: Pending}, ""},
		{"a running pod that moves", "its claims matter again", []string{node, bound}, Asks{Placed: all}, line("PersistentVolume, PersistentVolumeClaim, StorageClass, CSINode", "persistentvolumes,persistentvolumeclaims,storageclasses,csinodes")},
		{"nothing moves", "no pod looks for a node", []string{node, low, disk}, Asks{}, ""},
		{"affinity of a running pod", "nothing asks", []string{node, settled}, Asks{}, ""},
		{"affinity of a running pod, asked", "does it still hold", []string{node, settled}, Asks{Namespaces: true}, line("Namespace", "namespaces")},
		{"namespaces", "their labels are selected", []string{node, near}, Asks{Placed: Pending}, line("Namespace", "namespaces")},
	}, func(t *testing.T, c struct {
		name, why string
		text      []string
		asks      Asks
		want      string
	}) {
		o, err := readText(strings.Join(c.text, "\n---\n"), Options{})
		require.NoError(t, err)
		o.Absent(c.asks)
		require.Equal(t, c.want, strings.Join(o.Warnings.Lines(), "\n"), c.why)
	})
}

// Labels of namespaces matter where a term of any of the four kinds selects them.
func TestSelectorsOfNamespaces(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "namespaceSelector: {}": false, "namespaceSelector: {matchLabels: {team: a}}": true,
		"namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}": true,
	} {
		for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
			for _, terms := range []string{"requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}, {topologyKey: zone, %s}]", "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, %s}}]"} {
				text := "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {affinity: {" + kind + ": {" + strings.Replace(terms, "%s", text, 1) + "}}}}"
				o, err := readText(text, Options{})
				require.NoError(t, err)
				require.Equal(t, want, selectsNamespaces(o.Pods[0]), text)
			}
		}
	}
	require.False(t, selectsNamespaces(&v1.Pod{}))
}
