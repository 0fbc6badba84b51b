package lint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

const trainingJob = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {rack: r1}}
status: {allocatable: {cpu: "16", memory: 64Gi, pods: "110"}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: training}
value: 100
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train}
spec: {schedulingPolicy: {gang: {minCount: 4}}, priorityClassName: training, schedulingConstraints: {topology: [{key: rack}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  completions: 4
  template:
    spec:
      restartPolicy: Never
      priorityClassName: training
      schedulingGroup: {podGroupName: train}
      containers: [{name: c, image: example.com/train:v1, resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 1Gi}}}]
`

// Manifests with groups: a good one, and what makes it one that never runs.
func TestGroups(t *testing.T) {
	type test struct {
		name, why, old, new, want string
	}
	testkit.Run(t, []test{
		{"good", "its pods run", "", "", ""},
		{"minCount", "there are fewer pods", "minCount: 4", "minCount: 5", "error: Job default/train: group-min-count"},
		{"priority", "the pods have another class", "priorityClassName: training, schedulingConstraints", "schedulingConstraints", "error: Job default/train: group-priority"},
		{"key", "no node has the label", "topology: [{key: rack}]", "topology: [{key: block}]", "error: Job default/train: group-topology-key"},
		{"name", "nobody creates the group", "podGroupName: train", "podGroupName: trian", "warning: Job default/train: group-missing"},
	}, func(t *testing.T, c test) {
		code, out, errs := testkit.Program(Run, strings.Replace(trainingJob, c.old, c.new, 1), []string{"-f", "-"})
		require.NotEqual(t, 2, code, errs)
		if c.want == "" {
			require.NotContains(t, out, "group-")
			return
		}
		require.Contains(t, out, c.want)
	})
	code, _, errs := testkit.Program(Run, strings.Replace(trainingJob, "{gang: {minCount: 4}}", "{}", 1), []string{"-f", "-"})
	require.Equal(t, 2, code)
	require.Contains(t, errs, "PodGroup default/train: spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`")
}
