package rollout

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

// world is a cluster that tests fill.
type world struct {
	objects cluster.Objects
	in      Input
}

// five returns the nodes n1..n5 in the zones a (n1 n2), b (n3 n4) and c (n5), each with the capacity.
func five(capacity string) *world {
	w := &world{in: Input{Now: testkit.Epoch}}
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		w.objects.Nodes = append(w.objects.Nodes, testkit.Node(fmt.Sprintf("n%d", i+1)).Zone(zone).Capacity(capacity).Obj())
	}
	return w
}

// template is a pod template of an app. change may change the specification.
func template(app, request string, change func(*v1.PodSpec)) v1.PodTemplateSpec {
	t := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(2)),
			Containers: []v1.Container{{
				Name: "c", Image: app, Resources: v1.ResourceRequirements{Requests: testkit.Resources(request)},
			}},
		},
	}
	if change != nil {
		change(&t.Spec)
	}
	return t
}

// app is a ReplicaSet with a pod on each of the nodes.
func (w *world) app(name, request, nodes string, change func(*v1.PodSpec)) *appsv1.ReplicaSet {
	t := template(name, request, change)
	on := strings.Fields(nodes)
	r := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("rs-" + name)},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(len(on))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: t,
		},
	}
	w.objects.ReplicaSets = append(w.objects.ReplicaSets, r)
	for i, node := range on {
		w.pod("ReplicaSet", name, fmt.Sprintf("%s-%d", name, i), node, t)
	}
	return r
}

// stateful is a StatefulSet with a pod on each of the nodes.
func (w *world) stateful(name, request, nodes string, policy appsv1.PodManagementPolicyType, change func(*v1.PodSpec)) *appsv1.StatefulSet {
	t := template(name, request, change)
	on := strings.Fields(nodes)
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("sts-" + name)},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(len(on))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: t,
			PodManagementPolicy: policy, ServiceName: name,
		},
	}
	w.objects.StatefulSets = append(w.objects.StatefulSets, s)
	for i, node := range on {
		w.pod("StatefulSet", name, fmt.Sprintf("%s-%d", name, i), node, t)
	}
	return s
}

// pod adds a pod of a controller; of none when kind is "".
func (w *world) pod(kind, owner, name, node string, t v1.PodTemplateSpec) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: t.Labels},
		Spec:       *t.Spec.DeepCopy(),
	}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: new(true)}}
	}
	p.Spec.NodeName = node
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	p.Spec.Priority = new(int32)
	if node == "" {
		w.in.Pending = append(w.in.Pending, p)
		return p
	}
	w.objects.Pods = append(w.objects.Pods, p)
	return p
}

// budget adds a budget over the pods of an app: "2" and "50%" are minAvailable, "max 1" is maxUnavailable.
func (w *world) budget(name, app, rule string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
	value, isMax := strings.CutPrefix(rule, "max ")
	v := intstr.Parse(value)
	if isMax {
		b.Spec.MaxUnavailable = &v
	} else {
		b.Spec.MinAvailable = &v
	}
	w.objects.PodDisruptionBudgets = append(w.objects.PodDisruptionBudgets, b)
	return b
}

func (w *world) planner(t testing.TB) *Planner {
	t.Helper()
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	w.in.Snapshot = s
	p, err := New(w.in)
	require.NoError(t, err)
	return p
}

func (w *world) plan(t testing.TB, o Options) *Plan {
	t.Helper()
	p, err := w.planner(t).Plan(o)
	require.NoError(t, err)
	return p
}

// lines writes a plan: steps, waves, moves, and what is blocked.
func lines(p *Plan) (out []string) {
	for _, s := range p.Steps {
		out = append(out, fmt.Sprintf("%v %s %s until %v", s.Begin, s.Action, strings.Join(s.Nodes, " "), s.End))
		for _, w := range s.Waves {
			var moves []string
			for _, a := range w.Placed {
				moves = append(moves, fmt.Sprintf("%s gets %s", short(a.Pod), a.To))
			}
			for _, m := range w.Moves {
				text := short(m.Pod)
				if m.Replacement != "" {
					text += fmt.Sprintf(" -> %s %s@%v", short(m.Replacement), m.To, m.Placed)
				}
				moves = append(moves, text)
			}
			out = append(out, fmt.Sprintf("  %v..%v: %s", w.Begin, w.End, strings.Join(moves, ", ")))
		}
	}
	for _, d := range p.Blocked {
		out = append(out, fmt.Sprintf("%s: %s: %s", strings.Join(d.Nodes, " "), d.Kind, strings.Join(d.Pods, " ")))
	}
	return out
}

func short(name string) string { return strings.TrimPrefix(name, "default/") }

func apart(app, key string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: key,
		}}}}
	}
}

func spreadOver(app, key string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}
	}
}

// claiming lets the pods use a claim.
func claiming(name string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.Volumes = []v1.Volume{{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
}

// volume adds a claim with a volume that is bound to it: of access mode ReadWriteOncePod, or of one zone.
func (w *world) volume(name, zone string) {
	mode := v1.ReadWriteOncePod
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}}
	if zone != "" {
		mode = v1.ReadWriteOnce
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}}
	}
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{mode}
	pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: name, UID: types.UID(name)}
	pv.Status.Phase = v1.VolumeBound
	pvc := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name), Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
	}}
	pvc.Spec.AccessModes, pvc.Spec.VolumeName, pvc.Status.Phase = pv.Spec.AccessModes, pv.Name, v1.ClaimBound
	w.objects.PersistentVolumes = append(w.objects.PersistentVolumes, pv)
	w.objects.Claims = append(w.objects.Claims, pvc)
}
