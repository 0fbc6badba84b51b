package place

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// documents joins YAML documents.
func documents(list ...string) string { return strings.Join(list, "\n---\n") }

// Pods that stand on a node whose kubelet would not admit them are warned of, and counted there.
func TestKubeletAdmission(t *testing.T) {
	const (
		node   = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: hdd}}, spec: {taints: [{key: out, effect: NoExecute}, {key: full, effect: NoSchedule}]}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}"
		stays  = "tolerations: [{key: out, operator: Exists}], "
		begins = "warning: pod default/p is on node n1, whose kubelet would not admit it: "
	)
	type test struct{ name, why, spec, annotations, want string }
	testkit.Run(t, []test{
		{"too large", "the numbers of the resource", stays + "containers: [{name: c, resources: {requests: {cpu: '5'}}}]", "",
			begins + "OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 500, capacity: 4000\n"},
		{"memory", "in bytes", stays + "containers: [{name: c, resources: {requests: {memory: 9Gi}}}]", "",
			begins + "OutOfmemory: Pod was rejected: Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592\n"},
		{"node selector", "nodeName does not overrule it at the kubelet", stays + "nodeSelector: {disk: ssd}, containers: [{name: c}]", "",
			begins + "NodeAffinity: Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector\n"},
		{"host port", "another pod has it", stays + "containers: [{name: c, ports: [{containerPort: 80, hostPort: 80}]}]", "",
			begins + "NodePorts: Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports\n"},
		{"NoExecute taint", "not tolerated", "containers: [{name: c}]", "",
			begins + "TaintToleration: Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate\n"},
		{"static pod", "taints do not keep static pods away", "containers: [{name: c}]", "kubernetes.io/config.source: file", ""},
		{"fits", "NoSchedule taints are not the kubelet's", stays + "containers: [{name: c}]", "", ""},
	}, func(t *testing.T, c test) {
		other := "{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {nodeName: n1, priority: 0, " + stays + "containers: [{name: c, ports: [{containerPort: 80, hostPort: 80}], resources: {requests: {cpu: 500m}}}]}}"
		if c.name != "host port" {
			other = strings.Replace(other, "hostPort: 80", "name: web", 1)
		}
		pod := "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {" + c.annotations + "}}, spec: {nodeName: n1, priority: 0, " + c.spec + "}}"
		code, _, errs := simulate(t, documents(node, other, pod), "-f", "-", "-v")
		require.Zero(t, code)
		got := ""
		for _, line := range strings.SplitAfter(errs, "\n") {
			if !strings.Contains(line, "pod default/other ") { // the one whose port is taken in turn
				got += line
			}
		}
		require.Equal(t, c.want, got, c.why)
	})
}

// The documents' kata-fc from the dump to the decision: with -admit overhead, priority and tolerations are those of the
// API server.
func TestAdmission(t *testing.T) {
	const (
		class  = "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata-fc}, handler: kata-fc, overhead: {podFixed: {cpu: 250m, memory: 120Mi}}, scheduling: {nodeSelector: {vm: 'true'}, tolerations: [{key: vm, operator: Exists}]}}"
		high   = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high-priority}, value: 1000000}"
		small  = "{apiVersion: v1, kind: Node, metadata: {name: small, labels: {vm: 'true'}}, status: {allocatable: {cpu: '2', memory: 8Gi, pods: '10'}}}"
		large  = "{apiVersion: v1, kind: Node, metadata: {name: large, labels: {vm: 'true'}}, spec: {taints: [{key: vm, effect: NoSchedule}]}, status: {allocatable: {cpu: 2250m, memory: 8Gi, pods: '10'}}}"
		plain  = "{apiVersion: v1, kind: Node, metadata: {name: plain}, status: {allocatable: {cpu: '64', memory: 8Gi, pods: '10'}}}"
		limits = "containers: [{name: a, resources: {limits: {cpu: 500m, memory: 100Mi}}}, {name: b, resources: {limits: {cpu: 1500m, memory: 100Mi}}}]"
	)
	pod := func(spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: test-pod}, spec: {" + spec + ", " + limits + "}}"
	}
	type test struct {
		name, why, pod string
		args           []string
		out, err       string
	}
	testkit.Run(t, []test{
		{"kata-fc", "2250m with overhead: only the large node has them, and the class brings selector and toleration",
			pod("runtimeClassName: kata-fc, priorityClassName: high-priority"), nil, "large", ""},
		{"admitted already", "a pod with a priority is taken as it is: no overhead, no requests, any node",
			pod("runtimeClassName: kata-fc, priority: 0"), nil, "plain", ""},
		{"-admit", "unless admission is asked for", pod("runtimeClassName: kata-fc, priority: 0"), []string{"-admit"}, "large", ""},
		{"system class", "exists without being in the input", pod("runtimeClassName: kata-fc, priorityClassName: system-node-critical"), nil, "large", ""},
		{"overhead preset", "not that of the class", pod("runtimeClassName: kata-fc, overhead: {cpu: 1}"), nil, "",
			`pods "test-pod" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`},
		{"unknown runtime class", "not in the input", pod("runtimeClassName: gvisor"), nil, "",
			`pod rejected: RuntimeClass "gvisor" not found`},
		{"unknown priority class", "not in the input", pod("priorityClassName: gold"), nil, "",
			`pods "test-pod" is forbidden: no PriorityClass with name gold was found`},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, documents(class, high, small, large, plain, c.pod), append([]string{"-f", "-"}, c.args...)...)
		if c.err != "" {
			require.Zero(t, code, c.why)
			require.Empty(t, errs)
			require.Contains(t, out, outcomeRefused)
			require.Contains(t, out, c.err)
			return
		}
		require.Zero(t, code, errs)
		require.Contains(t, out, c.out, c.why)
		for _, other := range []string{"small", "large", "plain"} {
			if other != c.out {
				require.NotContains(t, out, other, c.why)
			}
		}
	})
}

// A quota without a status counts the pods that are there at the beginning, which is the latest time of the input: not one whose grace period is over.
func TestQuotaAtTheBeginning(t *testing.T) {
	input := func(later string) string {
		return nodeYAML("n1", "4", "") + "---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {pods: 1}}}\n" +
			"---\n{apiVersion: v1, kind: Pod, metadata: {name: leaves, deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30}, spec: {nodeName: n1, containers: [{name: c, image: i}]}, status: {phase: Running}}\n" +
			"---\n{apiVersion: v1, kind: Pod, metadata: {name: new, creationTimestamp: '" + later + "'}, spec: {containers: [{name: c, image: i}]}}\n"
	}
	for later, admitted := range map[string]bool{"2026-01-01T00:00:10Z": false, "2026-01-01T01:00:00Z": true} {
		_, out, errs := simulate(t, input(later), "-f", "-", "-admit", "-o", "json")
		require.Equal(t, !admitted, strings.Contains(out+errs, "exceeded quota: q"), "%s %s %s", later, out, errs)
	}
}
