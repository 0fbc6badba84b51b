package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The first five lines about a pod that waits say what would have to change. They say more than the condition of the pod, which
// kubectl describe shows: that counts nodes by reason and names no change.
func TestPendingPods(t *testing.T) {
	type test struct{ name, reason, change string }
	testkit.Run(t, []test{
		{"big-cpu", "it asks for more cpu than a node that it tolerates has, and is not meant for the GPUs", "but with cpu 6 or more"},
		{"big-memory", "no open node has so much memory left", "requests.memory from 14Gi to 8Gi"},
		{"wrong-label", "no node has the value of its nodeSelector", "drop spec.nodeSelector[disktype]"},
		{"gpu", "the only node with devices is tainted", "tolerate nvidia.com/gpu:NoSchedule (operator Exists)"},
		{"gpu-too-many", "no node has four devices", "requests.nvidia.com/gpu from 4 to 2"},
		{"apart", "its anti-affinity over zones meets a replica", "spec.affinity.podAntiAffinity"},
		{"together", "nothing runs that its affinity wants near", "spec.affinity.podAffinity"},
		{"zone", "its node affinity wants a zone that does not exist", "spec.affinity.nodeAffinity"},
		{"cordoned", "its node is cordoned", "Node n5: uncordon"},
		{"even", "its spread constraint has no room", "maxSkew from 1 to 2"},
	}, func(t *testing.T, c test) {
		code, out, errs := podberth(t, "", "why", "shop/"+c.name, "-f", "testdata/pending.yaml", "--width", "120")
		require.Zero(t, code, errs)
		lines := strings.Split(out, "\n")
		first := strings.Join(lines[:min(7, len(lines))], "\n")
		require.Contains(t, first, "Do: ")
		require.Contains(t, first, c.change)

		var e struct{ Message string }
		_, out, _ = podberth(t, "", "why", "shop/"+c.name, "-f", "testdata/pending.yaml", "-o", "json")
		require.NoError(t, json.Unmarshal([]byte(out), &e))
		require.True(t, strings.HasPrefix(e.Message, "0/5 nodes are available: "), e.Message)
		require.NotContains(t, e.Message, c.change, "what kubectl describe shows does not say so")
	})
}
