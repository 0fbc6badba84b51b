package consolidation

import (
	"fmt"
	"math/rand"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/placement"
)

const namespace = "n"

// generator makes a cluster whose pods are where the filters allow them, with much room.
type generator struct {
	*rand.Rand
	o      cluster.Objects
	placer *placement.Placer
	s      *cluster.Snapshot
	prices map[string]int64
}

func (g *generator) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(gen.Epoch)}
}

// generate makes a cluster of so many nodes.
func generate(seed int64, nodes int) (*generator, error) {
	g := &generator{Rand: rand.New(rand.NewSource(seed)), prices: map[string]int64{}}
	zones := []string{"a", "b", "c"}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		cpu := []string{"4", "8", "16"}[g.Intn(3)]
		m := g.meta(name)
		m.Namespace = ""
		m.Labels = map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zones[g.Intn(3)], "pool": []string{"x", "x", "x", "y"}[g.Intn(4)]}
		n := &v1.Node{ObjectMeta: m}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("30")}
		n.Status.Capacity = n.Status.Allocatable
		if g.Intn(15) == 0 {
			n.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "t", Effect: v1.TaintEffectNoSchedule}}
		}
		g.prices[name] = int64(1 + g.Intn(5))
		g.o.Nodes = append(g.o.Nodes, n)
	}
	g.o.Namespaces = []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	wait := "class"
	g.volumes(wait, nodes)
	s, err := cluster.New(g.o)
	if err != nil {
		return nil, err
	}
	g.s = s
	if g.placer, err = placement.NewPlacer(s, profile()); err != nil {
		return nil, err
	}
	claims := 0
	for app := 0; len(g.o.Pods) < 3*nodes && app < nodes; app++ {
		if err := g.app(app, &claims); err != nil {
			return nil, err
		}
	}
	for i, n := range g.o.Nodes {
		if g.Intn(3) > 0 {
			g.daemon(i, n.Name)
		}
	}
	return g, nil
}

// volumes makes volumes of zones, each bound to a claim. Pods of StatefulSets take them in their order.
func (g *generator) volumes(class string, n int) {
	for i := range n / 4 {
		zone := g.o.Nodes[g.Intn(len(g.o.Nodes))].Labels[v1.LabelTopologyZone]
		name := fmt.Sprintf("claim-%d", i)
		m := g.meta("pv-" + name)
		m.Namespace = ""
		volume := &v1.PersistentVolume{ObjectMeta: m, Spec: v1.PersistentVolumeSpec{
			Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: class,
			ClaimRef:               &v1.ObjectReference{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "example.com/csi", VolumeHandle: name}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}},
		}, Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}}
		claim := &v1.PersistentVolumeClaim{ObjectMeta: g.meta(name), Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: volume.Spec.AccessModes, StorageClassName: &class, VolumeName: volume.Name,
			Resources: v1.VolumeResourceRequirements{Requests: volume.Spec.Capacity},
		}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		g.o.PersistentVolumes, g.o.Claims = append(g.o.PersistentVolumes, volume), append(g.o.Claims, claim)
	}
}

// app makes a ReplicaSet or a StatefulSet with its pods and perhaps a budget.
func (g *generator) app(k int, claims *int) error {
	name := fmt.Sprintf("app-%d", k)
	labels := map[string]string{"app": name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	replicas := int32(1 + g.Intn(9))
	spec := v1.PodSpec{
		SchedulerName: v1.DefaultSchedulerName, RestartPolicy: v1.RestartPolicyAlways, Priority: new(int32),
		Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: *resource.NewMilliQuantity(int64(200*(1+g.Intn(8))), resource.DecimalSI), v1.ResourceMemory: resource.MustParse("1Gi"),
		}}}},
	}
	term := func(topology string) []v1.PodAffinityTerm {
		return []v1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: selector}}
	}
	switch g.Intn(9) {
	case 0:
		spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(v1.LabelHostname)}}
	case 1:
		spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(v1.LabelTopologyZone)}}
	case 2:
		spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(v1.LabelTopologyZone)}}
	case 3, 4:
		honor := v1.NodeInclusionPolicyHonor
		spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: int32(1 + g.Intn(2)), TopologyKey: []string{v1.LabelTopologyZone, v1.LabelHostname}[g.Intn(2)], WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector,
		}}
		if g.Intn(2) == 0 {
			spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &honor
		}
	case 5:
		spec.NodeSelector = map[string]string{"pool": "y"}
	case 6:
		spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}
	}
	kind := "ReplicaSet"
	if g.Intn(4) == 0 {
		kind = "StatefulSet"
	}
	placed := int32(0)
	for i := range replicas {
		yes := true
		p := &v1.Pod{ObjectMeta: g.meta(fmt.Sprintf("%s-%d", name, i)), Spec: *spec.DeepCopy(), Status: v1.PodStatus{Phase: v1.PodPending}}
		p.Labels = labels
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}}
		if kind == "StatefulSet" && *claims < len(g.o.Claims) {
			p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: g.o.Claims[*claims].Name}}}}
			*claims++
		}
		d := g.placer.Decide(p, placement.Options{})
		if !d.Placed() {
			break
		}
		if err := g.placer.Assume(p, d); err != nil {
			return err
		}
		placed++
		running := p.DeepCopy()
		running.Spec.NodeName = d.Node
		running.Status = v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
		g.o.Pods = append(g.o.Pods, running)
	}
	if kind == "ReplicaSet" {
		g.o.ReplicaSets = append(g.o.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: g.meta(name), Spec: appsv1.ReplicaSetSpec{Replicas: &placed, Selector: selector}})
	} else {
		g.o.StatefulSets = append(g.o.StatefulSets, &appsv1.StatefulSet{ObjectMeta: g.meta(name), Spec: appsv1.StatefulSetSpec{Replicas: &placed, Selector: selector}})
	}
	if g.Intn(2) == 0 {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: g.meta(name), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}
		b.Generation = 1
		at := intstr.FromInt32(int32(1 + g.Intn(2)))
		if g.Intn(2) == 0 {
			b.Spec.MaxUnavailable = &at
		} else {
			at = intstr.FromInt32(max(0, placed-at.IntVal+int32(g.Intn(2))))
			b.Spec.MinAvailable = &at
		}
		g.o.PodDisruptionBudgets = append(g.o.PodDisruptionBudgets, b)
	}
	return nil
}

// daemon puts a pod of a DaemonSet on a node.
func (g *generator) daemon(i int, node string) {
	yes := true
	p := &v1.Pod{ObjectMeta: g.meta(fmt.Sprintf("agent-%d", i)), Spec: v1.PodSpec{
		NodeName: node, SchedulerName: v1.DefaultSchedulerName, RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "c", Image: "i"}},
	}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "uid-agent", Controller: &yes}}
	g.o.Pods = append(g.o.Pods, p)
}

func profile() placement.Profile {
	p := placement.DefaultProfile()
	p.Sampling = placement.AllNodes()
	return p
}
