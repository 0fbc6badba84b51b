package rollout

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
)

// Plans of random clusters and options: a hash of the whole plan, what is blocked, and which remedies hold.
func TestRandom(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(130) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+7e6, 500))
		w := random(b)
		w.more(b)
		p := w.plan(t, anyOptions(b))
		h := testkit.Hash32(t, seed)
		require.NoError(t, json.NewEncoder(h).Encode(p))
		fmt.Fprintf(&out, "%d: %08x, steps %d, replaced %d, evictions %d, again %d, waiting %d, until %v\n",
			seed, h.Sum32(), len(p.Steps), p.Replaced, p.Evictions, len(p.Again), len(p.Waiting), p.Total)
		for _, d := range p.Blocked {
			fmt.Fprintf(&out, "  %s %s: %s: %s\n", strings.Join(d.Nodes, " "), d.Kind, strings.Join(d.Pods, " "), strings.Join(remedied(d.Remedies), "; "))
		}
	}
	testkit.Golden(t, "testdata/random.txt", out.String())
}

// anyOptions are options of all kinds. Times depend on the pods and nodes.
func anyOptions(b *testkit.Bytes) Options {
	o := Options{
		Batch: b.Below(4), Surge: testkit.Pick(b, 0, 0, 1, 2), KeepSurge: b.OneIn(2), Order: testkit.Pick(b, "", FewestPods, Given),
		Drain: disruption.DrainOptions{
			Force: !b.OneIn(4), IgnoreDaemonSets: !b.OneIn(4), DeleteEmptyDirData: b.OneIn(2), DisableEviction: b.OneIn(10),
		},
		Remedies: b.Below(8),
		Start: func(p *v1.Pod, node string) time.Duration {
			return time.Duration(len(p.Labels["app"])-4+len(node)) * time.Second
		},
	}
	if b.OneIn(2) {
		o.Nodes = testkit.Pick(b, []string{"n1", "n2"}, []string{"n5", "n1", "n3"}, []string{"n4"}, []string{"n2", "n4", "n5", "n1"})
	}
	if b.OneIn(4) {
		o.Shape = testkit.Node("big").Zone("a").Capacity("cpu=6").Obj()
	}
	if b.OneIn(3) {
		o.Drain.GracePeriodSeconds = new(int64(b.Below(4)))
	}
	if b.OneIn(3) {
		o.Stop = func(p *v1.Pod) time.Duration { return time.Duration(len(p.Name)%3) * time.Second }
	}
	if b.OneIn(2) {
		o.Renew = func(n *v1.Node) time.Duration { return time.Duration(len(n.Name)) * time.Second }
	}
	if b.OneIn(3) {
		o.Timeout = time.Duration(1+b.Below(8)) * time.Second
	}
	if b.OneIn(6) {
		o.Pinned = func(p *v1.Pod) string {
			if strings.HasSuffix(p.Name, "-0") {
				return "the first pod stays"
			}
			return ""
		}
	}
	return o
}

// more changes the nodes and pods of a world, and adds workloads of the kinds that it lacks.
func (w *world) more(b *testkit.Bytes) {
	for _, n := range w.objects.Nodes {
		switch b.Below(8) {
		case 0:
			delete(n.Labels, zone)
		case 1:
			n.Spec.Unschedulable = true
		case 2:
			n.Spec.Taints = testkit.Taints(OldTaint+":PreferNoSchedule", "disk=slow:NoSchedule")
		case 3:
			n.UID = types.UID(n.Name)
		}
	}
	for _, r := range w.objects.ReplicaSets {
		if b.OneIn(2) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d-" + r.Name}, Spec: appsv1.DeploymentSpec{Replicas: r.Spec.Replicas}}
			w.in.Deployments = append(w.in.Deployments, d)
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: d.Name, Controller: new(true)}}
		}
		switch b.Below(6) {
		case 0:
			w.pod("ReplicaSet", r.Name, r.Name+"-waits", "", r.Spec.Template)
			*r.Spec.Replicas++
		case 1:
			w.half(r.Name+"-half", testkit.Pick(b, "n1", "n2"))
		case 2:
			w.budget("zz-"+r.Name, r.Name, "1")
		}
	}
	one := testkit.Pick(b, "n1", "n3", "n5")
	switch b.Below(8) {
	case 0:
		rc := template("rc", "cpu=500m", nil)
		w.objects.ReplicationControllers = []*v1.ReplicationController{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rc"},
			Spec:       v1.ReplicationControllerSpec{Replicas: new(int32(2)), Selector: rc.Labels, Template: &rc},
		}}
		for i, node := range []string{one, "n2"} {
			w.pod("ReplicationController", "rc", fmt.Sprint("rc-", i), node, rc).OwnerReferences[0].APIVersion = "v1"
		}
		w.budget("rc", "rc", testkit.Pick(b, "2", "max 1", "60%"))
	case 1:
		job := template("job", "cpu=500m", func(s *v1.PodSpec) { s.RestartPolicy = v1.RestartPolicyNever })
		w.in.Jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}, Spec: batchv1.JobSpec{
			Parallelism: new(int32(2)), Completions: new(int32(4)), Template: job,
		}}}
		for i, node := range []string{one, "n2"} {
			w.pod("Job", "job", fmt.Sprint("job-", i), node, job).OwnerReferences[0].APIVersion = "batch/v1"
		}
		w.budget("job", "job", testkit.Pick(b, "1", "max 1"))
	case 2:
		agent := template("agent", "cpu=250m", nil)
		w.in.DaemonSets = []*appsv1.DaemonSet{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: agent.Labels}, Template: agent},
		}}
		for _, node := range []string{one, "n2"} {
			w.pod("DaemonSet", "agent", "agent-"+node, node, agent)
		}
	case 3:
		w.stateful("zonal", "cpu=500m", one, appsv1.OrderedReadyPodManagement, claiming("disk"))
		w.volume("disk", testkit.Pick(b, "a", "b", "c"))
	case 4:
		w.app("single", "cpu=500m", one, claiming("disk"))
		w.volume("disk", "")
	case 5:
		w.app("scratch", "cpu=500m", one+" n2", func(s *v1.PodSpec) {
			s.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		})
	case 6:
		w.stateful("kept", "cpu=500m", one+" n2", testkit.Pick(b, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement), nil).Spec.Replicas = new(int32(3))
		w.budget("kept", "kept", testkit.Pick(b, "1", "max 1"))
		w.pod("StatefulSet", "kept", "kept-2", "", w.objects.StatefulSets[len(w.objects.StatefulSets)-1].Spec.Template)
	}
	for _, p := range w.objects.Pods {
		p.Spec.Priority = new(int32(b.Below(3)))
		switch b.Below(12) {
		case 0:
			p.Annotations = map[string]string{SafeToEvict: testkit.Pick(b, "false", "true")}
		case 1:
			sick(p)
		case 2:
			p.Status.Phase = testkit.Pick(b, v1.PodSucceeded, v1.PodFailed)
		case 3:
			p.Spec.TerminationGracePeriodSeconds = new(int64(b.Below(6)))
		}
	}
	for _, budget := range w.objects.PodDisruptionBudgets {
		if b.OneIn(4) {
			budget.Spec.UnhealthyPodEvictionPolicy = new(testkit.Pick(b, policyv1.AlwaysAllow, policyv1.IfHealthyBudget))
		}
	}
	for i := range b.Below(3) {
		p := w.pod(testkit.Pick(b, "", "Rollout"), "extra", fmt.Sprint("extra-", i), "", template("extra", testkit.Pick(b, "cpu=1", "cpu=9"), nil))
		p.Spec.Priority = new(int32(b.Below(2)))
		p.CreationTimestamp = metav1.NewTime(testkit.Epoch.Add(-time.Duration(b.Below(3)) * time.Second))
		if b.OneIn(6) {
			p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
		}
	}
}
