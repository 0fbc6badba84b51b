package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// world is one cluster on the server: the nodes with its label, and one namespace.
type world struct {
	client kubernetes.Interface
	name   string
	// what create writes to the server
	nodes   []*v1.Node
	apps    []*app
	budgets []*policyv1.PodDisruptionBudget
	bare    []*v1.Pod
	volumes []volume

	fixed *cluster.Objects // what does not change on the server
}

// app is a workload with the nodes of its pods; "" is the node of a pod that waits.
type app struct {
	name     string
	stateful appsv1.PodManagementPolicyType // "": a ReplicaSet
	on       []string
	replicas int
	sick     map[int]bool // pods that are not ready
	template v1.PodTemplateSpec
}

// volume is a volume of one zone with its claim.
type volume struct{ name, zone string }

const worldLabel = "podberth.io/world"

func newWorld(client kubernetes.Interface, name string) *world {
	return &world{client: client, name: name}
}

// node adds a node. Its name begins with that of the world.
func (w *world) node(name, zone, capacity string) string {
	full := w.name + "-" + name
	n := testkit.Node(full).Zone(zone).Capacity(capacity).Label(worldLabel, w.name).Obj()
	n.UID = ""
	w.nodes = append(w.nodes, n)
	return full
}

// add adds an app with a pod on each of the nodes, by their short names.
func (w *world) add(name, request string, grace int64, nodes ...string) *app {
	a := &app{name: name, replicas: len(nodes), sick: map[int]bool{}}
	for _, n := range nodes {
		if n != "" && !strings.HasPrefix(n, w.name+"-") {
			n = w.name + "-" + n
		}
		a.on = append(a.on, n)
	}
	a.template = v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: v1.PodSpec{TerminationGracePeriodSeconds: &grace, Containers: []v1.Container{{
			Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: testkit.Resources(request)},
		}}},
	}
	w.apps = append(w.apps, a)
	return a
}

// budget adds a budget over the pods of an app: "2" and "50%" are minAvailable, "max 1" is maxUnavailable.
func (w *world) budget(name, app, rule string) {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	value, isMax := strings.CutPrefix(rule, "max ")
	v := intstr.Parse(value)
	if isMax {
		b.Spec.MaxUnavailable = &v
	} else {
		b.Spec.MinAvailable = &v
	}
	w.budgets = append(w.budgets, b)
}

func apart(a *app) {
	a.template.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.name}}, TopologyKey: v1.LabelHostname,
	}}}}
}

func spread(a *app) {
	a.template.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.name}},
	}}
}

// create writes the cluster to the server. Pods on nodes run, and are ready unless the app says otherwise.
func (w *world) create(ctx context.Context) error {
	_, err := w.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for _, n := range w.nodes {
		if err := w.createNode(ctx, n); err != nil {
			return err
		}
	}
	for _, v := range w.volumes {
		if err := w.createVolume(ctx, v); err != nil {
			return err
		}
	}
	for _, a := range w.apps {
		if err := w.createApp(ctx, a); err != nil {
			return err
		}
	}
	for _, p := range w.bare {
		if err := w.createPod(ctx, p, true); err != nil {
			return err
		}
	}
	for _, b := range w.budgets {
		if _, err := w.client.PolicyV1().PodDisruptionBudgets(w.name).Create(ctx, b, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// createNode creates a node that takes pods. The server gives new nodes the taint of nodes that are not ready.
func (w *world) createNode(ctx context.Context, n *v1.Node) error {
	made, err := w.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Spec.Taints = n.Spec.Taints
	if made, err = w.client.CoreV1().Nodes().Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	made.Status = n.Status
	_, err = w.client.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

func (w *world) createVolume(ctx context.Context, v volume) error {
	pvc := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: v.name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}}}
	pvc.Spec = v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: new(string), VolumeName: w.name + "-" + v.name,
		Resources: v1.VolumeResourceRequirements{Requests: testkit.Resources("storage=1Gi")},
	}
	made, err := w.client.CoreV1().PersistentVolumeClaims(w.name).Create(ctx, pvc, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.Phase = v1.ClaimBound
	if _, err = w.client.CoreV1().PersistentVolumeClaims(w.name).UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + v.name, Labels: map[string]string{worldLabel: w.name}}}
	pv.Spec = v1.PersistentVolumeSpec{
		AccessModes: pvc.Spec.AccessModes, Capacity: testkit.Resources("storage=1Gi"),
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: pv.Name}},
		ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: w.name, Name: v.name, UID: made.UID},
		NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{v.zone}}},
		}}}},
	}
	madeVolume, err := w.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	madeVolume.Status.Phase = v1.VolumeBound
	_, err = w.client.CoreV1().PersistentVolumes().UpdateStatus(ctx, madeVolume, metav1.UpdateOptions{})
	return err
}

// createApp creates the controller and its pods.
func (w *world) createApp(ctx context.Context, a *app) error {
	replicas := int32(a.replicas)
	selector := &metav1.LabelSelector{MatchLabels: a.template.Labels}
	meta := metav1.ObjectMeta{Namespace: w.name, Name: a.name}
	var owner metav1.OwnerReference
	if a.stateful == "" {
		r, err := w.client.AppsV1().ReplicaSets(w.name).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: a.template},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		owner = *metav1.NewControllerRef(r, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	} else {
		s, err := w.client.AppsV1().StatefulSets(w.name).Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, Template: a.template, PodManagementPolicy: a.stateful, ServiceName: a.name},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		owner = *metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	}
	for i, n := range a.on {
		p := &v1.Pod{ObjectMeta: *a.template.ObjectMeta.DeepCopy(), Spec: *a.template.Spec.DeepCopy()}
		p.Namespace, p.Name, p.OwnerReferences = w.name, fmt.Sprintf("%s-%d", a.name, i), []metav1.OwnerReference{owner}
		p.Spec.NodeName = n
		if err := w.createPod(ctx, p, !a.sick[i]); err != nil {
			return err
		}
	}
	return nil
}

// createPod creates a pod. A pod on a node runs.
func (w *world) createPod(ctx context.Context, p *v1.Pod, ready bool) error {
	made, err := w.client.CoreV1().Pods(w.name).Create(ctx, p, metav1.CreateOptions{})
	if err != nil || made.Spec.NodeName == "" {
		return err
	}
	return w.setReady(ctx, made, ready)
}

// setReady writes what the kubelet reports about a pod that runs.
func (w *world) setReady(ctx context.Context, p *v1.Pod, ready bool) error {
	p = p.DeepCopy()
	status := v1.ConditionFalse
	if ready {
		status = v1.ConditionTrue
	}
	p.Status.Phase = v1.PodRunning
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: status}}
	_, err := w.client.CoreV1().Pods(w.name).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// fix reads the objects that do not change.
func (w *world) fix(ctx context.Context) error {
	sets, err1 := w.client.AppsV1().ReplicaSets(w.name).List(ctx, metav1.ListOptions{})
	stateful, err2 := w.client.AppsV1().StatefulSets(w.name).List(ctx, metav1.ListOptions{})
	claims, err3 := w.client.CoreV1().PersistentVolumeClaims(w.name).List(ctx, metav1.ListOptions{})
	volumes, err4 := w.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{LabelSelector: worldLabel + "=" + w.name})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	w.fixed = &cluster.Objects{
		Namespaces:  []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: map[string]string{v1.LabelMetadataName: w.name}}}},
		ReplicaSets: pointers(sets.Items), StatefulSets: pointers(stateful.Items),
		Claims: pointers(claims.Items), PersistentVolumes: pointers(volumes.Items),
	}
	return nil
}

// objects reads the cluster from the server. Pods without a node are not among the objects.
func (w *world) objects(ctx context.Context) (o cluster.Objects, pending []*v1.Pod, err error) {
	if w.fixed == nil {
		if err := w.fix(ctx); err != nil {
			return o, nil, err
		}
	}
	o = *w.fixed
	nodes, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: worldLabel + "=" + w.name})
	if err != nil {
		return o, nil, err
	}
	o.Nodes = pointers(nodes.Items)
	pending, err = w.changing(ctx, &o)
	return o, pending, err
}

// changing reads the pods and the budgets.
func (w *world) changing(ctx context.Context, o *cluster.Objects) (pending []*v1.Pod, err error) {
	pods, err1 := w.client.CoreV1().Pods(w.name).List(ctx, metav1.ListOptions{})
	budgets, err2 := w.client.PolicyV1().PodDisruptionBudgets(w.name).List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	o.PodDisruptionBudgets = pointers(budgets.Items)
	for _, p := range pointers(pods.Items) {
		if p.Spec.NodeName == "" {
			pending = append(pending, p)
		} else {
			o.Pods = append(o.Pods, p)
		}
	}
	return pending, nil
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
