package lint

import (
	"fmt"
	"os"
	"path/filepath"
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

// Two Jobs whose pods are one gang, and one of which another scheduler decides about.
const twoSchedulers = trainingJob + `---
apiVersion: batch/v1
kind: Job
metadata: {name: second}
spec: {template: {spec: {restartPolicy: Never, schedulerName: other, priorityClassName: training, schedulingGroup: {podGroupName: train},
  containers: [{name: c, image: example.com/train:v1, resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 1Gi}}}]}}}
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
	code, out, errs := testkit.Program(Run, twoSchedulers, []string{"-f", "-"})
	require.Equal(t, 1, code, errs)
	require.Contains(t, out, "error: Job default/second: group-schedulers")
	require.Contains(t, out, "Job default/train of the same group has default-scheduler: kube-scheduler does not schedule both")
	_, out, _ = testkit.Program(Run, strings.Replace(twoSchedulers, "schedulerName: other, ", "", 1), []string{"-f", "-"})
	require.NotContains(t, out, "group-")
}

// found lints a manifest that has the wanted error, or none for "", and returns what is printed.
func found(t *testing.T, manifest, want string) string {
	t.Helper()
	code, out, errs := testkit.Program(Run, manifest, []string{"-f", "-"})
	if want == "" {
		require.Zero(t, code, out+errs)
		return out
	}
	require.Equal(t, 1, code, errs)
	require.Contains(t, out, want)
	return out
}

// Manifests of groups that the API server refuses are findings about the objects, with the field, the value and what is allowed.
func TestRefusedGroups(t *testing.T) {
	type test struct {
		name, why, old, new, want string
	}
	testkit.Run(t, []test{
		{"good", "the server takes it", "", "", ""},
		{"no policy", "one of two must be there", "{gang: {minCount: 4}}", "{}", "error: PodGroup default/train: api-refuses: spec.schedulingPolicy\n  the API server refuses it: Invalid value: \"\": must specify one of: `basic`, `gang`"},
		{"negative", "a count from 1", "minCount: 4", "minCount: -4", "error: PodGroup default/train: api-refuses: spec.schedulingPolicy.gang.minCount\n  the API server refuses it: Invalid value: -4: must be greater than or equal to 1"},
		{"class", "nobody makes it", "minCount: 4}}, priorityClassName: training", "minCount: 4}}, priorityClassName: trainnig", "error: PodGroup default/train: group-priority-class: spec.priorityClassName\n  there is no PriorityClass trainnig, near: training"},
	}, func(t *testing.T, c test) {
		out := found(t, strings.Replace(trainingJob, c.old, c.new, 1), c.want)
		if c.want == "" {
			return
		}
		require.NotContains(t, out, "group-missing", "it is there")
		require.Contains(t, out, "\n1 error, ")
	})
}

// A tree of groups: a good one, one that wants more groups than there are, one that the API server refuses, and one with two schedulers.
func TestTreesOfGroups(t *testing.T) {
	const tree = `---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: all}
spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minGroupCount: 2}}, priorityClassName: training}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: serve}
spec: {parentCompositePodGroupName: all, workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minCount: 1}}, priorityClassName: training}
---
apiVersion: v1
kind: Pod
metadata: {name: serve}
spec: {priorityClassName: training, schedulingGroup: {podGroupName: serve}, schedulerName: default-scheduler,
  containers: [{name: c, image: example.com/train:v1, resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 1Gi}}}]}
`
	text := strings.Replace(trainingJob, "{schedulingPolicy:", "{parentCompositePodGroupName: all, workloadRef: {workloadName: w, templateName: t}, schedulingPolicy:", 1) + tree
	type test struct {
		name, why, old, new, want string
	}
	testkit.Run(t, []test{
		{"good", "its pods run", "", "", ""},
		{"minGroupCount", "there are two groups", "minGroupCount: 2", "minGroupCount: 3", "error: CompositePodGroup default/all: group-min-groups: spec.schedulingPolicy.gang.minGroupCount\n  the composite group all needs 3 groups and has 2"},
		{"negative", "a count from 1", "minGroupCount: 2", "minGroupCount: 0", "error: CompositePodGroup default/all: api-refuses: spec.schedulingPolicy.gang.minGroupCount\n  the API server refuses it: Required value"},
		{"schedulers", "two in one tree", "schedulerName: default-scheduler", "schedulerName: other", "error: Job default/train: group-schedulers"},
		{"class", "nobody makes it", "minGroupCount: 2}}, priorityClassName: training", "minGroupCount: 2}}, priorityClassName: none", "error: CompositePodGroup default/all: group-priority-class: spec.priorityClassName\n  there is no PriorityClass none"},
	}, func(t *testing.T, c test) {
		out := found(t, strings.Replace(text, c.old, c.new, 1), c.want)
		if c.want == "" {
			require.NotContains(t, out, "group-")
			return
		}
		require.Equal(t, 1, strings.Count(out, "error: "), out)
	})
}

// A group and its pods are seen together, in one file or in several, and the pods of several manifests count as one gang.
func TestGroupsTogether(t *testing.T) {
	type test struct {
		name, why  string
		group, pod int // minCount, and replicas of the Deployment beside the Job of four
		want       string
	}
	testkit.Run(t, []test{
		{"enough", "the pods of both manifests count", 6, 2, ""},
		{"few", "the replicas of the manifests are fewer than minCount", 7, 2, "error: Deployment default/serve: group-min-count"},
		{"none", "no replica", 5, 0, "error: Deployment default/serve: group-min-count"},
	}, func(t *testing.T, c test) {
		const fleet = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec: {replicas: REPLICAS, selector: {matchLabels: {app: serve}}, template: {metadata: {labels: {app: serve}}, spec: {priorityClassName: training, schedulingGroup: {podGroupName: train},
  containers: [{name: c, image: example.com/train:v1, resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 1Gi}}}]}}}
`
		parts := strings.Split(strings.Replace(trainingJob, "minCount: 4", fmt.Sprint("minCount: ", c.group), 1), "---")
		dir := t.TempDir()
		// The workloads come first, and each object has a file of its own.
		for k, text := range []string{strings.Replace(fleet, "REPLICAS", fmt.Sprint(c.pod), 1), parts[3], parts[2], parts[1], parts[0]} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(k)+".yaml"), []byte(text), 0o600))
		}
		code, out, errs := testkit.Program(Run, "", []string{"-f", dir})
		require.NotEqual(t, 2, code, errs)
		if c.want == "" {
			require.NotContains(t, out, "group-")
			return
		}
		require.Contains(t, out, c.want)
		require.Contains(t, out, fmt.Sprintf("the group train needs %d pods and has %d", c.group, 4+c.pod))
	})
}

// Composite groups that are each other's parents keep their pods waiting for ever: to create something does not help.
func TestGroupCycle(t *testing.T) {
	text := strings.Replace(trainingJob, "{schedulingPolicy: {gang: {minCount: 4}},", "{parentCompositePodGroupName: a, workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minCount: 4}},", 1)
	for child, parent := range map[string]string{"a": "b", "b": "a"} {
		text += fmt.Sprintf(`---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: %s}
spec: {parentCompositePodGroupName: %s, workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {basic: {}}}
`, child, parent)
	}
	_, out, errs := testkit.Program(Run, text, []string{"-f", "-"})
	require.Contains(t, out, "warning: Job default/train: group-missing", errs)
	require.Contains(t, out, "the parents of the group are a cycle: where groups count, the pods wait for ever")
	require.Contains(t, out, "fix: make the composite groups again, one of them without a parent")
}

// The priority of a new group is that of its class, which the manifests or the cluster have. What else the API server refuses, in its words; a
// group that it has stored is as it is.
func TestPrioritiesOfGroups(t *testing.T) {
	parts := strings.SplitAfterN(trainingJob, "---\n", 3)
	const training = "minCount: 4}}, priorityClassName: training"
	type test struct {
		name, why, old, new, want string
		args                      []string
	}
	testkit.Run(t, []test{
		{"of the cluster", "it has the class", "", "", "", nil},
		{"the class's own", "it says the same", training, training + ", priority: 100", "", nil},
		{"another priority", "the class says which", training, training + ", priority: 50", "error: PodGroup default/train: group-priority-class: spec.priority\n  the API server refuses it: priority set in the pod group (50) must match the priority computed (100) based on the priority class set in the spec\n  fix: leave it out", nil},
		{"no class", "the server computes 0", training, "minCount: 4}}, priority: 50", "must match the priority computed (0)", nil},
		{"stored", "the class had another value then", "{name: train}\nspec: {schedulingPolicy: {gang: {minCount: 4}}, priorityClassName: training", "{name: train, resourceVersion: \"1\"}\nspec: {schedulingPolicy: {gang: {minCount: 4}}, priority: 50, priorityClassName: training", "error: Job default/train: group-priority: spec.template.spec.priorityClassName\n  the pods have the priority 100 and their group has 50", nil},
		{"a system class", "its value is too large for a group", training, "minCount: 4}}, priorityClassName: system-cluster-critical", "group-priority-class: spec.priorityClassName\n  the API server refuses it: spec.priority: Invalid value: 2000000000: must be less than or equal to 1000000000\n  fix: a class of a smaller value", nil},
		{"a policy", "the class has the other one", training, training + ", preemptionPolicy: Never", "group-priority-class: spec.preemptionPolicy\n  the API server refuses it: the string value of PreemptionPolicy (Never) must not be provided in pod group spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name\n  fix: the policy of the class", nil},
		{"a policy that is dropped", "its gate is off", training, training + ", preemptionPolicy: Never", "", []string{"--feature-gates", "GenericWorkload=true"}},
		{"no policy", "the API's default is not that of the class", "value: 100", "value: 100\npreemptionPolicy: Never", "PreemptionPolicy (PreemptLowerPriority) must not be provided in pod group spec", []string{"--feature-gates", "GenericWorkload=true,PodGroupPreemptionPolicy=true"}},
	}, func(t *testing.T, c test) {
		at := filepath.Join(t.TempDir(), "cluster.yaml")
		require.NoError(t, os.WriteFile(at, []byte(strings.Replace(parts[0]+parts[1], c.old, c.new, 1)), 0o600))
		code, out, errs := testkit.Program(Run, strings.Replace(parts[2], c.old, c.new, 1), append([]string{"-f", "-", "--cluster", at}, c.args...))
		if c.want == "" {
			require.Zero(t, code, out+errs)
			return
		}
		require.Equal(t, 1, code, errs)
		require.Contains(t, out, c.want)
		require.Equal(t, 1, strings.Count(out, "error: "), out)
	})
	code, _, errs := testkit.Program(Run, trainingJob, []string{"-f", "-", "--feature-gates", "CompositePodGroup=true"})
	require.Equal(t, 2, code)
	require.Contains(t, errs, "needs GenericWorkload")
}

// A disruption budget that the API server refuses is a finding, and the others are checked.
func TestRefusedBudgets(t *testing.T) {
	const budgets = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: both}
spec: {minAvailable: 1, maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: negative}
spec: {minAvailable: -1, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: nobody}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`
	out := found(t, budgets, "error: PodDisruptionBudget default/both: api-refuses: spec\n")
	require.Contains(t, out, "minAvailable and maxUnavailable cannot be both set\n")
	require.Contains(t, out, "error: PodDisruptionBudget default/negative: api-refuses: spec.minAvailable\n  the API server refuses it: Invalid value: -1: must be greater than or equal to 0\n")
	require.Contains(t, out, "warning: PodDisruptionBudget default/nobody: budget-matches-nobody")
	require.Contains(t, out, "\n2 errors, 1 warning, ")
}
