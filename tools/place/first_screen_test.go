package place

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/diagnose"
)

// A pod whose claim of devices nobody made is gated, in why as in place; nobody tries it.
func TestGatedByAClaim(t *testing.T) {
	input := nodeYAML("n1", "2", "") + "---\n{apiVersion: v1, kind: Pod, metadata: {name: g}, spec: {resourceClaims: [{name: x, resourceClaimName: nope}], containers: [{name: c}]}}\n"
	require.Equal(t, "Gated", explained(t, input, "default/g").State)
	_, out, _ := simulate(t, input, "-f", "-", "-explain", "default/g")
	require.Contains(t, out, "Pod default/g waits: there is no ResourceClaim nope in default.\nIt is gated: could not find ResourceClaim \"default/nope\". No scheduler tries it before that is mended.\n")
	_, out, _ = simulate(t, input, "-f", "-")
	require.Contains(t, out, "Gated")
}

// Without nodes nobody asks for preemption.
func TestNoNodeNoPreemption(t *testing.T) {
	_, out, _ := simulate(t, podYAML("p", "", 0, "1", ""), "-f", "-", "-explain", "default/p")
	require.Contains(t, out, "Pod default/p waits: the cluster has no node.\n")
	require.NotContains(t, out, "Preemption:")
}

// When nothing helps, what advice leaves out stands there with the reason.
func TestLeftOut(t *testing.T) {
	input := "---\n{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: eks.amazonaws.com/compute-type, value: fargate, effect: NoSchedule}]}, status: {allocatable: {cpu: '2', pods: '110'}}}\n" + podYAML("p", "", 0, "1", "")
	_, out, _ := simulate(t, input, "-f", "-", "-explain", "default/p")
	require.Contains(t, out, "No change that was tried helps: LowerRequest, up to 3 together.\nLeft out: Pod default/p: tolerate eks.amazonaws.com/compute-type=fargate:NoSchedule: a provider makes")
}

// The words of a program that refuses a pod can be long. The first screen has their beginning, -o wide has all.
func TestLongWords(t *testing.T) {
	e := &explanation{State: "Refused", waits: []string{"Pod default/p is refused: " + strings.Repeat("some words ", 200)}, Cause: &diagnose.Cause{}}
	e.said = e.waits[0]
	lines := linesOf(strings.TrimSuffix(e.firstScreen(), "\n"))
	require.LessOrEqual(t, lines, mostLines)
	require.Greater(t, lines, mostLines-2)
	require.Contains(t, e.firstScreen(), "words ...\n-o wide has the words of the API server.\n")
}
