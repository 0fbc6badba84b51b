package testkit

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Harms finds each taint beside each verb, in text and in JSON, and nothing in what is only said about a node.
func TestHarms(t *testing.T) {
	for _, key := range AgentTaints {
		for _, line := range []string{
			"Do: Deployment default/web: tolerate " + key + "=v:NoSchedule: then it goes to n1", "  fix: tolerate a:NoSchedule and " + key + ":NoExecute",
			"Do: Node n1: remove the taint " + key + ":NoSchedule, if it is over: then it goes to n1", "kubectl taint nodes n1 " + key + ":NoSchedule-",
		} {
			require.Len(t, Harms("Pod default/web waits.\n"+line+"\n"), 1, line)
			data, err := json.Marshal(map[string]any{"help": []string{line}, "dropped": []any{map[string]any{"change": line}}})
			require.NoError(t, err)
			require.Len(t, Harms(string(data)), 1, line)
			require.Empty(t, Harms("Not: "+line), line)
		}
		data := `{"changes": [{"kind": "Tolerate", "to": "` + key + `=v:NoSchedule"}]}`
		require.NotEmpty(t, Harms(data), key)
		for _, line := range []string{
			"n1 is reserved by " + key, "Node n1: free disk on n1 (the kubelet then lifts " + key + ")", "it tolerates " + key + ":NoSchedule, and n1 has " + key + ":NoExecute",
			"1 node: node(s) had untolerated taint(s): " + key + ":NoSchedule rejects", "tolerate other:NoSchedule | n1 has " + key,
		} {
			require.Empty(t, Harms(line), line)
		}
	}
	for line, want := range map[string]int{
		"Do: Node n1: label topology.kubernetes.io/zone=a": 1, "Do: Node n1: label disk=ssd: then it goes to n1": 0, "Do: Node n1: remove the label disk=hdd": 1,
		"Do: set topology.kubernetes.io/zone of n1 to a": 1, "Do: set topology.kubernetes.io/zone of n1 to its real zone": 0, "Do: set topology.kubernetes.io/zone of n1 to a, as its spec.providerID says": 0,
		"Do: kubectl drain n1 --grace-period=0": 1, "  remedy: drain with --disable-eviction": 1, "kubectl drain --grace-period=0 -- n1": 0, "tolerate karpenter.sh/disruptions:NoSchedule": 0, "drop claim data": 1, "delete it: no pod uses its devices": 0,
	} {
		require.Len(t, Harms(line), want, line)
	}
}
