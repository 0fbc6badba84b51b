package place

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/placement"
)

// -explain and -detail say what the run decides in clusters where pods preempt, so that nodes are kept for nominated pods.
func TestExplainDecidesAsTheRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	kept, unplaced := 0, 0
	for range 40 {
		var input strings.Builder
		for k := range 2 + rng.IntN(2) {
			input.WriteString(nodeYAML(fmt.Sprintf("n%d", k), "4", ""))
			for p := range rng.IntN(4) {
				input.WriteString(podYAML(fmt.Sprintf("low-%d-%d", k, p), fmt.Sprintf("n%d", k), rng.IntN(3), "1", ""))
			}
		}
		for p := range 3 + rng.IntN(3) {
			affinity := ""
			if rng.IntN(3) == 0 {
				affinity = together
			}
			input.WriteString(podYAML(fmt.Sprintf("p%d", p), "", rng.IntN(4), fmt.Sprint(1+rng.IntN(3)), []string{"", "app: db"}[rng.IntN(2)], affinity))
		}
		code, out, errs := simulate(t, input.String(), "-f", "-", "-detail", "-grace", "-o", "json")
		require.Zero(t, code, errs)
		var a answer
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		first := map[string]entry{}
		for _, e := range a.Attempts {
			if _, again := first[e.Pod]; !again {
				first[e.Pod] = e
			}
			table := map[string]placement.NodeReport{}
			rejected := map[string]int{}
			for _, n := range e.Nodes {
				table[n.Node] = n
				if !n.Feasible() {
					for _, text := range n.Rejections[0].Reasons {
						rejected[text]++
					}
				}
			}
			if e.Outcome == outcomeScheduled {
				require.True(t, table[e.Node].Feasible(), "%s\n%s", e.Pod, input.String())
				continue
			}
			var texts []string
			for text, n := range rejected {
				texts = append(texts, fmt.Sprintf("%d %s", n, text))
			}
			slices.Sort(texts)
			require.True(t, strings.HasPrefix(e.Message, fmt.Sprintf("0/%d nodes are available: %s.", len(e.Nodes), strings.Join(texts, ", "))), "%s %s\n%v\n%s", e.Pod, e.Message, texts, input.String())
			unplaced++
		}
		for pod, e := range first {
			_, out, _ := simulate(t, input.String(), "-f", "-", "-explain", pod, "-grace", "-o", "json")
			var x explanation
			require.NoError(t, json.Unmarshal([]byte(out), &x))
			require.Equal(t, e.Node, x.Node, "%s\n%s", pod, input.String())
			slices.SortFunc(x.Nodes, func(a, b placement.NodeReport) int { return strings.Compare(a.Node, b.Node) })
			require.Equal(t, e.Nodes, x.Nodes, "%s\n%s", pod, input.String())
			if len(x.Kept) > 0 {
				kept++
			}
		}
	}
	require.Greater(t, kept, 8) // questions that nominated pods decide
	require.Greater(t, unplaced, 40)
}

// A pod goes to the node that it is nominated to, also when another node has a higher score.
func TestExplainNominated(t *testing.T) {
	input := nodeYAML("n1", "4", "") + nodeYAML("n2", "2", "") + nodeYAML("n3", "500m", "") + "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, status: {nominatedNodeName: n2}, spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}\n"
	const goes = "Pod default/p goes to n2: 2 of 3 nodes can take it. No pod is tried before it.\n"
	const first = "It is nominated to n2: this node is tried first, without scores.\n"
	for where, want := range map[string]string{"": goes + first, "n1": goes + first, "n2": goes + "n2 is a node of n2.\n", "n3": goes + "No node of n3 can take it.\n"} {
		code, out, errs := simulate(t, input, "-f", "-", "-explain", "default/p", "-where", where)
		require.Zero(t, code, errs)
		require.Contains(t, out, want)
	}
	_, out, errs := simulate(t, input, "-f", "-", "-o", "json", "-detail")
	require.Contains(t, out, `"node": "n2"`, errs)
}

// A pod that is nominated to a node keeps its room there from pods of at most its priority, and from no others.
func TestExplainKeepsRoom(t *testing.T) {
	const vip = "---\n{apiVersion: v1, kind: Pod, metadata: {name: vip, namespace: shop, creationTimestamp: '2026-01-01T00:00:00Z'}, status: {nominatedNodeName: n1}, spec: {priority: 5, containers: [{name: c, resources: {requests: {cpu: '3'}}}]}}\n"
	input := nodeYAML("n1", "4", "") + nodeYAML("n2", "4", "") + podYAML("big", "n2", 9, "3600m", "") + podYAML("small", "n1", 5, "500m", "") + podYAML("old", "n1", 6, "2", "") + vip
	explained := func(pod string, more ...string) string {
		_, out, errs := simulate(t, input+strings.Join(more, ""), "-f", "-", "-explain", "default/"+pod)
		require.NotEmpty(t, out, errs)
		return out
	}
	out := explained("p", podYAML("p", "", 5, "500m", ""))
	require.Contains(t, out, "It has no node: 0 of 2 nodes can take it.")
	require.Contains(t, out, " Room is kept for nominated pods: shop/vip on n1.\n")
	require.Contains(t, out, "\n  1 node: Insufficient cpu: cpu: asks for 500m, 0 of 4 are free (NodeResourcesFit)\n")
	require.NotContains(t, out, "shop/vip from n1") // it is not there yet
	out = explained("higher", podYAML("higher", "", 6, "500m", ""))
	require.Contains(t, out, "Pod default/higher goes to n1: 1 of 2 nodes can take it.")
	require.NotContains(t, out, "nominated")
	require.Contains(t, explained("tiny", podYAML("tiny", "", 5, "100m", "")), "Pod default/tiny goes to n2: 1 of 2 nodes can take it.")
	require.Contains(t, explained("small"), "Pod default/small runs on n1. If it came now, 0 of 2 nodes could take it.")
	require.Contains(t, explained("old"), "Pod default/old runs on n1. If it came now, 1 of 2 nodes could take it, and it would go to n1 again.")
}
