package consolidation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

func ptr[T any](v T) *T { return &v }

// world is a cluster that tests fill.
type world struct {
	objects cluster.Objects
	in      Input
}

// five returns the nodes n1..n5 in the zones a (n1 n2), b (n3 n4) and c (n5), each with the capacity.
func five(capacity string) *world {
	w := &world{}
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		w.node(fmt.Sprintf("n%d", i+1), zone, capacity)
	}
	return w
}

func (w *world) node(name, zone, capacity string) *v1.Node {
	n := testkit.Node(name).Zone(zone).Capacity(capacity).Obj()
	w.objects.Nodes = append(w.objects.Nodes, n)
	return n
}

// app is a ReplicaSet with a pod on each of the nodes. change may change the template.
func (w *world) app(name, request, nodes string, change func(*v1.PodSpec)) *appsv1.ReplicaSet {
	t := template(name, request, change)
	on := strings.Fields(nodes)
	r := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("owner-" + name)},
		Spec:       appsv1.ReplicaSetSpec{Replicas: ptr(int32(len(on))), Selector: &metav1.LabelSelector{MatchLabels: t.Labels}, Template: t},
	}
	w.objects.ReplicaSets = append(w.objects.ReplicaSets, r)
	for i, node := range on {
		w.pod("ReplicaSet", name, fmt.Sprintf("%s-%d", name, i), node, t)
	}
	return r
}

// stateful is a StatefulSet with a pod on each of the nodes.
func (w *world) stateful(name, request, nodes string) *appsv1.StatefulSet {
	t := template(name, request, nil)
	on := strings.Fields(nodes)
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("owner-" + name)},
		Spec:       appsv1.StatefulSetSpec{Replicas: ptr(int32(len(on))), Selector: &metav1.LabelSelector{MatchLabels: t.Labels}, Template: t},
	}
	w.objects.StatefulSets = append(w.objects.StatefulSets, s)
	for i, node := range on {
		w.pod("StatefulSet", name, fmt.Sprintf("%s-%d", name, i), node, t)
	}
	return s
}

func template(app, request string, change func(*v1.PodSpec)) v1.PodTemplateSpec {
	t := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Image: app, Resources: v1.ResourceRequirements{Requests: testkit.Resources(request)},
		}}},
	}
	if change != nil {
		change(&t.Spec)
	}
	return t
}

// pod adds a pod of a controller; of none when kind is "".
func (w *world) pod(kind, owner, name, node string, t v1.PodTemplateSpec) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: t.Labels},
		Spec:       *t.Spec.DeepCopy(),
	}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID("owner-" + owner), Controller: ptr(true)}}
	}
	p.Spec.NodeName = node
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	w.objects.Pods = append(w.objects.Pods, p)
	return p
}

// budget covers the pods of an app and wants so many of them to be ready.
func (w *world) budget(app string, minAvailable int) {
	n := intstr.FromInt32(int32(minAvailable))
	w.objects.PodDisruptionBudgets = append(w.objects.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app, UID: types.UID("pdb-" + app)},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	})
}

// apart keeps the pods of an app in different domains.
func apart(app, topology string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}}}
	}
}

// beside wants a pod of another app in the domain.
func beside(app, topology string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}}}
	}
}

// spreadOver spreads the pods of an app over domains, with maxSkew 1.
func spreadOver(app, topology string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}
	}
}

func (w *world) planner(t testing.TB) *Planner {
	t.Helper()
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	w.in.Snapshot = s
	w.in.Now = testkit.Epoch
	p, err := New(w.in)
	require.NoError(t, err)
	return p
}

func (w *world) plan(t testing.TB, o Options) *Plan {
	t.Helper()
	plan, err := w.planner(t).Plan(o)
	require.NoError(t, err)
	return plan
}

// lines writes a plan: the nodes in their order, the moves by wave, and the nodes that are held.
func lines(p *Plan) (out []string) {
	for k, wave := range p.Waves {
		for _, m := range wave {
			out = append(out, fmt.Sprintf("%d %s %s %s", k, m.Pod.Name, m.From, m.To))
		}
	}
	for _, n := range p.Nodes {
		out = append(out, fmt.Sprintf("remove %s after %d", n.Node, n.Wave))
	}
	return out
}

// emptied returns the names of the nodes that a plan empties.
func removed(p *Plan) (out []string) {
	for _, n := range p.Nodes {
		out = append(out, n.Node)
	}
	return out
}
