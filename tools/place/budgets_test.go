package place

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A budget without a status follows its pods: the next preemption finds a budget without the victims of the one before.
func TestBudgetsFollow(t *testing.T) {
	input := nodeYAML("n1", "2", "") + podYAML("a", "n1", 0, "2", "app: x") + nodeYAML("n2", "2", "") + podYAML("b", "n2", 0, "2", "app: x") +
		nodeYAML("n3", "2", "") + podYAML("c", "n3", 5, "2", "") +
		"---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, spec: {minAvailable: 1, selector: {matchLabels: {app: x}}}}\n" +
		podYAML("first", "", 20, "2", "") + podYAML("second", "", 10, "2", "")
	code, out, errs := simulate(t, input, "-f", "-", "-o", "json")
	require.Zero(t, code, errs)
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Equal(t, []string{
		"first Unschedulable - n1 a", "second Unschedulable - n3 c", "first Scheduled n1 - -", "second Scheduled n3 - -",
	}, outcomes(have.Attempts), "the second spares b, although its priority is lower than c's")
}

// A budget with maxUnavailable counts the replicas of the workload: one of its pods may go, and the next preemptor spares the other.
func TestBudgetsOfWorkloads(t *testing.T) {
	owner := strings.NewReplacer("labels: {app: x}", "labels: {app: x}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: x, controller: true}]")
	input := nodeYAML("n1", "2", "") + podYAML("a", "n1", 0, "2", "app: x") + nodeYAML("n2", "2", "") + podYAML("b", "n2", 0, "2", "app: x") +
		nodeYAML("n3", "2", "") + podYAML("c", "n3", 5, "2", "") + podYAML("first", "", 20, "2", "") + podYAML("second", "", 10, "2", "")
	input = owner.Replace(input) + "---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: x}}}}\n" +
		"---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x, uid: x}, spec: {replicas: 2, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c}]}}}}\n"
	code, out, errs := simulate(t, input, "-f", "-", "-o", "json")
	require.Zero(t, code, errs)
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Equal(t, []string{"first Unschedulable - n1 a", "second Unschedulable - n3 c"}, outcomes(have.Attempts)[:2])
}

// The output does not depend on the order in which maps are walked.
func TestDeterministic(t *testing.T) {
	input := nodeYAML("n1", "4", "")
	for _, name := range []string{"a", "b", "c", "d"} {
		input += podYAML(name, "n1", 0, "1", "app: "+name) + budgetYAML(name, 0)
	}
	input += podYAML("p", "", 10, "2", "") + podYAML("q", "", 10, "2", "")
	_, first, _ := simulate(t, input, "-f", "-", "-o", "wide", "-grace")
	for range 20 {
		_, again, _ := simulate(t, input, "-f", "-", "-o", "wide", "-grace")
		require.Equal(t, first, again)
	}
}
