package place

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// harmful are taints that advice neither tolerates nor removes.
var harmful = []string{
	"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/network-unavailable", "node.kubernetes.io/disk-pressure",
	"node.kubernetes.io/pid-pressure", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/unschedulable", "node.kubernetes.io/out-of-service",
	"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown", "ToBeDeletedByClusterAutoscaler",
	"DeletionCandidateOfClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption", "karpenter.sh/unregistered", "karpenter.sh/not-ready",
	"startup-taint.cluster-autoscaler.kubernetes.io/x", "ignore-taint.cluster-autoscaler.kubernetes.io/x", "status-taint.cluster-autoscaler.kubernetes.io/x",
	"readiness.k8s.io/x", "ebs.csi.aws.com/agent-not-ready", "node.cilium.io/agent-not-ready", "node.cluster.x-k8s.io/uninitialized",
	"cloud.google.com/impending-node-termination", "aws-node-termination-handler/spot-itn", "NodeWithImpairedVolumes", "medik8s.io/remediation",
	"eks.amazonaws.com/compute-type", "virtual-kubelet.io/provider", "CriticalAddonsOnly", "node-role.kubernetes.io/control-plane",
	"node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd", "cloud.google.com/gke-spot", "nvidia.com/gpu", "team",
}

// advice are the words of a remedy that tolerates, removes or labels.
var advice = regexp.MustCompile(`: tolerate |remove the taint|uncordon|: label `)

// A pod that only one node has room for is not told to tolerate or to remove what keeps it off there: in the text, in the data and on
// the page.
func TestNoHarm(t *testing.T) {
	for _, key := range harmful {
		for _, effect := range []string{"NoSchedule", "NoExecute"} {
			input := nodeYAML("small", "1", "") + fmt.Sprintf("---\n{apiVersion: v1, kind: Node, metadata: {name: only, labels: {pool: x}}, spec: {taints: [{key: %s, value: v, effect: %s}]}, status: {allocatable: {cpu: '64', memory: 64Gi, pods: '110'}}}\n", key, effect) +
				podYAML("p", "", 0, "4", "")
			_, out, errs := simulate(t, input, "-f", "-", "-explain", "default/p")
			require.Contains(t, out, "has no node", errs)
			require.False(t, advice.MatchString(without(out)), "%s\n%s", key, out)
			_, out, _ = simulate(t, input, "-f", "-", "-explain", "default/p", "-o", "json")
			var e explanation
			require.NoError(t, json.Unmarshal([]byte(out), &e), out)
			require.False(t, advice.MatchString(strings.Join(e.Help, "\n")), key)
			if key != "node.kubernetes.io/unschedulable" {
				require.NotEmpty(t, e.Dropped, key)
			}
			_, out, _ = simulate(t, input, "-f", "-", "-explain", "default/p", "-o", "html")
			require.NotEmpty(t, out)
			require.False(t, advice.MatchString(without(out)), key)
		}
	}
}

// without returns a text without the lines that say what not to do.
func without(text string) string {
	return regexp.MustCompile(`(?m)^Not: .*$`).ReplaceAllString(text, "")
}
