package rollout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A percentage is explained, and a number is not.
func TestRounding(t *testing.T) {
	half, two := intstr.FromString("50%"), intstr.FromInt32(2)
	b := &policyv1.PodDisruptionBudget{}
	b.Status.ExpectedPods = 3
	text := func(least, most *intstr.IntOrString) string {
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = least, most
		return rounding(b)
	}
	require.Equal(t, " (minAvailable 50% of 3, rounded up)", text(&half, nil))
	require.Equal(t, " (maxUnavailable 50% of 3, rounded up)", text(nil, &half))
	require.Empty(t, text(&two, nil)+text(nil, &two)+text(nil, nil))
}

// How many pods a budget with a percentage expects: the sum of the replicas that the controllers of the pods ask for.
func TestExpectedPods(t *testing.T) {
	all := template("all", "cpu=100m", nil)
	testkit.Run(t, []struct {
		name, why string
		cluster   func(w *world)
		want      string
	}{
		{"a ReplicaSet", "its replicas", func(w *world) {
			w.app("all", "cpu=100m", "n1 n2", nil).Spec.Replicas = new(int32(7))
		}, "7"},
		{"a ReplicaSet without replicas", "one is the default", func(w *world) {
			w.app("all", "cpu=100m", "n1 n2", nil).Spec.Replicas = nil
		}, "1"},
		{"a ReplicaSet of a Deployment", "the Deployment's replicas", func(w *world) {
			w.deployed("all", 9)
		}, "9"},
		{"a ReplicaSet of a Deployment that is not there", "its own replicas", func(w *world) {
			w.deployed("all", 9)
			w.in.Deployments = nil
		}, "2"},
		{"a StatefulSet", "its replicas", func(w *world) {
			w.stateful("all", "cpu=100m", "n1 n2", appsv1.ParallelPodManagement, nil).Spec.Replicas = new(int32(5))
		}, "5"},
		{"two controllers without UIDs", "each counts", func(w *world) {
			for _, name := range []string{"a", "b"} {
				r := w.app(name, "cpu=100m", "", nil)
				r.UID, r.Spec.Replicas = "", new(int32(3))
				w.pod("ReplicaSet", name, name+"-0", "n1", all)
				r.Spec.Selector.MatchLabels, r.Spec.Template = all.Labels, all
			}
		}, "6"},
		{"unknown controllers", "the pods that they have", func(w *world) {
			for i, owner := range []string{"a", "b", "b", "c"} {
				w.pod("ReplicaSet", owner, fmt.Sprint("all-", i), "n1", all)
			}
			w.objects.Pods[3].DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
			w.pod("ReplicaSet", "a", "all-4", "", all)
			w.pod("ReplicaSet", "a", "all-5", "", all).Status.Phase = v1.PodFailed
		}, "4"},
		{"unknown controllers of two kinds of one name", "a ReplicaSet and a StatefulSet", func(w *world) {
			w.pod("ReplicaSet", "a", "all-0", "n1", all)
			w.pod("StatefulSet", "a", "all-1", "n1", all)
		}, "2"},
		{"a DaemonSet", "it has no scale", func(w *world) { w.pod("DaemonSet", "a", "all-0", "n1", all) }, "daemonsets.apps does not implement the scale subresource"},
		{"a Job", "it has no scale", func(w *world) {
			w.pod("Job", "a", "all-0", "n1", all).OwnerReferences[0].APIVersion = "batch/v1"
		}, "jobs.batch does not implement the scale subresource"},
		{"a known Job", "it has no scale", func(w *world) {
			w.job(batchv1.Failed)
			w.objects.Pods[0].Labels = all.Labels
		}, "jobs.batch does not implement the scale subresource"},
		{"a static pod", "a node has no scale", func(w *world) {
			w.pod("Node", "n1", "all-0", "n1", all).OwnerReferences[0].APIVersion = "v1"
		}, "nodes does not implement the scale subresource"},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func(w *world)
		want      string
	}) {
		w := five("cpu=4")
		w.budget("all", "all", "50%")
		c.cluster(w)
		x := w.begun(t, Options{})
		x.mark()
		b := x.budgets.list[0]
		got := fmt.Sprint(b.Status.ExpectedPods)
		if why := syncFailure(b); why != "" {
			got = why
		}
		require.Equal(t, c.want, got)
	})
}

// deployed is an app of two pods whose ReplicaSet belongs to a Deployment.
func (w *world) deployed(name string, replicas int32) *appsv1.ReplicaSet {
	r := w.app(name, "cpu=100m", "n1 n2", nil)
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: name, Controller: new(true)}}
	w.in.Deployments = append(w.in.Deployments, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &replicas},
	})
	return r
}

// Only the condition DisruptionAllowed with the reason SyncFailed says that a status cannot be computed.
func TestSyncFailure(t *testing.T) {
	b := &policyv1.PodDisruptionBudget{}
	b.Status.Conditions = []metav1.Condition{
		{Type: "Other", Reason: policyv1.SyncFailedReason, Message: "other"},
		{Type: policyv1.DisruptionAllowedCondition, Reason: policyv1.InsufficientPodsReason, Message: "few"},
	}
	require.Empty(t, syncFailure(b))
	b.Status.Conditions[1].Reason = policyv1.SyncFailedReason
	require.Equal(t, "few", syncFailure(b))
}

// A step reports the minimum of a budget at its end, and the fewest healthy pods of the drain that succeeded.
func TestRoomOfAStep(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n2 n3", nil)
	w.app("other", "cpu=1", "n1", nil)
	w.objects.Pods[2].Labels = map[string]string{"app": "web"} // which the next pod does not have
	w.budget("web", "web", "50%")
	w.stateful("db", "cpu=1", "n1 n1", appsv1.OrderedReadyPodManagement, nil)
	p := w.plan(t, given("n1"))
	require.Len(t, p.Steps[0].Waves, 2)
	require.Equal(t, []Room{{"default/web", 1, 1, 2}}, p.Steps[0].Budgets, "the controller of two pods remains")

	w = five("cpu=4")
	w.stateful("db", "cpu=3", "n1 n1 n5", appsv1.ParallelPodManagement, nil)
	w.objects.Pods[0].Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=1")
	w.app("web", "cpu=2", "n3 n4", nil)
	w.budget("db", "db", "1")
	x := w.begun(t, given("n1"))
	x.mark()
	d := x.drain(Replace, []string{"n1"})
	require.Len(t, d.stuck.waiting, 1, "n2 takes one of the pods")
	require.Equal(t, []Room{{"default/db", 1, 2, 2}}, x.budgets.seen(), "not 1: both were tried together and one was taken back")
}

// A workload with one pod more: the objects that change, and the pod that waits.
func TestGrow(t *testing.T) {
	w := five("cpu=4")
	w.deployed("web", 2)
	w.deployed("bare", 0).Spec.Replicas = new(int32(4))
	w.in.Deployments[1].Spec.Replicas = nil
	w.in.Deployments = append(w.in.Deployments, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "web"}})
	set := w.stateful("db", "cpu=1", "n3", appsv1.OrderedReadyPodManagement, nil)
	set.Spec.VolumeClaimTemplates = []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}, {ObjectMeta: metav1.ObjectMeta{Name: "logs"}}}
	w.objects.Claims = []*v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-db-0"}, Spec: v1.PersistentVolumeClaimSpec{VolumeName: "kept"}}}
	later := w.objects.Claims[0].DeepCopy()
	later.Name = "data-db-1"
	w.objects.Claims = append(w.objects.Claims, later)
	rc := template("rc", "cpu=1", nil)
	w.objects.ReplicationControllers = []*v1.ReplicationController{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rc"},
		Spec:       v1.ReplicationControllerSpec{Selector: rc.Labels, Template: &rc},
	}}
	w.pod("ReplicationController", "rc", "rc-0", "n5", rc).OwnerReferences[0].APIVersion = "v1"
	w.pod("ReplicationController", "rc", "rc-1", "n5", rc).OwnerReferences[0].APIVersion = "v1"
	x := w.begun(t, Options{})
	var got []string
	for _, pod := range []string{"web-0", "bare-0", "db-0", "rc-0"} {
		in := x.in
		in.Snapshot = x.base.Fork()
		x.grow(&in, x.unitOf(x.base.Pod("default", pod)))
		text := pod + ":"
		for _, d := range in.Deployments {
			if d.Spec.Replicas != nil {
				text += fmt.Sprintf(" %s/%s %d", d.Namespace, d.Name, *d.Spec.Replicas)
			}
		}
		for r := range cluster.List[*appsv1.ReplicaSet](in.Snapshot).All() {
			text += fmt.Sprintf(", %s %d", r.Name, *r.Spec.Replicas)
		}
		for s := range cluster.List[*appsv1.StatefulSet](in.Snapshot).All() {
			text += fmt.Sprintf(", %s %d", s.Name, *s.Spec.Replicas)
		}
		for r := range cluster.List[*v1.ReplicationController](in.Snapshot).All() {
			if r.Spec.Replicas != nil {
				text += fmt.Sprintf(", %s %d", r.Name, *r.Spec.Replicas)
			}
		}
		for c := range cluster.List[*v1.PersistentVolumeClaim](in.Snapshot).All() {
			text += fmt.Sprintf(", %s %s", c.Name, c.Spec.VolumeName)
		}
		for _, p := range in.Pending {
			text += fmt.Sprintf("; %s %s", p.Name, p.UID)
		}
		got = append(got, text)
	}
	require.Equal(t, []string{
		"web-0: default/web 3, bare 4, web 3, db 1, data-db-0 kept, data-db-1 kept; web-2 default/web-2/more",
		"bare-0: default/web 2 default/bare 2, bare 5, web 2, db 1, data-db-0 kept, data-db-1 kept; bare-2 default/bare-2/more",
		"db-0: default/web 2, bare 4, web 2, db 2, data-db-0 kept, data-db-1 kept, logs-db-1 ; db-1 default/db-1/more",
		"rc-0: default/web 2, bare 4, web 2, db 1, rc 2, data-db-0 kept, data-db-1 kept",
	}, got)
	require.Equal(t, int32(2), *w.in.Deployments[0].Spec.Replicas, "the input does not change")
}

// A workload of which a pod waits makes another pod than the one that waits.
func TestGrowWithWaitingPods(t *testing.T) {
	w := five("cpu=4")
	set := w.stateful("db", "cpu=1", "n1", appsv1.ParallelPodManagement, nil)
	set.Spec.Replicas = new(int32(2))
	w.pod("StatefulSet", "db", "db-1", "", template("db", "cpu=9", nil))
	w.pod("", "", "bare", "", template("bare", "cpu=9", nil))
	w.budget("db", "db", "2")
	x := w.begun(t, Options{})
	in := x.in
	in.Snapshot = x.base.Fork()
	x.grow(&in, x.unitOf(w.objects.Pods[0]))
	var got []string
	for _, p := range in.Pending {
		got = append(got, p.Name)
	}
	require.Equal(t, []string{"db-1", "bare", "db-2"}, got)

	o := given("n1")
	o.Remedies = 8
	require.Equal(t, []Remedy{
		{"minAvailable 0 in place of 2 in budget default/db", true},
	}, w.plan(t, o).Blocked[0].Remedies)
}
