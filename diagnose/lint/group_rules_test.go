package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// Pods that a manifest has made are not counted a second time, a Job has at most as many as its completions, and a group without a pod is at rest.
func TestGroupMinCount(t *testing.T) {
	type test struct {
		name, why string
		world     func(w *world)
		fix       string // "" for no finding
	}
	owned := func(w *world, kind, owner string) {
		for _, name := range []string{"a", "b", "c"} {
			p := testkit.Pod(name).Obj()
			p.Namespace = "default"
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: ptr(true)}}
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr("train")}
			w.objs.Pods = append(w.objs.Pods, p)
		}
		w.in.Cluster = w.objs
	}
	completions := func(w *world, n int32) { w.in.Jobs[0].Spec.Completions = &n }
	testkit.Run(t, []test{
		{"pods of a Job", "they are its three", func(w *world) { w.job(3); owned(w, "Job", "web") }, "minCount 3 in the PodGroup or parallelism: 5"},
		{"pods of a Deployment", "its ReplicaSet made them", func(w *world) { owned(w, "ReplicaSet", "web-5d4b9") }, "minCount 3 in the PodGroup or replicas: 5"},
		{"pods of another", "they come on top", func(w *world) { owned(w, "ReplicaSet", "more-5d4b9") }, ""},
		{"completions", "two pods at most", func(w *world) { w.job(5); completions(w, 2) }, "minCount 2 in the PodGroup or completions: 5"},
		{"both", "neither is enough", func(w *world) { w.job(3); completions(w, 2) }, "minCount 2 in the PodGroup or parallelism: 5 and completions: 5"},
		{"enough", "completions above", func(w *world) { w.job(5); completions(w, 9) }, ""},
		{"a CronJob", "the same", func(w *world) {
			w.job(5)
			completions(w, 2)
			w.in.CronJobs = []*batchv1.CronJob{{ObjectMeta: w.web.ObjectMeta, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: w.in.Jobs[0].Spec}}}}
			w.in.Jobs = nil
		}, "minCount 2 in the PodGroup or completions: 5"},
		{"one after the other", "the second waits for the first, which waits for its group", func(w *world) { w.set("") }, "podManagementPolicy: Parallel in StatefulSet default/web, which must be made again for that"},
		{"all together", "five at once", func(w *world) { w.set("Parallel") }, ""},
		{"begun", "its pods have nodes", func(w *world) {
			w.set("OrderedReady")
			owned(w, "StatefulSet", "web")
			w.objs.Pods[len(w.objs.Pods)-1].Spec.NodeName = w.objs.Nodes[0].Name
		}, ""},
		{"beside others", "four and the first are enough", func(w *world) {
			w.set("")
			w.app("more", 4).Spec.Template.Spec = *w.pod.DeepCopy()
		}, ""},
		{"at rest", "nobody asks for a pod", func(w *world) { w.replicas(0) }, ""},
	}, func(t *testing.T, c test) {
		w := newWorld()
		w.group("train", 5)
		w.member("train")
		w.in.Cluster = nil
		c.world(w)
		found := of(t, w, "group-min-count")
		if c.fix == "" {
			require.Empty(t, found)
			return
		}
		require.Len(t, found, 1)
		require.Equal(t, c.fix, found[0].Fix)
	})
}

// set turns the Deployment into a StatefulSet of five pods.
func (w *world) set(policy appsv1.PodManagementPolicyType) {
	w.in.Deployments = nil
	w.in.StatefulSets = []*appsv1.StatefulSet{{ObjectMeta: w.web.ObjectMeta, Spec: appsv1.StatefulSetSpec{Replicas: ptr(int32(5)), PodManagementPolicy: policy, Selector: w.web.Spec.Selector, Template: w.web.Spec.Template}}}
}

// The priority and the topology key of a composite group count for the groups below it, and the findings name it.
func TestCompositeRules(t *testing.T) {
	w := newWorld()
	w.in.Cluster = w.objs
	w.group("train", 1).Parent = "job"
	w.group("serve", 1).Parent = "job"
	w.member("train")
	more := w.app("more", 1)
	more.Spec.Template.Spec = *w.pod.DeepCopy()
	more.Spec.Template.Spec.SchedulingGroup.PodGroupName = ptr("serve")
	job := &podgroup.Composite{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}, Spec: podgroup.Spec{Minimum: ptr(int32(2)), Priority: ptr(int32(5)), Constraints: &podgroup.Constraints{Topology: []string{"rack"}}}}
	w.in.Composites = append(w.in.Composites, job)
	found := of(t, w, "group-topology-key")
	require.Len(t, found, 1, "once for all groups of the tree")
	require.Equal(t, "the composite group job must stay in one domain of rack, and no node has that label", found[0].Explanation)
	require.Equal(t, "a key that nodes have in the CompositePodGroup", found[0].Fix)
	found = of(t, w, "group-priority")
	require.Len(t, found, 2)
	require.Equal(t, "the pods have the priority 0 and the root of their group, compositepodgroup/default/job, has 5: no pod of the group is scheduled", found[0].Explanation)
	require.Equal(t, "priority 0 in the CompositePodGroup job or the priorityClassName of the group", found[0].Fix)

	job.Priority, job.Constraints.Topology = nil, []string{zone}
	require.Empty(t, of(t, w, "group-topology-key"))
	require.Empty(t, of(t, w, "group-priority"))
}

// The groups of a composite group are counted where it has any, its composite groups with them.
func TestMinGroups(t *testing.T) {
	w := newWorld()
	w.tree(3)
	found := of(t, w, "group-min-groups")
	require.Len(t, found, 1)
	require.Equal(t, Finding{"group-min-groups", Error, "CompositePodGroup default/job", "spec.schedulingPolicy.gang.minGroupCount",
		"the composite group job needs 3 groups and has 2: no pod below it is scheduled", "minGroupCount 2 in the CompositePodGroup or more groups"}, found[0])
	w.in.Composites = append(w.in.Composites, &podgroup.Composite{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "below"}, Spec: podgroup.Spec{Parent: "job", Minimum: ptr(int32(7))}})
	require.Empty(t, of(t, w, "group-min-groups"), "the third is a composite group, below which nobody waits")
}

// The pods of a tree need one scheduler; a finding about a group itself comes first.
func TestSchedulersOfTree(t *testing.T) {
	w := newWorld()
	w.tree(2)
	more := w.app("more", 1)
	more.Spec.Template.Spec = *w.pod.DeepCopy()
	more.Spec.Template.Spec.SchedulingGroup.PodGroupName = ptr("serve")
	require.Empty(t, of(t, w, "group-schedulers"))
	more.Spec.Template.Spec.SchedulerName = "other"
	found := of(t, w, "group-schedulers")
	require.Len(t, found, 1)
	require.Equal(t, "Deployment default/web of the same tree of groups, compositepodgroup/default/job, has default-scheduler: kube-scheduler does not schedule both", found[0].Explanation)
	require.Equal(t, "the schedulerName default-scheduler", found[0].Fix)
	more.Spec.Template.Spec.SchedulingGroup.PodGroupName = ptr("train")
	require.Equal(t, "Deployment default/web of the same group has default-scheduler: kube-scheduler does not schedule both", of(t, w, "group-schedulers")[0].Explanation)
}

// A field of a group that the API server refuses is one finding, with all errors. A group whose class does not exist has a finding about the
// class, and none about its priority.
func TestRefusedGroups(t *testing.T) {
	w := newWorld()
	at := field.NewPath("spec", "schedulingPolicy", "gang", "minCount")
	w.in.Refused = map[string]field.ErrorList{"PodGroup default/b": {field.Required(at, ""), field.Invalid(at, 0, "must be more")}, "PodGroup default/a": {field.Invalid(at, -1, "must be greater than or equal to 1")}}
	found := of(t, w, "api-refuses")
	require.Len(t, found, 2)
	require.Equal(t, Finding{"api-refuses", Error, "PodGroup default/a", "spec.schedulingPolicy.gang.minCount",
		"the API server refuses it: Invalid value: -1: must be greater than or equal to 1", "a value that the API allows"}, found[0])
	require.Equal(t, "the API server refuses it: Required value; Invalid value: 0: must be more", found[1].Explanation)

	w = newWorld()
	w.groupOfClass("train", "hig")
	w.member("train")
	w.pod.PriorityClassName = "high"
	require.Equal(t, "there is no PriorityClass hig, near: high", of(t, w, "group-priority-class")[0].Explanation)
	require.Empty(t, of(t, w, "group-priority"), "the priority of the group is not known")
	w.in.PriorityClasses, w.in.Cluster = nil, nil
	require.Empty(t, of(t, w, "group-priority-class"), "nothing is known about classes")
}
