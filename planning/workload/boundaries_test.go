package workload

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Zero is a number that the API server takes, and a controller without a selector selects every pod that names it.
func TestZeroIsAllowed(t *testing.T) {
	set, work, loose := statefulSet("db", 0, ""), indexed(job("work", ptr(int32(0)), ptr(int32(0)))), replicaSet("loose", 0)
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{}
	loose.Spec.Selector = nil
	made, err := Make(Objects{StatefulSets: []*appsv1.StatefulSet{set}, Jobs: []*batchv1.Job{work, job("plain", ptr(int32(0)), ptr(int32(0)))}, ReplicaSets: []*appsv1.ReplicaSet{loose}}, Options{})
	require.NoError(t, err)
	require.Equal(t, &Made{}, made)
}

// Options.Limit is how many pods may be made. Every controller that makes one more is an error.
func TestLimit(t *testing.T) {
	agent := daemonSet("a")
	testkit.Run(t, []struct {
		name, why string
		o         Objects
		kind      string
	}{
		{"replicas", "one name each", Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("a", 3)}}, "ReplicaSet"},
		{"ordinals", "in their order", Objects{StatefulSets: []*appsv1.StatefulSet{statefulSet("a", 3, appsv1.ParallelPodManagement)}}, "StatefulSet"},
		{"completions", "as many as run at once", Objects{Jobs: []*batchv1.Job{job("a", ptr(int32(3)), nil)}}, "Job"},
		{"indexes", "the lowest ones", Objects{Jobs: []*batchv1.Job{indexed(job("a", ptr(int32(3)), ptr(int32(3))))}}, "Job"},
		{"nodes", "one pod each", Objects{DaemonSets: []*appsv1.DaemonSet{agent}, Nodes: nodes("n1", "n2", "n3")}, "DaemonSet"},
	}, func(t *testing.T, c struct {
		name, why string
		o         Objects
		kind      string
	}) {
		made, err := Make(c.o, Options{Limit: 3})
		require.NoError(t, err)
		require.Len(t, made.Pods, 3)
		for _, limit := range []int{1, 2} {
			_, err = Make(c.o, Options{Limit: limit})
			require.EqualError(t, err, c.kind+" shop/a: Too many: there are more than "+string(rune('0'+limit))+" pods to make")
		}
		made, err = Make(c.o, Options{Limit: -1})
		require.NoError(t, err)
		require.Len(t, made.Pods, 3, "the default")
	})
	_, err := Make(Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("a", 2), replicaSet("b", 1)}}, Options{Limit: 1})
	require.EqualError(t, err, "ReplicaSet shop/a: Too many: there are more than 1 pods to make", "the first error")
}

// The API server keeps 58 characters of a name before its random end.
func TestLengthOfNames(t *testing.T) {
	for n, want := range map[int]int{56: 58, 57: 59, 58: 59, 60: 59} { // the name has a dash and a number behind it
		made, err := Make(Objects{ReplicaSets: []*appsv1.ReplicaSet{replicaSet(strings.Repeat("x", n), 1)}}, Options{})
		require.NoError(t, err)
		require.Len(t, made.Pods[0].Name, want, n)
	}
}

// Pods of ReplicaSets that the input lacks count for the Deployment whose name theirs begins with, when they have a hash.
func TestPodsOfLostReplicaSets(t *testing.T) {
	owned := func(owner, hash string, change ...func(*v1.Pod)) *v1.Pod {
		p := pod("ReplicaSet", "web", "p", change...)
		p.OwnerReferences[0].Name = owner
		if hash != "" {
			p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
		}
		return p
	}
	other := owned("web-abc", "abc")
	other.OwnerReferences[0].Kind = "StatefulSet"
	orphan := owned("web-abc", "abc")
	orphan.OwnerReferences = nil
	for name, c := range map[string]struct {
		pod  *v1.Pod
		want int
	}{
		"its own":                 {owned("web-abc", "abc"), 0},
		"without a hash":          {owned("web-", ""), 1},
		"another hash":            {owned("web-abc", "xyz"), 1},
		"another Deployment":      {owned("db-abc", "abc"), 1},
		"finished":                {owned("web-abc", "abc", phase(v1.PodFailed)), 1},
		"terminating":             {owned("web-abc", "abc", terminating), 1},
		"of a StatefulSet":        {other, 1},
		"without a controller":    {orphan, 1},
		"of a known ReplicaSet":   {owned("web-known", "known"), 1},
		"named as the Deployment": {owned("web", "xyz"), 1},
		"of another name's owner": {owned("webabc", "abc"), 1},
	} {
		known := replicaSet("web-known", 0)
		known.DeletionTimestamp = &metav1.Time{}
		d := deployment("web", 1)
		d.Spec.Selector.MatchLabels["other"] = "x"
		d.Spec.Template.Labels["other"] = "x"
		made, err := Make(Objects{Deployments: []*appsv1.Deployment{d}, ReplicaSets: []*appsv1.ReplicaSet{known}, Pods: []*v1.Pod{c.pod}}, Options{})
		require.NoError(t, err)
		require.Len(t, made.Pods, c.want, name)
	}
}

// Which ReplicaSets of a Deployment have its template.
func TestSameTemplate(t *testing.T) {
	template := func(change func(x *v1.PodTemplateSpec)) *v1.PodTemplateSpec {
		x := template("web")
		change(&x)
		return &x
	}
	for name, c := range map[string]struct {
		other *v1.PodTemplateSpec
		want  bool
	}{
		"equal":              {template(func(*v1.PodTemplateSpec) {}), true},
		"the hash":           {template(func(x *v1.PodTemplateSpec) { x.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "abc" }), true},
		"another label":      {template(func(x *v1.PodTemplateSpec) { x.Labels["tier"] = "front" }), false},
		"no labels":          {template(func(x *v1.PodTemplateSpec) { x.Labels = nil }), false},
		"another annotation": {template(func(x *v1.PodTemplateSpec) { x.Annotations = map[string]string{"a": "b"} }), false},
		"another image":      {template(func(x *v1.PodTemplateSpec) { x.Spec.Containers[0].Image = "new" }), false},
	} {
		require.Equal(t, c.want, sameTemplate(template(func(*v1.PodTemplateSpec) {}), c.other), name)
		require.Equal(t, c.want, sameTemplate(c.other, template(func(*v1.PodTemplateSpec) {})), name)
	}
}

// A Deployment makes a ReplicaSet of its own when no ReplicaSet is its own and stays.
func TestNewReplicaSets(t *testing.T) {
	web := deployment("web", 1)
	owned := func(change func(r *appsv1.ReplicaSet)) *appsv1.ReplicaSet {
		r := setOf(web, 0)
		r.Name = "web-known"
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		set  *appsv1.ReplicaSet
		made int
	}{
		"its own":                {owned(func(*appsv1.ReplicaSet) {}), 0},
		"of another kind":        {owned(func(r *appsv1.ReplicaSet) { r.OwnerReferences[0].Kind = "Rollout" }), 1},
		"without a controller":   {owned(func(r *appsv1.ReplicaSet) { r.OwnerReferences = nil }), 1},
		"that is being deleted":  {owned(func(r *appsv1.ReplicaSet) { r.DeletionTimestamp = &metav1.Time{} }), 1},
		"with another template":  {owned(func(r *appsv1.ReplicaSet) { r.Spec.Template.Spec.Containers[0].Image = "old" }), 1},
		"of another Deployment":  {owned(func(r *appsv1.ReplicaSet) { r.OwnerReferences[0].Name = "db" }), 1},
		"of another's namespace": {owned(func(r *appsv1.ReplicaSet) { r.Namespace = "other" }), 1},
	} {
		made, err := Make(Objects{Deployments: []*appsv1.Deployment{web}, ReplicaSets: []*appsv1.ReplicaSet{c.set}}, Options{})
		require.NoError(t, err)
		require.Len(t, made.ReplicaSets, c.made, name)
		require.Len(t, made.Pods, 1, name)
	}
	bare := deployment("bare", 1)
	bare.Spec.Selector, bare.Spec.Template.Labels = nil, nil
	made, err := Make(Objects{Deployments: []*appsv1.Deployment{bare}}, Options{})
	require.NoError(t, err)
	require.Nil(t, made.ReplicaSets[0].Spec.Selector)
	require.Len(t, made.Pods[0].Labels, 1, "the hash")
}

// A pod of a DaemonSet keeps what the template says beside the node.
func TestAffinityOfTheTemplate(t *testing.T) {
	anti := &v1.PodAntiAffinity{}
	prefer := []v1.PreferredSchedulingTerm{{Weight: 1}}
	agent := daemonSet("agent")
	agent.Spec.Template.Spec.Affinity = &v1.Affinity{PodAntiAffinity: anti, NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: prefer}}
	made, err := Make(Objects{DaemonSets: []*appsv1.DaemonSet{agent}, Nodes: nodes("n1")}, Options{})
	require.NoError(t, err)
	got := made.Pods[0].Spec.Affinity
	require.Equal(t, anti, got.PodAntiAffinity)
	require.Equal(t, prefer, got.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	require.Equal(t, "n1", nodeOf(made.Pods[0]))
}

// The ReplicaSet of a Deployment that selects by expressions alone gets a label to select by.
func TestSelectorOfExpressions(t *testing.T) {
	d := deployment("web", 1)
	d.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	made, err := Make(Objects{Deployments: []*appsv1.Deployment{d}}, Options{})
	require.NoError(t, err)
	hash := templateHash(&d.Spec.Template, nil)
	require.Equal(t, map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}, made.ReplicaSets[0].Spec.Selector.MatchLabels)
	require.Len(t, made.ReplicaSets[0].Spec.Selector.MatchExpressions, 1)
}

// A StatefulSet goes on when the pod is ready: another condition is not enough.
func TestReadyCondition(t *testing.T) {
	set := statefulSet("db", 2, appsv1.OrderedReadyPodManagement)
	for _, c := range []struct {
		kind   v1.PodConditionType
		status v1.ConditionStatus
		pods   int
	}{{v1.PodReady, v1.ConditionTrue, 1}, {v1.PodReady, v1.ConditionFalse, 0}, {v1.PodScheduled, v1.ConditionTrue, 0}} {
		first := pod("StatefulSet", "db", "db-0", func(p *v1.Pod) { p.Status.Conditions = []v1.PodCondition{{Type: c.kind, Status: c.status}} })
		made, err := Make(Objects{StatefulSets: []*appsv1.StatefulSet{set}, Pods: []*v1.Pod{first}}, Options{})
		require.NoError(t, err)
		require.Len(t, made.Pods, c.pods, "%s %s", c.kind, c.status)
		require.Len(t, made.Waiting, 1-c.pods)
	}
}

// Two StatefulSets may ask for one claim: template a of set b-c, and template a-b of set c. The claim is made once.
func TestClaimOfTwoSets(t *testing.T) {
	one, two := statefulSet("b-c", 1, ""), statefulSet("c", 1, "")
	one.Spec.VolumeClaimTemplates[0].Name, two.Spec.VolumeClaimTemplates[0].Name = "a", "a-b"
	made, err := Make(Objects{StatefulSets: []*appsv1.StatefulSet{one, two}}, Options{})
	require.NoError(t, err)
	require.Len(t, made.Pods, 2)
	require.Len(t, made.Claims, 1)
	require.Equal(t, "a-b-c-0", made.Claims[0].Name)
}

// The default of Options.Limit.
func TestDefaultLimit(t *testing.T) {
	require.Equal(t, defaultLimit, newMaker(Objects{}, names{}, Options{}).limit)
}

// Objects that are being deleted make nothing.
func TestDeletedObjectsMakeNothing(t *testing.T) {
	gone := &metav1.Time{}
	d, r, s, w, a := deployment("d", 1), replicaSet("r", 1), statefulSet("s", 1, ""), job("w", nil, nil), daemonSet("a")
	d.DeletionTimestamp, r.DeletionTimestamp, s.DeletionTimestamp, w.DeletionTimestamp, a.DeletionTimestamp = gone, gone, gone, gone, gone
	made, err := Make(Objects{
		Deployments: []*appsv1.Deployment{d}, ReplicaSets: []*appsv1.ReplicaSet{r}, StatefulSets: []*appsv1.StatefulSet{s},
		Jobs: []*batchv1.Job{w}, DaemonSets: []*appsv1.DaemonSet{a}, Nodes: nodes("n1"),
	}, Options{})
	require.NoError(t, err)
	require.Equal(t, &Made{}, made)
}

// A ReplicationController counts the pods that name it and have the labels of its selector. It adopts pods by these labels; with an
// empty selector it adopts none.
func TestReplicationControllerSelector(t *testing.T) {
	make := func(selector map[string]string, pods ...*v1.Pod) int {
		template := template("web")
		c := &v1.ReplicationController{ObjectMeta: meta("web"), Spec: v1.ReplicationControllerSpec{Replicas: ptr(int32(1)), Selector: selector, Template: &template}}
		made, err := Make(Objects{ReplicationControllers: []*v1.ReplicationController{c}, Pods: pods}, Options{})
		require.NoError(t, err)
		return len(made.Pods)
	}
	app := map[string]string{"app": "web"}
	other := pod("ReplicationController", "web", "p", labelled("app", "db"))
	require.Equal(t, 1, make(app, other))
	require.Equal(t, 0, make(nil, other))
	require.Equal(t, 0, make(app, pod("", "web", "p")))
	require.Equal(t, 1, make(nil, pod("", "web", "p")))
	require.Equal(t, 1, make(map[string]string{}, pod("", "web", "p")))
}

// The template of a DaemonSet may name its node.
func TestNodeOfTheTemplate(t *testing.T) {
	agent := daemonSet("agent")
	agent.Spec.Template.Spec.NodeName = "n2"
	made, err := Make(Objects{DaemonSets: []*appsv1.DaemonSet{agent}, Nodes: nodes("n1", "n2", "n3")}, Options{})
	require.NoError(t, err)
	require.Len(t, made.Pods, 1)
	require.Equal(t, "n2", made.Pods[0].Spec.NodeName)
}

// The node of a DaemonSet's pod is the node that it runs on, or the one name in its node affinity.
func TestNodeOf(t *testing.T) {
	pinned := func(key string, operator v1.NodeSelectorOperator, values ...string) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	type test struct {
		name, why string
		runs      string
		terms     []v1.NodeSelectorTerm
		want      string
	}
	testkit.Run(t, []test{
		{"no affinity", "nothing names a node", "", nil, ""},
		{"no terms", "node affinity without required terms", "", []v1.NodeSelectorTerm{}, ""},
		{"a running pod", "its own node counts", "n1", []v1.NodeSelectorTerm{pinned("metadata.name", v1.NodeSelectorOpIn, "n2")}, "n1"},
		{"one name", "the DaemonSet controller writes it", "", []v1.NodeSelectorTerm{pinned("metadata.name", v1.NodeSelectorOpIn, "n2")}, "n2"},
		{"another field", "is no name", "", []v1.NodeSelectorTerm{pinned("metadata.uid", v1.NodeSelectorOpIn, "n2")}, ""},
		{"not the name", "any other node", "", []v1.NodeSelectorTerm{pinned("metadata.name", v1.NodeSelectorOpNotIn, "n2")}, ""},
		{"two names", "either node", "", []v1.NodeSelectorTerm{pinned("metadata.name", v1.NodeSelectorOpIn, "n2", "n3")}, ""},
		{"a later term", "terms without a name say nothing", "", []v1.NodeSelectorTerm{{}, pinned("metadata.name", v1.NodeSelectorOpIn, "n2")}, "n2"},
	}, func(t *testing.T, c test) {
		p := pod("DaemonSet", "agent", "agent-1", on(c.runs))
		if c.terms != nil {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}
		}
		if len(c.terms) > 0 {
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: c.terms}
		}
		require.Equal(t, c.want, nodeOf(p))
	})
}

// Only the pods of an indexed Job have an index. Their containers get it as a variable, unless they have one of that name.
func TestIndexVariable(t *testing.T) {
	const name = "JOB_COMPLETION_INDEX"
	plain, numbered := job("plain", nil, ptr(int32(1))), indexed(job("numbered", nil, ptr(int32(1))))
	plain.Spec.CompletionMode = ptr(batchv1.NonIndexedCompletion)
	spec := &numbered.Spec.Template.Spec
	spec.InitContainers = []v1.Container{{Name: "own", Env: []v1.EnvVar{{Name: name, Value: "7"}}}}
	spec.Containers = []v1.Container{{Name: "other", Env: []v1.EnvVar{{Name: "HOME"}}}, {Name: "none"}}
	made, err := Make(Objects{Jobs: []*batchv1.Job{plain, numbered}}, Options{})
	require.NoError(t, err)
	require.NotContains(t, made.Pods[0].Annotations, batchv1.JobCompletionIndexAnnotation)
	require.Equal(t, "plain-1", made.Pods[0].Name)
	require.Equal(t, "0", made.Pods[1].Annotations[batchv1.JobCompletionIndexAnnotation])
	got := made.Pods[1].Spec
	require.Equal(t, spec.InitContainers, got.InitContainers)
	require.Equal(t, []string{"HOME", name}, []string{got.Containers[0].Env[0].Name, got.Containers[0].Env[1].Name})
	require.Equal(t, name, got.Containers[1].Env[0].Name)
	require.Len(t, got.Containers[1].Env, 1)
}

// A number of replicas that is over the limit is refused from the number: no pod is made.
func TestNumberOverTheLimit(t *testing.T) {
	most := int32(math.MaxInt32)
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	selector := &metav1.LabelSelector{MatchLabels: template.Labels}
	meta := metav1.ObjectMeta{Name: "x", Namespace: "default"}
	for name, o := range map[string]Objects{
		"Deployment":            {Deployments: []*appsv1.Deployment{{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &most, Selector: selector, Template: template}}}},
		"ReplicaSet":            {ReplicaSets: []*appsv1.ReplicaSet{{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &most, Selector: selector, Template: template}}}},
		"ReplicationController": {ReplicationControllers: []*v1.ReplicationController{{ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Replicas: &most, Selector: template.Labels, Template: &template}}}},
		"StatefulSet":           {StatefulSets: []*appsv1.StatefulSet{{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &most, Selector: selector, Template: template, PodManagementPolicy: appsv1.ParallelPodManagement}}}},
		"Job":                   {Jobs: []*batchv1.Job{{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &most, Template: template}}}},
		"indexed Job":           {Jobs: []*batchv1.Job{{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &most, Completions: &most, CompletionMode: ptr(batchv1.IndexedCompletion), Template: template}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			made, err := Make(o, Options{})
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, "Too many: there are more than 1000000 pods to make")
			require.Nil(t, made)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}

// Enough of two pods is two: none is counted.
func TestEnoughIsAll(t *testing.T) {
	j := job("x", ptr(int32(2)), nil)
	for enough, counted := range map[int]int{1: 1, 2: 0, 3: 0} {
		made, err := Make(Objects{Jobs: []*batchv1.Job{j}}, Options{Enough: func(*v1.Pod) int { return enough }})
		require.NoError(t, err)
		require.Len(t, made.Pods, 2-counted)
		require.Len(t, made.Counted, counted)
	}
}

// Enough makes the first of many equal pods. The number is still checked.
func TestEnough(t *testing.T) {
	many := int32(100_000)
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	meta, selector := metav1.ObjectMeta{Name: "x", Namespace: "default"}, &metav1.LabelSelector{MatchLabels: template.Labels}
	for name, o := range map[string]Objects{
		"Deployment":            {Deployments: []*appsv1.Deployment{{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &many, Selector: selector, Template: template}}}},
		"ReplicaSet":            {ReplicaSets: []*appsv1.ReplicaSet{{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &many, Selector: selector, Template: template}}}},
		"ReplicationController": {ReplicationControllers: []*v1.ReplicationController{{ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Replicas: &many, Selector: template.Labels, Template: &template}}}},
		"Job":                   {Jobs: []*batchv1.Job{{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &many, Template: template}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			enough := func(first *v1.Pod) int {
				require.Equal(t, map[string]string{"a": "b"}, map[string]string{"a": first.Labels["a"]})
				return 2
			}
			made, err := Make(o, Options{Enough: enough})
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Len(t, made.Pods, 2)
			require.Equal(t, []Counted{{made.Pods[1], 99_998}}, made.Counted)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
			_, err = Make(o, Options{Enough: enough, Limit: 99_999})
			require.ErrorContains(t, err, "Too many: there are more than 99999 pods to make")
			made, err = Make(o, Options{Enough: func(*v1.Pod) int { return 0 }})
			require.NoError(t, err)
			require.Len(t, made.Pods, 1, "one at least")
		})
	}
}
