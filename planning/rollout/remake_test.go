package rollout

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/workload"
)

// begun returns the state before the first step.
func (w *world) begun(t *testing.T, o Options) *run {
	t.Helper()
	p := w.planner(t)
	x := p.begin(p.complete(o))
	return x
}

// A pod that takes the place of another has a name and a UID that no pod had before, and the status of a new pod.
func TestNamesOfNewPods(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.stateful("db", "cpu=1", "n1", appsv1.OrderedReadyPodManagement, nil)
	w.pod("ReplicaSet", "other", "web-0-moved-1", "n3", template("other", "cpu=1", nil))
	w.pod("", "", "web-1-moved-1", "", template("waits", "cpu=9", nil))
	w.pod("", "", "web-1-moved-2", "", template("waits", "cpu=9", nil)).Namespace = "other"
	w.pod("Rollout", "canary", "canary", "n4", template("canary", "cpu=1", nil))
	sick(w.objects.Pods[4])
	w.objects.Pods[4].Spec.EphemeralContainers = []v1.EphemeralContainer{{}}
	x := w.begun(t, Options{})
	next := func(node, pod string) *v1.Pod {
		t.Helper()
		k := slices.IndexFunc(x.onNode[node], func(it *item) bool { return it.obj.Name == pod })
		it := x.onNode[node][k]
		x.remove(it)
		p, waits := x.remake(it)
		require.Empty(t, waits)
		return p
	}
	name := func(p *v1.Pod) string { return p.Name + " " + string(p.UID) }
	require.Equal(t, "web-0-moved-2 default/web-0-moved-2/1", name(next("n1", "web-0")))
	require.Equal(t, "web-1-moved-2 default/web-1-moved-2/1", name(next("n2", "web-1")), "a pod that waits has the first name")
	require.Equal(t, "db-0 default/db-0/1", name(next("n1", "db-0")))
	canary := next("n4", "canary")
	require.Equal(t, "canary-moved-1 default/canary-moved-1/1", name(canary))
	require.Equal(t, v1.PodStatus{Phase: v1.PodPending}, canary.Status)
	require.Empty(t, canary.Spec.NodeName+strings.Repeat("x", len(canary.Spec.EphemeralContainers)))
	x.onNode["n3"][0].moves = 4
	require.Equal(t, "web-0-moved-1-moved-5 default/web-0-moved-1-moved-5/5", name(next("n3", "web-0-moved-1")))
}

// The pods of DaemonSets on a surge node have the name and UID of their DaemonSet and node.
func TestNamesOfDaemons(t *testing.T) {
	w := five("cpu=4")
	agent := template("agent", "cpu=1", nil)
	w.in.DaemonSets = []*appsv1.DaemonSet{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: agent.Labels}, Template: agent},
	}}
	pods := w.begun(t, Options{}).daemons(testkit.Node("new").Obj())
	require.Len(t, pods, 1)
	require.Equal(t, "agent-new default/agent-new", pods[0].Name+" "+string(pods[0].UID))
}

// Of the claims that a StatefulSet makes, the plan adds those of the pod that are not there.
func TestClaimsOfNewPods(t *testing.T) {
	claim := func(name, volume string) *v1.PersistentVolumeClaim {
		return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	w := five("cpu=4")
	w.objects.Claims = []*v1.PersistentVolumeClaim{claim("old", "kept")}
	x := w.begun(t, Options{})
	pod := &v1.Pod{}
	claiming("old")(&pod.Spec)
	volumes := append([]v1.Volume{{Name: "no claim"}}, pod.Spec.Volumes...)
	claiming("new")(&pod.Spec)
	pod.Spec.Volumes = append(volumes, pod.Spec.Volumes...)
	made := &workload.Made{Claims: []*v1.PersistentVolumeClaim{claim("old", "changed"), claim("other", ""), claim("new", "")}}
	x.claims(made, pod)
	var got []string
	for c := range cluster.List[*v1.PersistentVolumeClaim](x.snapshot).All() {
		got = append(got, c.Name+" "+c.Spec.VolumeName)
	}
	require.Equal(t, []string{"new ", "old kept"}, got)
}

// When a controller makes a pod in the place of a pod that leaves, and when it does not.
func TestWhoIsMadeAgain(t *testing.T) {
	gone := &metav1.Time{Time: testkit.Epoch}
	testkit.Run(t, []struct {
		name, why string
		cluster   func(w *world)
		want      []string
	}{
		{"terminating pod of an unknown controller", "the controller has made the next pod", func(w *world) {
			w.pod("Rollout", "x", "x-0", "n1", template("x", "cpu=1", nil)).DeletionTimestamp = gone
		}, []string{"0s replace n1 until 2s", "  0s..2s: x-0"}},
		{"terminating pod of an unknown StatefulSet", "the set waits until the pod is gone", func(w *world) {
			w.pod("StatefulSet", "x", "x-0", "n1", template("x", "cpu=1", nil)).DeletionTimestamp = gone
		}, []string{"0s replace n1 until 2s", "  0s..2s: x-0 -> x-0 n3@2s"}},
		{"terminating pod of a ReplicaSet", "the set has not made the next pod yet", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil)
			w.objects.Pods[0].DeletionTimestamp = gone
		}, []string{"0s replace n1 until 2s", "  0s..2s: web-0 -> web-0-moved-1 n3@0s"}},
		{"first pod missing", "an ordered set makes its first pod first", func(w *world) {
			w.stateful("db", "cpu=1", "n3 n1 n2", appsv1.OrderedReadyPodManagement, nil)
			w.objects.Pods = w.objects.Pods[1:]
		}, []string{"n1: order: default/db-1", "StatefulSet default/db makes no more pods: pod db-0 is not running and ready"}},
		{"surplus of a set whose first pod is missing", "the set makes db-0 and never db-1", func(w *world) {
			*w.stateful("db", "cpu=1", "n3 n1", appsv1.OrderedReadyPodManagement, nil).Spec.Replicas = 1
			w.objects.Pods = w.objects.Pods[1:]
		}, []string{"0s replace n1 until 2s", "  0s..2s: db-1"}},
		{"pods missing", "a parallel set makes each pod on its own", func(w *world) {
			w.stateful("db", "cpu=1", "n3 n1 n2", appsv1.ParallelPodManagement, nil)
			w.objects.Pods = w.objects.Pods[1:]
		}, []string{"0s replace n1 until 2s", "  0s..2s: db-1 -> db-1 n3@2s"}},
		{"refused by the API server", "the priority class does not exist", func(w *world) {
			w.app("web", "cpu=1", "n1", nil).Spec.Template.Spec.PriorityClassName = "none"
		}, []string{"n1: order: default/web-0", `pods "web-1" is forbidden: no PriorityClass with name none was found`}},
		{"a Job that waits", "podReplacementPolicy Failed: the pod is made when the old pod is gone", func(w *world) {
			w.job(batchv1.Failed)
		}, []string{"0s replace n1 until 2s", "  0s..2s: work-0 -> work-0-moved-1 n3@2s"}},
		{"a Job that does not wait", "podReplacementPolicy TerminatingOrFailed", func(w *world) {
			w.job(batchv1.TerminatingOrFailed)
		}, []string{"0s replace n1 until 2s", "  0s..2s: work-0 -> work-0-moved-1 n3@0s"}},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func(w *world)
		want      []string
	}) {
		w := five("cpu=4")
		c.cluster(w)
		p := w.plan(t, given("n1"))
		got := lines(p)
		for _, d := range p.Blocked {
			got = append(got, d.Proof)
		}
		require.Equal(t, c.want, got)
	})
}

// job is a Job with one pod on n1.
func (w *world) job(policy batchv1.PodReplacementPolicy) {
	work := template("work", "cpu=1", func(s *v1.PodSpec) { s.RestartPolicy = v1.RestartPolicyNever })
	w.in.Jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "work"}, Spec: batchv1.JobSpec{
		PodReplacementPolicy: &policy, Template: work,
	}}}
	w.pod("Job", "work", "work-0", "n1", work).OwnerReferences[0].APIVersion = "batch/v1"
}
