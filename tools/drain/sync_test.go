package drain

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

const (
	jobPod     = "apiVersion: v1\nkind: Pod\nmetadata: {name: job-x, labels: {app: web}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: job, uid: j, controller: true}]}\nspec: {nodeName: n2, containers: [{name: c}]}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}\n---\n"
	agentPod   = "apiVersion: v1\nkind: Pod\nmetadata: {name: agent-x, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: d, controller: true}]}\nspec: {nodeName: n1, containers: [{name: c}]}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}\n---\n"
	goodStatus = "status: {observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1}\n"
)

// The status allows an eviction, but the next sync fails because of a pod without a scale. The answer is that of the time after it, and
// each remedy is tried.
func TestSyncThatFails(t *testing.T) {
	labelled := func(n string) string { return strings.Replace(podNamed(n), "{app: web}", "{app: web, r: rs}", 1) }
	input := twoNodes + labelled("a") + labelled("b") + jobPod + anyPDB + goodStatus + replicas
	code, out, errs := drain(input, "-f", "-", "-evict", "a")
	require.Zero(t, code)
	require.Contains(t, out, "Answer:   429 TooManyRequests\n")
	require.Contains(t, out, "Outlook:  never\n")
	const says = "its status allows 1, and every next sync fails: jobs.batch does not implement the scale subresource (pod job-x of Job job); from then on nothing leaves\n"
	require.Contains(t, out, "Sync:     "+says)
	require.Equal(t, "warning: PodDisruptionBudget default/web: "+says, errs)
	require.Contains(t, out, `Remedy:   budget web: selector: add r=rs, which the pods without scale lack: answer 201
Remedy:   budget web: minAvailable 2 in place of a share or maxUnavailable: answer 201
Remedy:   pause`)
	require.NotContains(t, out, "wait until")
	p := planned(t, input, "-f", "-", "n1", "n2")
	require.Empty(t, p.Waves)
	require.Len(t, p.Blocked, 3)
	for _, b := range p.Blocked {
		require.False(t, b.WaitingHelps)
		require.Contains(t, b.Cause, "failed sync: jobs.batch does not implement the scale subresource")
	}

	_, out, _ = drain(twoNodes+agentPod+anyPDB, "-f", "-", "-evict", "agent-x")
	require.Contains(t, out, "is still being processed by the server", "it was never synced")
	require.Contains(t, out, "Outlook:  never\n")
	require.Contains(t, out, "Remedy:   budget web: minAvailable 0 in place of a share or maxUnavailable, which must follow the number of nodes: answer 201\n")

	_, out, _ = drain(twoNodes+labelled("a")+labelled("b")+jobPod+strings.Replace(anyPDB, "maxUnavailable: 1", "minAvailable: 2", 1)+replicas, "-f", "-", "-evict", "a")
	require.Contains(t, out, "Outlook:  now\n", "a number needs no scale")
}

// A pod that kubectl refuses is told what budgets say of it besides, because the flag alone does not help.
func TestBudgetBehindAFlag(t *testing.T) {
	dirs := strings.Replace(podNamed("a"), "containers: [{name: c}]", "containers: [{name: c}], volumes: [{name: e, emptyDir: {}}]", 1)
	input := twoNodes + dirs + podNamed("b") + strings.Replace(anyPDB, "maxUnavailable: 1", "maxUnavailable: 0", 1) + replicas
	_, out, _ := drain(input, "-f", "-", "n1")
	require.Contains(t, out, `0 of 2 pods leave; 1 hangs for ever: default/a, cannot delete Pods with local storage (use --delete-emptydir-data to override); and The disruption budget web needs 2 healthy pods and has 2 currently; 1 may leave once their drain begins
`)
	require.Contains(t, out, `  remedy: budget web: maxUnavailable: 1 (0 refuses every eviction, at any number of replicas): answer 201; then save what the pod needs of its emptyDir; with --delete-emptydir-data the pod leaves, and the rest is lost (waiting does not help)
`)
	_, out, _ = drain(input, "-f", "-", "-evict", "a")
	require.Contains(t, out, "Remedy:   budget web: maxUnavailable: 1 (0 refuses every eviction, at any number of replicas): answer 201\n")
	require.NotContains(t, out, "replicas above")
}

// Waiting does not help pods that crash.
func TestSickPods(t *testing.T) {
	crashing := strings.Replace(podNamed("a"), "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}",
		"status: {phase: Running, conditions: [{type: Ready, status: 'False'}], containerStatuses: [{name: c, restartCount: 57, state: {waiting: {reason: CrashLoopBackOff}}}]}", 1)
	other := strings.Replace(crashing, "name: a,", "name: b,", 1)
	input := twoNodes + crashing + other + anyPDB + replicas
	_, out, _ := drain(input, "-f", "-", "n1")
	require.Contains(t, out, "remedy: mend ReplicaSet web: a is in CrashLoopBackOff (57 restarts), b is in CrashLoopBackOff (57 restarts); or budget web: unhealthyPodEvictionPolicy: AlwaysAllow: answer 201 (waiting does not help)\n")
	require.Contains(t, out, "0 of 2 pods leave; 2 hang for ever: default/a, ")
	_, out, _ = drain(input, "-f", "-", "-evict", "a")
	require.Contains(t, out, `Remedy:   mend ReplicaSet web: a is in CrashLoopBackOff (57 restarts), b is in CrashLoopBackOff (57 restarts)
Remedy:   budget web: unhealthyPodEvictionPolicy: AlwaysAllow: answer 201
`)
	require.NotContains(t, out, "wait until")
}

func TestSickness(t *testing.T) {
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { at := metav1.NewTime(now.Add(-d)); return &at }
	waiting := func(reason string, restarts int32) []v1.ContainerStatus {
		return []v1.ContainerStatus{{RestartCount: restarts, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}}
	}
	testkit.Run(t, []struct {
		name   string
		status v1.PodStatus
		want   string
	}{
		{"ready, whatever it was before", v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}, ContainerStatuses: waiting("CrashLoopBackOff", 3)}, ""},
		{"young", v1.PodStatus{StartTime: ago(9 * time.Minute), ContainerStatuses: waiting("ContainerCreating", 0)}, ""},
		{"old", v1.PodStatus{StartTime: ago(3 * time.Hour)}, "not ready for 3h0m0s"},
		{"without a time", v1.PodStatus{}, ""},
		{"no image", v1.PodStatus{ContainerStatuses: waiting("ErrImagePull", 0)}, "ErrImagePull"},
		{"no image, later", v1.PodStatus{InitContainerStatuses: waiting("ImagePullBackOff", 0)}, "ImagePullBackOff"},
		{"wrong image", v1.PodStatus{ContainerStatuses: waiting("InvalidImageName", 0)}, "InvalidImageName"},
		{"wrong configuration", v1.PodStatus{ContainerStatuses: waiting("CreateContainerConfigError", 0)}, "CreateContainerConfigError"},
		{"crashes", v1.PodStatus{ContainerStatuses: waiting("CrashLoopBackOff", 1)}, "CrashLoopBackOff (1 restart)"},
		{"runs again after a crash", v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{RestartCount: 2}}}, "not ready after 2 restarts"},
		{"another container crashed", v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{RestartCount: 2, Ready: true}}}, ""},
	}, func(t *testing.T, c struct {
		name   string
		status v1.PodStatus
		want   string
	}) {
		require.Equal(t, c.want, sickness(&v1.Pod{Status: c.status}, now))
	})
}

// A budget that Longhorn makes is not a person's to change: drain and evict say when it goes.
func TestBudgetOfAgent(t *testing.T) {
	const input = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", pods: "110"}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: im, namespace: lh, labels: {a: b}, ownerReferences: [{apiVersion: longhorn.io/v1beta2, kind: InstanceManager, name: im, uid: u, controller: true}]}, spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: im, namespace: lh, generation: 1}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}, status: {observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}}
`
	for _, args := range [][]string{{"n1"}, {"-evict", "lh/im"}} {
		_, out, errs := drain(input, append([]string{"-f", "-"}, args...)...)
		require.Contains(t, out, "Longhorn makes this budget and deletes it when no volume is attached on n1", errs)
		require.NotContains(t, out, "raise the replicas")
	}
}
