package nopods

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, GenerateName: "no-"}
}

func ofOwner(kind, name string) metav1.ObjectMeta {
	yes := true
	m := named(name + "-1")
	m.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &yes}}
	return m
}

// Every kind of workload is found by its name, with the pods that it owns by itself or by way of what it makes. Finished pods and pods of
// others do not count, and the list of pods stays.
func TestFind(t *testing.T) {
	o := &dump.Objects{}
	o.Deployments = []*appsv1.Deployment{{ObjectMeta: named("d")}}
	o.ReplicaSets = []*appsv1.ReplicaSet{{ObjectMeta: named("r")}, {ObjectMeta: ofOwner("Deployment", "d")}}
	o.StatefulSets = []*appsv1.StatefulSet{{ObjectMeta: named("s")}}
	o.ReplicationControllers = []*v1.ReplicationController{{ObjectMeta: named("c")}}
	o.DaemonSets = []*appsv1.DaemonSet{{ObjectMeta: named("a")}}
	o.Jobs = []*batchv1.Job{{ObjectMeta: named("j")}, {ObjectMeta: ofOwner("CronJob", "cron")}}
	o.CronJobs = []*batchv1.CronJob{{ObjectMeta: named("cron")}}
	pod := func(kind, owner string) *v1.Pod {
		p := testkit.Pod("shop/of-"+owner).Owner("v1", kind, owner).Obj()
		o.Pods = append(o.Pods, p)
		return p
	}
	done := pod("StatefulSet", "s")
	done.Status.Phase = v1.PodSucceeded
	want := map[string]*v1.Pod{
		"deployment/shop/d": pod("ReplicaSet", "d-1"), "replicaset/shop/r": pod("ReplicaSet", "r"), "statefulset/shop/s": pod("StatefulSet", "s"),
		"replicationcontroller/shop/c": pod("ReplicationController", "c"), "daemonset/shop/a": pod("DaemonSet", "a"),
		"job/shop/j": pod("Job", "j"), "cronjob/shop/cron": pod("Job", "cron-1"),
	}
	before := len(o.Pods)
	for name, p := range want {
		x, err := find(o, name)
		require.NoError(t, err)
		require.Equal(t, []*v1.Pod{p}, x.pods, name)
	}
	require.Len(t, o.Pods, before)
	require.NotContains(t, o.Pods, (*v1.Pod)(nil))
	for _, name := range []string{"deployment/shop/r", "statefulset/other/s"} {
		_, err := find(o, name)
		require.ErrorContains(t, err, "Not found", name)
	}
}
