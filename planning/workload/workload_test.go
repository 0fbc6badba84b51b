package workload

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }

func ptr[T any](v T) *T { return &v }

// selector and template of pods of one app.
func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func template(app string) v1.PodTemplateSpec {
	return v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
}

func deployment(name string, n int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{Replicas: &n, Selector: selector(name), Template: template(name)}}
}

func replicaSet(name string, n int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: meta(name), Spec: appsv1.ReplicaSetSpec{Replicas: &n, Selector: selector(name), Template: template(name)}}
}

// setOf makes a ReplicaSet of a Deployment, as the controller does.
func setOf(d *appsv1.Deployment, n int32) *appsv1.ReplicaSet {
	r := newReplicaSet(d, 1, nil, nil)
	r.Spec.Replicas = &n
	return r
}

func statefulSet(name string, n int32, policy appsv1.PodManagementPolicyType) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: meta(name), Spec: appsv1.StatefulSetSpec{
		Replicas: &n, Selector: selector(name), Template: template(name), ServiceName: name, PodManagementPolicy: policy,
		VolumeClaimTemplates: []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
	}}
}

func daemonSet(name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: meta(name), Spec: appsv1.DaemonSetSpec{Selector: selector(name), Template: template(name)}}
}

func job(name string, parallelism, completions *int32) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: meta(name), Spec: batchv1.JobSpec{Parallelism: parallelism, Completions: completions, Template: template(name)}}
}

func indexed(j *batchv1.Job) *batchv1.Job {
	j.Spec.CompletionMode = ptr(batchv1.IndexedCompletion)
	return j
}

// pod makes a running and ready pod of a controller; of no one when kind is "".
func pod(kind, of, name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: meta(name)}
	p.Labels = map[string]string{"app": of}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: of, Controller: ptr(true)}}
	}
	p.Status.Phase, p.Status.Conditions = v1.PodRunning, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	for _, f := range change {
		f(p)
	}
	return p
}

func phase(x v1.PodPhase) func(*v1.Pod) { return func(p *v1.Pod) { p.Status.Phase = x } }

func terminating(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)} }

func labelled(k, v string) func(*v1.Pod) { return func(p *v1.Pod) { p.Labels[k] = v } }

func on(node string) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.NodeName = node } }

func nodes(names ...string) (list []*v1.Node) {
	for _, name := range names {
		list = append(list, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": "ssd"}}})
	}
	return list
}

// summary writes what was made, in one line.
func summary(m *Made) string {
	var out []string
	for _, r := range m.ReplicaSets {
		out = append(out, "ReplicaSet "+r.Name)
	}
	for _, c := range m.Claims {
		out = append(out, "claim "+c.Name)
	}
	for _, p := range m.Pods {
		out = append(out, p.Name)
	}
	for _, p := range m.Finished {
		out = append(out, "deletes "+p.Name)
	}
	for _, w := range m.Waiting {
		out = append(out, "waits for "+w.Pod+", which "+w.Why)
	}
	return strings.Join(out, "; ")
}

func TestMake(t *testing.T) {
	web := deployment("web", 3)
	set := setOf(web, 3)
	scaled, small := deployment("web", 5), setOf(web, 3)
	other := deployment("web", 3)
	other.Spec.Template.Spec.Containers[0].Image = "new"
	hashed := func(p *v1.Pod) {
		p.OwnerReferences[0].Name = "web-abc"
		p.Labels["pod-template-hash"] = "abc"
	}
	manual := daemonSet("agent")
	manual.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "hdd"}
	tainted := nodes("n1", "n2")
	tainted[0].Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
	tainted[1].Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}}
	index := func(i string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: i} }
	}
	suspended, complete, managed, half := job("once", ptr(int32(2)), nil), job("once", ptr(int32(2)), nil), job("once", nil, nil), job("once", ptr(int32(4)), ptr(int32(5)))
	suspended.Spec.Suspend = ptr(true)
	complete.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: v1.ConditionTrue}}
	managed.Spec.ManagedBy = ptr("example.com/kueue")
	own, resumed := job("once", nil, nil), job("once", nil, nil)
	own.Spec.ManagedBy = ptr(batchv1.JobControllerName)
	resumed.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: v1.ConditionTrue}}
	older := setOf(web, 0)
	older.Name, older.CreationTimestamp, set.CreationTimestamp = "web-older", metav1.Time{Time: time.Unix(1, 0)}, metav1.Time{Time: time.Unix(2, 0)}
	known := func(p *v1.Pod) { p.OwnerReferences[0].UID = "uid" }
	half.Status.Succeeded = 3
	someDone := indexed(job("once", ptr(int32(3)), ptr(int32(8))))
	someDone.Status.CompletedIndexes = "0,2-3"
	failedOnly := job("once", ptr(int32(1)), nil)
	failedOnly.Spec.PodReplacementPolicy = ptr(batchv1.Failed)
	leaving := replicaSet("web", 2)
	leaving.DeletionTimestamp = &metav1.Time{}
	started := statefulSet("db", 2, appsv1.ParallelPodManagement)
	started.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	testkit.Run(t, []struct {
		name, why string
		o         Objects
		want      string
	}{
		{"nothing", "empty input", Objects{}, ""},
		{"replicas", "one exists, one is finished, one is terminating", Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web", 3)}, Pods: []*v1.Pod{
			pod("ReplicaSet", "web", "web-1"), pod("ReplicaSet", "web", "web-x", phase(v1.PodFailed)), pod("ReplicaSet", "web", "web-y", terminating)}}, "web-2; web-3"},
		{"adopted", "a pod without a controller that the selector matches is a replica", Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web", 2)},
			Pods: []*v1.Pod{pod("", "web", "bare"), pod("", "db", "other")}}, "web-1"},
		{"released", "a pod that its owner's selector does not match is none of its replicas", Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web", 1)},
			Pods: []*v1.Pod{pod("ReplicaSet", "web", "a", labelled("app", "x"))}}, "web-1"},
		{"leaving", "an object that is being deleted makes nothing", Objects{ReplicaSets: []*appsv1.ReplicaSet{leaving}}, ""},
		{"replicas by default", "one", Objects{ReplicationControllers: []*v1.ReplicationController{{ObjectMeta: meta("rc"), Spec: v1.ReplicationControllerSpec{Template: ptr(template("rc"))}}}}, "rc-1"},
		{"deployment", "through its ReplicaSet", Objects{Deployments: []*appsv1.Deployment{web}, ReplicaSets: []*appsv1.ReplicaSet{set},
			Pods: []*v1.Pod{pod("ReplicaSet", set.Name, "a", labelled("app", "web"), labelled("pod-template-hash", set.Labels["pod-template-hash"]))}},
			set.Name + "-1; " + set.Name + "-2"},
		{"scaled", "the ReplicaSet with the template gets the rest", Objects{Deployments: []*appsv1.Deployment{scaled}, ReplicaSets: []*appsv1.ReplicaSet{small}},
			strings.Join([]string{set.Name + "-1", set.Name + "-2", set.Name + "-3", set.Name + "-4", set.Name + "-5"}, "; ")},
		{"two ReplicaSets with the template", "the older one gets the rest", Objects{Deployments: []*appsv1.Deployment{scaled}, ReplicaSets: []*appsv1.ReplicaSet{set, older}},
			strings.Join([]string{set.Name + "-1", set.Name + "-2", set.Name + "-3", "web-older-1", "web-older-2"}, "; ")},
		{"two ReplicaSets in the other order", "the order of the list does not matter", Objects{Deployments: []*appsv1.Deployment{scaled}, ReplicaSets: []*appsv1.ReplicaSet{older, set}},
			strings.Join([]string{set.Name + "-1", set.Name + "-2", set.Name + "-3", "web-older-1", "web-older-2"}, "; ")},
		{"owner of a UID", "the object has none", Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web", 2)}, Pods: []*v1.Pod{pod("ReplicaSet", "web", "web-1", known)}}, "web-2"},
		{"new deployment", "the ReplicaSet is made, too", Objects{Deployments: []*appsv1.Deployment{deployment("web", 1)}}, "ReplicaSet " + set.Name + "; " + set.Name + "-1"},
		{"changed template", "a rollout is not continued: the old ReplicaSet keeps its replicas", Objects{Deployments: []*appsv1.Deployment{other}, ReplicaSets: []*appsv1.ReplicaSet{set}},
			set.Name + "-1; " + set.Name + "-2; " + set.Name + "-3"},
		{"ReplicaSet not in the input", "its pods name it", Objects{Deployments: []*appsv1.Deployment{web}, Pods: []*v1.Pod{pod("ReplicaSet", "web", "web-abc-1", hashed)}},
			"ReplicaSet web-abc; web-abc-2; web-abc-3"},
		{"ordered", "only the first pod", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 3, "")}}, "claim data-db-0; db-0; waits for db-0, which is not running and ready"},
		{"ordered behind a ready pod", "only the next pod", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 3, appsv1.OrderedReadyPodManagement)},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0")}}, "claim data-db-1; db-1; waits for db-1, which is not running and ready"},
		{"ordered behind a pod that is not ready", "none", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 3, "")},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0", phase(v1.PodPending))}}, "waits for db-0, which is not running and ready"},
		{"ordered and all there", "nobody waits for the last pod", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 1, "")},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0", phase(v1.PodPending))}}, ""},
		{"ordered and the last pod leaves", "its name is free when it is gone", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 1, "")},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0", terminating)}}, "waits for db-0, which is terminating"},
		{"ordered and a later pod has ended", "it waits for the pod before", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 2, "")},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0", phase(v1.PodPending)), pod("StatefulSet", "db", "db-1", phase(v1.PodFailed))}}, "waits for db-0, which is not running and ready"},
		{"hole", "the first pod that is missing", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 3, "")},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0"), pod("StatefulSet", "db", "db-2")}}, "claim data-db-1; db-1"},
		{"parallel", "all pods, claims that exist stay", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 2, appsv1.ParallelPodManagement)},
			Claims: []*v1.PersistentVolumeClaim{{ObjectMeta: meta("data-db-0")}}}, "claim data-db-1; db-0; db-1"},
		{"ordinals", "from the first one", Objects{StatefulSets: []*appsv1.StatefulSet{started}}, "claim data-db-5; claim data-db-6; db-5; db-6"},
		{"finished ordinal", "deleted and made again", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 1, "")},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0", phase(v1.PodFailed))}}, "claim data-db-0; db-0; deletes db-0"},
		{"terminating ordinal", "the name is taken until the pod is gone", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 2, appsv1.ParallelPodManagement)},
			Pods: []*v1.Pod{pod("StatefulSet", "db", "db-0", terminating)}}, "claim data-db-1; db-1; waits for db-0, which is terminating"},
		{"foreign ordinal", "the name is taken", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", 1, "")},
			Pods: []*v1.Pod{pod("Job", "x", "db-0")}}, "waits for db-0, which has its name and does not belong to it"},
		{"daemons", "a pod for each node that has none", Objects{DaemonSets: []*appsv1.DaemonSet{daemonSet("agent")}, Nodes: nodes("n1", "n2", "n3"),
			Pods: []*v1.Pod{pod("DaemonSet", "agent", "agent-1", on("n2"))}}, "agent-2; agent-3"},
		{"daemons and a node selector", "no node matches", Objects{DaemonSets: []*appsv1.DaemonSet{manual}, Nodes: nodes("n1")}, ""},
		{"daemons and taints", "cordoned nodes are tolerated, others are not", Objects{DaemonSets: []*appsv1.DaemonSet{daemonSet("agent")}, Nodes: tainted}, "agent-1"},
		{"daemon leaves", "its node waits", Objects{DaemonSets: []*appsv1.DaemonSet{daemonSet("agent")}, Nodes: nodes("n1"),
			Pods: []*v1.Pod{pod("DaemonSet", "agent", "agent-1", on("n1"), terminating)}}, "waits for agent-1, which is terminating"},
		{"two daemons on a node", "the first counts", Objects{DaemonSets: []*appsv1.DaemonSet{daemonSet("agent")}, Nodes: nodes("n1"),
			Pods: []*v1.Pod{pod("DaemonSet", "agent", "agent-1", on("n1")), pod("DaemonSet", "agent", "agent-2", on("n1"), terminating)}}, ""},
		{"daemon failed and leaves", "its node waits", Objects{DaemonSets: []*appsv1.DaemonSet{daemonSet("agent")}, Nodes: nodes("n1"),
			Pods: []*v1.Pod{pod("DaemonSet", "agent", "agent-1", on("n1"), terminating, phase(v1.PodFailed))}}, "waits for agent-1, which is terminating"},
		{"a leaving pod is not adopted", "its node has no daemon", Objects{DaemonSets: []*appsv1.DaemonSet{daemonSet("agent")}, Nodes: nodes("n1"),
			Pods: []*v1.Pod{pod("", "agent", "agent-x", on("n1"), terminating)}}, "agent-1"},
		{"daemon failed", "made again", Objects{DaemonSets: []*appsv1.DaemonSet{daemonSet("agent")}, Nodes: nodes("n1"),
			Pods: []*v1.Pod{pod("DaemonSet", "agent", "agent-1", on("n1"), phase(v1.PodFailed))}}, "agent-2"},
		{"job", "parallelism, as completions allow", Objects{Jobs: []*batchv1.Job{job("once", ptr(int32(4)), ptr(int32(2)))}}, "once-1; once-2"},
		{"job half done", "two completions are left", Objects{Jobs: []*batchv1.Job{half}}, "once-1; once-2"},
		{"job and finished pods of the input", "they are completions", Objects{Jobs: []*batchv1.Job{job("once", ptr(int32(2)), ptr(int32(2)))},
			Pods: []*v1.Pod{pod("Job", "once", "once-1", phase(v1.PodSucceeded))}}, "once-2"},
		{"work queue", "as many as parallelism", Objects{Jobs: []*batchv1.Job{job("once", ptr(int32(2)), nil)}}, "once-1; once-2"},
		{"work queue that ends", "no pod after the first success", Objects{Jobs: []*batchv1.Job{job("once", ptr(int32(2)), nil)},
			Pods: []*v1.Pod{pod("Job", "once", "once-1", phase(v1.PodSucceeded))}}, ""},
		{"suspended", "none", Objects{Jobs: []*batchv1.Job{suspended}}, ""},
		{"complete", "none", Objects{Jobs: []*batchv1.Job{complete}}, ""},
		{"managed by the Job controller", "as without the field", Objects{Jobs: []*batchv1.Job{own}}, "once-1"},
		{"condition Suspended", "the condition ends no Job", Objects{Jobs: []*batchv1.Job{resumed}}, "once-1"},
		{"managed elsewhere", "none", Objects{Jobs: []*batchv1.Job{managed}}, ""},
		{"indexes", "the lowest that are missing", Objects{Jobs: []*batchv1.Job{someDone}, Pods: []*v1.Pod{pod("Job", "once", "x", index("4"))}}, "once-1-1; once-5-1"},
		{"indexes of pods", "a failed pod has not done its index, and a pod without an index does none", Objects{Jobs: []*batchv1.Job{indexed(job("once", ptr(int32(4)), ptr(int32(4))))}, Pods: []*v1.Pod{
			pod("Job", "once", "x", index("1"), phase(v1.PodFailed)), pod("Job", "once", "y"), pod("Job", "once", "z", index("2"), phase(v1.PodSucceeded))}}, "once-0-1; once-1-1; once-3-1"},
		{"terminating pod of a job", "replaced at once", Objects{Jobs: []*batchv1.Job{job("once", nil, nil)}, Pods: []*v1.Pod{pod("Job", "once", "x", terminating)}}, "once-1"},
		{"podReplacementPolicy Failed", "replaced when it has failed", Objects{Jobs: []*batchv1.Job{failedOnly}, Pods: []*v1.Pod{pod("Job", "once", "x", terminating)}}, ""},
	}, func(t *testing.T, c struct {
		name, why string
		o         Objects
		want      string
	}) {
		var made *Made
		testkit.Unchanged(t, func() {
			var err error
			made, err = Make(c.o, Options{})
			require.NoError(t, err)
		}, objects(c.o)...)
		require.Equal(t, c.want, summary(made), c.why)

		// What was made is there: nothing more is missing now, but for pods that wait for each other.
		next := c.o
		next.ReplicaSets = append(next.ReplicaSets[:len(next.ReplicaSets):len(next.ReplicaSets)], made.ReplicaSets...)
		next.Claims = append(next.Claims[:len(next.Claims):len(next.Claims)], made.Claims...)
		next.Pods = nil
		for _, p := range c.o.Pods {
			if !contains(made.Finished, p) {
				next.Pods = append(next.Pods, p)
			}
		}
		next.Pods = append(next.Pods, made.Pods...)
		again, err := Make(next, Options{})
		require.NoError(t, err)
		require.Empty(t, again.Pods, "made again")
		require.Empty(t, again.Claims, "made again")
	})
}

// objects lists all objects of the input.
func objects(o Objects) (list []runtime.Object) {
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		for k := range v.Field(i).Len() {
			list = append(list, v.Field(i).Index(k).Interface().(runtime.Object))
		}
	}
	return list
}

func contains(list []*v1.Pod, p *v1.Pod) bool {
	for _, x := range list {
		if x == p {
			return true
		}
	}
	return false
}

// Pods have the names, labels, owners and fields that their controllers give them.
func TestPodsAsControllersMakeThem(t *testing.T) {
	db := statefulSet("db", 1, "")
	db.Status.UpdateRevision = "db-7c"
	db.Spec.Template.Spec.Volumes = []v1.Volume{{Name: "data"}, {Name: "tmp"}}
	db.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	agent := daemonSet("agent")
	agent.UID = "u"
	agent.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "2"}
	once := indexed(job("once", nil, ptr(int32(1))))
	once.UID = "v"
	web := deployment("web", 1)
	made, err := Make(Objects{Deployments: []*appsv1.Deployment{web}, StatefulSets: []*appsv1.StatefulSet{db}, DaemonSets: []*appsv1.DaemonSet{agent},
		Jobs: []*batchv1.Job{once}, Nodes: nodes("n1")}, Options{})
	require.NoError(t, err)
	require.Len(t, made.Pods, 4)

	p, r := made.Pods[0], made.ReplicaSets[0]
	hash := r.Labels["pod-template-hash"]
	require.Equal(t, "web-"+hash, r.Name)
	require.Equal(t, map[string]string{"app": "web", "pod-template-hash": hash}, p.Labels)
	require.Equal(t, map[string]string{"app": "web", "pod-template-hash": hash}, r.Spec.Selector.MatchLabels)
	require.Equal(t, "Deployment web", r.OwnerReferences[0].Kind+" "+r.OwnerReferences[0].Name)
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: r.Name, UID: r.UID, Controller: ptr(true), BlockOwnerDeletion: ptr(true)}}, p.OwnerReferences)
	require.Equal(t, r.Name+"-", p.GenerateName)
	require.Equal(t, v1.PodPending, p.Status.Phase)

	p = made.Pods[1]
	require.Equal(t, map[string]string{"app": "db", "statefulset.kubernetes.io/pod-name": "db-0", "apps.kubernetes.io/pod-index": "0", "controller-revision-hash": "db-7c"}, p.Labels)
	require.Equal(t, "db-0 db", p.Spec.Hostname+" "+p.Spec.Subdomain)
	require.Equal(t, "data tmp", p.Spec.Volumes[0].Name+" "+p.Spec.Volumes[1].Name)
	require.Equal(t, "data-db-0", p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	c := made.Claims[0]
	require.Equal(t, "shop/data-db-0", c.Namespace+"/"+c.Name)
	require.Equal(t, map[string]string{"app": "db"}, c.Labels)
	require.Equal(t, "StatefulSet", c.OwnerReferences[0].Kind)

	p = made.Pods[2]
	require.Equal(t, "once-0-1 once-0- once-0", p.Name+" "+p.GenerateName+" "+p.Spec.Hostname)
	require.Equal(t, "0", p.Annotations[batchv1.JobCompletionIndexAnnotation])
	require.Equal(t, "0", p.Labels[batchv1.JobCompletionIndexAnnotation])
	require.Equal(t, "once v", p.Labels[batchv1.JobNameLabel]+" "+p.Labels[batchv1.ControllerUidLabel])
	require.Equal(t, "JOB_COMPLETION_INDEX", p.Spec.Containers[0].Env[0].Name)
	require.Equal(t, []string{batchv1.JobTrackingFinalizer}, p.Finalizers)

	p = made.Pods[3]
	require.Equal(t, "2", p.Labels[labelTemplateGeneration])
	require.Equal(t, "n1", nodeOf(p))
	require.Len(t, p.Spec.Tolerations, 6)
	require.EqualValues(t, "u", p.OwnerReferences[0].UID)
}

// A generated name keeps 58 characters of its beginning, so that the API server takes it.
func TestLongNames(t *testing.T) {
	made, err := Make(Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet(strings.Repeat("x", 63), 1)}}, Options{})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 58)+"1", made.Pods[0].Name)
}

// A second Deployment whose ReplicaSet's name is taken counts collisions until the name is free.
func TestCollision(t *testing.T) {
	web, old := deployment("web", 1), setOf(deployment("web", 1), 0)
	old.Spec.Template.Spec.Containers[0].Image = "other"
	made, err := Make(Objects{Deployments: []*appsv1.Deployment{web}, ReplicaSets: []*appsv1.ReplicaSet{old}}, Options{})
	require.NoError(t, err)
	require.Equal(t, "web-"+templateHash(&web.Spec.Template, ptr(int32(0))), made.ReplicaSets[0].Name)
}

func TestBadInput(t *testing.T) {
	bad := func(change func(d *appsv1.Deployment)) Objects {
		d := deployment("web", 1)
		change(d)
		return Objects{Deployments: []*appsv1.Deployment{d}}
	}
	set := func(change func(s *appsv1.StatefulSet)) Objects {
		s := statefulSet("db", 1, "")
		change(s)
		return Objects{StatefulSets: []*appsv1.StatefulSet{s}}
	}
	work := func(change func(j *batchv1.Job)) Objects {
		j := job("once", nil, nil)
		change(j)
		return Objects{Jobs: []*batchv1.Job{j}}
	}
	testkit.Run(t, []struct {
		name, why string
		o         Objects
		want      string
	}{
		{"nil Deployment", "a list has a hole", Objects{Deployments: []*appsv1.Deployment{nil}}, "Deployment 0 of the list: Required value: must not be nil"},
		{"nil pod", "a list has a hole", Objects{Pods: []*v1.Pod{pod("", "a", "a"), nil}}, "Pod 1 of the list: Required value: must not be nil"},
		{"no name", "every object has one", Objects{Nodes: []*v1.Node{{}}}, "Node 0 of the list: metadata.name: Required value"},
		{"two of one name", "which one counts is not known", Objects{Jobs: []*batchv1.Job{job("a", nil, nil), job("a", nil, nil)}}, `Job shop/a: metadata.name: Duplicate value: "a"`},
		{"two claims", "of one name", Objects{Claims: []*v1.PersistentVolumeClaim{{ObjectMeta: meta("a")}, {ObjectMeta: meta("a")}}}, `PersistentVolumeClaim shop/a: metadata.name: Duplicate value: "a"`},
		{"negative replicas", "as the API server says", bad(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr(int32(-1)) }), "Deployment shop/web: spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"selector of others", "its controller would make pods without end", bad(func(d *appsv1.Deployment) { d.Spec.Selector = selector("db") }), "Deployment shop/web: spec.template.metadata.labels: Invalid value: \"app=web\": `selector` does not match template `labels`"},
		{"unknown operator", "of a selector", bad(func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		}), `Deployment shop/web: spec.selector: Invalid value: "Near" is not a valid label selector operator`},
		{"ReplicaSet", "checked, too", Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("a", -1)}}, "ReplicaSet shop/a: spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"no template", "of a ReplicationController", Objects{ReplicationControllers: []*v1.ReplicationController{{ObjectMeta: meta("a")}}}, "ReplicationController shop/a: spec.template: Required value"},
		{"ReplicationController", "checked, too", Objects{ReplicationControllers: []*v1.ReplicationController{{ObjectMeta: meta("a"), Spec: v1.ReplicationControllerSpec{Replicas: ptr(int32(-1)), Template: ptr(template("a"))}}}},
			"ReplicationController shop/a: spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"StatefulSet", "checked, too", set(func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr(int32(-1)) }), "StatefulSet shop/db: spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"failed indexes", "no list of indexes", work(func(j *batchv1.Job) {
			indexed(j).Spec.Completions = ptr(int32(2))
			j.Status.FailedIndexes = ptr("x")
		}), `Job shop/once: status.failedIndexes: Invalid value: "x": must be indexes such as 1,3-5,7`},
		{"unknown policy", "of a StatefulSet", set(func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = "Sometimes" }), `StatefulSet shop/db: spec.podManagementPolicy: Unsupported value: "Sometimes": supported values: "OrderedReady", "Parallel"`},
		{"negative ordinal", "of a StatefulSet", set(func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: -1} }), "StatefulSet shop/db: spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"},
		{"claim without a name", "of a StatefulSet", set(func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Name = "" }), "StatefulSet shop/db: spec.volumeClaimTemplates[0].metadata.name: Required value"},
		{"negative parallelism", "of a Job", work(func(j *batchv1.Job) { j.Spec.Parallelism = ptr(int32(-1)) }), "Job shop/once: spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
		{"negative completions", "of a Job", work(func(j *batchv1.Job) { j.Spec.Completions = ptr(int32(-1)) }), "Job shop/once: spec.completions: Invalid value: -1: must be greater than or equal to 0"},
		{"unknown mode", "of a Job", work(func(j *batchv1.Job) { j.Spec.CompletionMode = ptr(batchv1.CompletionMode("Some")) }), `Job shop/once: spec.completionMode: Unsupported value: "Some": supported values: "Indexed", "NonIndexed"`},
		{"indexes without completions", "of a Job", work(func(j *batchv1.Job) { indexed(j) }), "Job shop/once: spec.completions: Required value: when completion mode is Indexed"},
		{"completed indexes", "no list of indexes", work(func(j *batchv1.Job) {
			indexed(j).Spec.Completions = ptr(int32(2))
			j.Status.CompletedIndexes = "3-1"
		}), `Job shop/once: status.completedIndexes: Invalid value: "3-1": must be indexes such as 1,3-5,7`},
		{"Job selector", "unknown operator", work(func(j *batchv1.Job) {
			j.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
		}), `Job shop/once: spec.selector: Invalid value: "Near" is not a valid label selector operator`},
		{"selector of a DaemonSet", "its controller would make pods without end", Objects{DaemonSets: []*appsv1.DaemonSet{func() *appsv1.DaemonSet {
			d := daemonSet("a")
			d.Spec.Selector = selector("b")
			return d
		}()}}, "DaemonSet shop/a: spec.template.metadata.labels: Invalid value: \"app=a\": `selector` does not match template `labels`"},
		{"DaemonSet", "checked, too", Objects{DaemonSets: []*appsv1.DaemonSet{nil}}, "DaemonSet 0 of the list: Required value: must not be nil"},
	}, func(t *testing.T, c struct {
		name, why string
		o         Objects
		want      string
	}) {
		_, err := Make(c.o, Options{})
		require.EqualError(t, err, c.want, c.why)
	})
	_, err := Make(Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web", 1<<30)}}, Options{Limit: 10})
	require.EqualError(t, err, "ReplicaSet shop/web: Too many: there are more than 10 pods to make")
}

// Nil, zero and extreme arguments give an error or the zero answer.
func TestMisuse(t *testing.T) {
	var holes Objects
	holes.StatefulSets = make([]*appsv1.StatefulSet, 1)
	testkit.Misuse(t, map[string]any{"Make": Make, "WithinBounds": WithinBounds, "Waiting": func() Waiting { return Waiting{} }}, nil, holes, Options{Limit: -1}, Options{Limit: 1})
}

// Time grows with the number of Deployments, ReplicaSets and pods, not with their product: 64 times the objects take far less
// than 4,096 times the time.
func TestMakeIsLinear(t *testing.T) {
	took := func(n int) time.Duration {
		o, best := many(n), time.Hour
		for range 4 {
			begin := testkit.ProcessorTime(t)
			made, err := Make(o, Options{})
			best = min(best, testkit.ProcessorTime(t)-begin)
			require.NoError(t, err)
			require.Len(t, made.Pods, n)
		}
		return best
	}
	small, large := took(100), took(6400)
	require.Less(t, large, 1000*small)
}

// many makes n Deployments with two pods of three each.
func many(n int) (o Objects) {
	for i := range n {
		d := deployment(fmt.Sprintf("web%d", i), 3)
		r := setOf(d, 3)
		o.Deployments, o.ReplicaSets = append(o.Deployments, d), append(o.ReplicaSets, r)
		for k := range 2 {
			o.Pods = append(o.Pods, pod("ReplicaSet", r.Name, fmt.Sprintf("%s-x%d", r.Name, k), labelled("app", d.Name), labelled("pod-template-hash", r.Labels["pod-template-hash"])))
		}
	}
	return o
}

// A DaemonSet has a pod on each node that its pods tolerate: comparing operators count when the options say so, as for the scheduler.
func TestComparedTaints(t *testing.T) {
	type test struct {
		name, why, value string
		compares         bool
		want             int
	}
	testkit.Run(t, []test{
		{"off", "the operator tolerates nothing", "95", false, 0},
		{"above", "95 is more than 90", "95", true, 1},
		{"below", "85 is not", "85", true, 0},
	}, func(t *testing.T, c test) {
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d"}}
		d.Spec.Template.Spec.Tolerations = []v1.Toleration{{Key: "sla", Operator: v1.TolerationOpGt, Value: "90"}}
		n := testkit.Node("n").Taint("sla=" + c.value + ":NoSchedule").Obj()
		options := Options{Tolerations: taints.Options{ComparisonOperators: c.compares}}
		made, err := Make(Objects{DaemonSets: []*appsv1.DaemonSet{d}, Nodes: []*v1.Node{n}}, options)
		require.NoError(t, err)
		require.Len(t, made.Pods, c.want)
		tolerated := taints.Untolerated(n, d.Spec.Template.Spec.Tolerations, options.Tolerations) == nil
		require.Equal(t, tolerated, len(made.Pods) == 1)
	})
}
