package lint

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// generator draws manifests and clusters.
type generator struct{ *rand.Rand }

func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func oneOf[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// some returns up to most elements.
func some[T any](g *generator, most int, one func() T) (out []T) {
	for range g.IntN(most + 1) {
		out = append(out, one())
	}
	return out
}

// orNil returns nil one time in n.
func orNil[T any](g *generator, n int, v T) *T {
	if g.oneIn(n) {
		return nil
	}
	return &v
}

func (g *generator) key() string { return oneOf(g, zone, zone, host, "rack", "disk") }

func (g *generator) namespace() string { return oneOf(g, "", "default", "default", "prod", "test") }

func (g *generator) labels() map[string]string {
	return oneOf(g, map[string]string{"app": "web"}, map[string]string{"app": "db"}, map[string]string{"app": "web", "tier": "x"}, map[string]string{})
}

func (g *generator) selector() *metav1.LabelSelector {
	if g.oneIn(8) {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: oneOf[metav1.LabelSelectorOperator](g, "In", "NotIn"), Values: []string{"web"}}}}
	}
	return orNil(g, 8, metav1.LabelSelector{MatchLabels: g.labels()})
}

func (g *generator) input() (in Input) {
	if !g.oneIn(6) {
		in.Cluster = g.cluster()
	}
	meta := func(kind string, i int) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: g.namespace(), Name: fmt.Sprint(kind, i)}
	}
	replicas := func() *int32 { return orNil(g, 8, int32(g.IntN(8))) }
	for i := range 1 + g.IntN(3) {
		template := g.template()
		switch g.IntN(9) {
		case 0:
			in.Pods = append(in.Pods, &v1.Pod{ObjectMeta: meta("pod", i), Spec: template.Spec})
			in.Pods[len(in.Pods)-1].Labels = template.Labels
		case 1:
			in.ReplicaSets = append(in.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: meta("rs", i), Spec: appsv1.ReplicaSetSpec{Replicas: replicas(), Template: template}})
		case 2, 3:
			in.StatefulSets = append(in.StatefulSets, &appsv1.StatefulSet{ObjectMeta: meta("sts", i), Spec: appsv1.StatefulSetSpec{Replicas: replicas(), Template: template, Selector: g.selector()}})
		case 4:
			in.DaemonSets = append(in.DaemonSets, &appsv1.DaemonSet{ObjectMeta: meta("ds", i), Spec: appsv1.DaemonSetSpec{Template: template}})
		case 5:
			in.Jobs = append(in.Jobs, &batchv1.Job{ObjectMeta: meta("job", i), Spec: batchv1.JobSpec{Parallelism: replicas(), Template: template}})
		case 6:
			in.ReplicationControllers = append(in.ReplicationControllers, &v1.ReplicationController{ObjectMeta: meta("rc", i), Spec: v1.ReplicationControllerSpec{Replicas: replicas(), Template: orNil(g, 4, template)}})
		default:
			d := &appsv1.Deployment{ObjectMeta: meta("deploy", i), Spec: appsv1.DeploymentSpec{Replicas: replicas(), Template: template, Selector: g.selector()}}
			if d.Spec.Strategy.Type = oneOf[appsv1.DeploymentStrategyType](g, "", "", "Recreate"); g.oneIn(2) {
				d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: g.number(), MaxUnavailable: g.number()}
			}
			in.Deployments = append(in.Deployments, d)
		}
	}
	for i := range g.IntN(3) {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: meta("budget", i)}
		b.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: g.number(), Selector: g.selector(), UnhealthyPodEvictionPolicy: orNil(g, 3, oneOf(g, policyv1.IfHealthyBudget, policyv1.AlwaysAllow))}
		if g.oneIn(3) {
			b.Spec.MaxUnavailable = g.number()
		}
		in.Budgets = append(in.Budgets, b)
	}
	in.PriorityClasses = some(g, 2, g.priorityClass)
	in.Claims = some(g, 2, g.claim)
	if g.oneIn(6) {
		in.PriorityClasses, in.Claims = append(in.PriorityClasses, nil), append(in.Claims, nil)
	}
	return in
}

// number is a number of pods, a share of them, a text that is neither, or nil.
func (g *generator) number() *intstr.IntOrString {
	return oneOf(g, nil, ptr(intstr.FromInt32(0)), ptr(intstr.FromInt32(1)), ptr(intstr.FromInt32(int32(g.IntN(6)))), ptr(intstr.FromString("50%")), ptr(intstr.FromString("100%")), ptr(intstr.FromString("half")))
}

func (g *generator) claim() *v1.PersistentVolumeClaim {
	mode := func() v1.PersistentVolumeAccessMode {
		return oneOf(g, v1.ReadWriteOnce, v1.ReadWriteOncePod, v1.ReadWriteMany)
	}
	return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: oneOf(g, "default", "default", "prod"), Name: oneOf(g, "data", "logs")}, Spec: v1.PersistentVolumeClaimSpec{AccessModes: some(g, 2, mode)}}
}

func (g *generator) priorityClass() *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: oneOf(g, "low", "lower", "high")}, Value: int32(g.IntN(9) - 5)}
}

// cluster draws nodes and what runs on them. Classes and claims have one object of a name.
func (g *generator) cluster() *cluster.Objects {
	o := &cluster.Objects{}
	for i := range g.IntN(6) {
		n := testkit.Node(fmt.Sprint("n", i)).Capacity(oneOf(g, "cpu=4,memory=8Gi", "cpu=4,memory=8Gi", "cpu=2,memory=16Gi", "cpu=4,memory=8Gi,pods=2", "cpu=8")).Obj()
		if g.oneIn(8) {
			delete(n.Status.Allocatable, v1.ResourcePods)
		}
		if g.oneIn(3) {
			n.Status.Allocatable["example.com/gpu"] = resource.MustParse(oneOf(g, "0", "1", "2"))
		}
		if !g.oneIn(6) {
			n.Labels[zone] = oneOf(g, "a", "b", "c", "zone-a")
		}
		if g.oneIn(3) {
			n.Labels["disk"] = oneOf(g, "ssd", "hdd", "7")
		}
		if g.oneIn(3) {
			n.Spec.Taints = some(g, 2, func() v1.Taint {
				return v1.Taint{Key: oneOf(g, "gpu", "old", "node.kubernetes.io/x"), Value: oneOf(g, "", "y"), Effect: oneOf[v1.TaintEffect](g, "NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule", "PreferNoSchedule")}
			})
		}
		n.Spec.Unschedulable = g.oneIn(8)
		o.Nodes = append(o.Nodes, n)
	}
	for i := range g.IntN(5) {
		p := testkit.Pod(fmt.Sprint("p", i)).Request("cpu=500m,memory=1Gi").Obj()
		p.Labels, p.Namespace = g.labels(), oneOf(g, "default", "default", "prod")
		if p.Spec.Priority = orNil(g, 2, int32(g.IntN(9)-5)); len(o.Nodes) > 0 && !g.oneIn(4) {
			p.Spec.NodeName = oneOf(g, o.Nodes...).Name
		}
		p.Status.Phase = oneOf(g, v1.PodRunning, v1.PodRunning, v1.PodSucceeded)
		o.Pods = append(o.Pods, p)
	}
	if g.oneIn(2) {
		for _, name := range []string{"default", "prod"} {
			o.Namespaces = append(o.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": name}}})
		}
	}
	classes := map[string]*schedulingv1.PriorityClass{}
	for _, k := range some(g, 2, g.priorityClass) {
		classes[k.Name] = k
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		o.PriorityClasses = append(o.PriorityClasses, classes[name])
	}
	if g.oneIn(2) {
		o.Claims = []*v1.PersistentVolumeClaim{g.claim()}
	}
	return o
}

// template draws a pod. One field in some pods is one that no API server takes: rules say nothing about it and do not fail.
func (g *generator) template() v1.PodTemplateSpec {
	t := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: g.labels()}}
	s := &t.Spec
	for i := range 1 + g.IntN(2) {
		c := v1.Container{Name: fmt.Sprint("c", i), Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}}}
		if !g.oneIn(8) {
			c.Resources.Requests["cpu"] = resource.MustParse(oneOf(g, "500m", "500m", "1", "2", "4", "5"))
		}
		if !g.oneIn(8) {
			c.Resources.Requests["memory"] = resource.MustParse(oneOf(g, "1Gi", "1Gi", "3Gi", "9Gi"))
		}
		if g.oneIn(4) {
			c.Resources.Requests["example.com/gpu"] = resource.MustParse(oneOf(g, "0", "1", "2"))
		}
		c.Ports = some(g, 2, func() v1.ContainerPort {
			return v1.ContainerPort{ContainerPort: 80, HostPort: oneOf(g, int32(0), 0, 0, 1, 80), Protocol: v1.ProtocolTCP}
		})
		s.Containers = append(s.Containers, c)
	}
	s.HostNetwork = g.oneIn(8)
	if g.oneIn(12) {
		s.NodeName = "n1"
	}
	if g.oneIn(4) {
		s.NodeSelector = map[string]string{oneOf(g, zone, host, "disk", "disks"): oneOf(g, "a", "b", "n1", "ssd", "sssd")}
	}
	s.Tolerations = some(g, 2, func() v1.Toleration {
		return v1.Toleration{Key: oneOf(g, "", "gpu", "old", "gpus", "node.kubernetes.io/x", v1.TaintNodeUnschedulable), Operator: oneOf(g, v1.TolerationOpExists, v1.TolerationOpExists, v1.TolerationOpEqual), Effect: oneOf[v1.TaintEffect](g, "", "", "NoSchedule", "NoExecute", "PreferNoSchedule")}
	})
	if g.oneIn(2) {
		s.Affinity = g.affinity()
	}
	s.TopologySpreadConstraints = some(g, 2, g.spread)
	for range g.IntN(3) {
		v := v1.Volume{Name: "v"}
		if !g.oneIn(4) {
			v.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: oneOf(g, "data", "logs")}
		}
		s.Volumes = append(s.Volumes, v)
	}
	s.PriorityClassName = oneOf(g, "", "", "low", "lower", "hihg", "system-node-critical", "system-cluster-critical")
	if g.oneIn(6) {
		s.Priority = ptr(int32(g.IntN(9) - 6))
	}
	s.SchedulerName = oneOf(g, "", "", v1.DefaultSchedulerName, "batch")
	if g.oneIn(10) {
		s.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	}
	return t
}

func (g *generator) spread() v1.TopologySpreadConstraint {
	t := v1.TopologySpreadConstraint{MaxSkew: int32(1 + g.IntN(2)), TopologyKey: g.key(), WhenUnsatisfiable: oneOf(g, v1.DoNotSchedule, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: g.selector()}
	t.NodeTaintsPolicy = orNil(g, 2, oneOf(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
	t.NodeAffinityPolicy = orNil(g, 2, oneOf(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
	if t.WhenUnsatisfiable == v1.DoNotSchedule {
		t.MinDomains = orNil(g, 2, int32(1+g.IntN(4)))
	}
	if g.oneIn(4) {
		t.MatchLabelKeys = []string{oneOf(g, "app", "pod-template-hash", "controller-revision-hash", "version")}
	}
	return t
}

func (g *generator) affinity() *v1.Affinity {
	a := &v1.Affinity{NodeAffinity: orNil(g, 2, v1.NodeAffinity{}), PodAffinity: orNil(g, 2, v1.PodAffinity{}), PodAntiAffinity: orNil(g, 2, v1.PodAntiAffinity{})}
	preferred := func() v1.WeightedPodAffinityTerm {
		return v1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: g.podTerm()}
	}
	if n := a.NodeAffinity; n != nil {
		if g.oneIn(2) {
			n.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: some(g, 2, g.nodeTerm)}
		}
		n.PreferredDuringSchedulingIgnoredDuringExecution = some(g, 2, func() v1.PreferredSchedulingTerm {
			return v1.PreferredSchedulingTerm{Weight: oneOf(g, int32(1), 100), Preference: g.nodeTerm()}
		})
	}
	if p := a.PodAffinity; p != nil {
		p.RequiredDuringSchedulingIgnoredDuringExecution = some(g, 2, g.podTerm)
		p.PreferredDuringSchedulingIgnoredDuringExecution = some(g, 1, preferred)
	}
	if p := a.PodAntiAffinity; p != nil {
		p.RequiredDuringSchedulingIgnoredDuringExecution = some(g, 2, g.podTerm)
		p.PreferredDuringSchedulingIgnoredDuringExecution = some(g, 1, preferred)
		if with := a.PodAffinity; with != nil && g.oneIn(4) {
			p.RequiredDuringSchedulingIgnoredDuringExecution = append(p.RequiredDuringSchedulingIgnoredDuringExecution, with.RequiredDuringSchedulingIgnoredDuringExecution...)
			for _, t := range with.PreferredDuringSchedulingIgnoredDuringExecution {
				p.RequiredDuringSchedulingIgnoredDuringExecution = append(p.RequiredDuringSchedulingIgnoredDuringExecution, t.PodAffinityTerm)
			}
		}
	}
	return a
}

func (g *generator) nodeTerm() (t v1.NodeSelectorTerm) {
	t.MatchExpressions = some(g, 2, func() v1.NodeSelectorRequirement {
		r := v1.NodeSelectorRequirement{Key: oneOf(g, zone, zone, host, "disk", "disks"), Operator: oneOf[v1.NodeSelectorOperator](g, "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")}
		switch r.Operator {
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			r.Values = append(some(g, 1, func() string { return oneOf(g, "a", "b") }), oneOf(g, "a", "b", "n1", "ssd", "sssd", "7"))
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			r.Values = oneOf(g, []string{"6"}, []string{"7"}, []string{"x"}, []string{"-1"}, []string{"6", "7"})
		}
		return r
	})
	if g.oneIn(6) {
		t.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: oneOf[v1.NodeSelectorOperator](g, "In", "NotIn"), Values: []string{"n1"}}}
	}
	return t
}

func (g *generator) podTerm() v1.PodAffinityTerm {
	t := v1.PodAffinityTerm{TopologyKey: g.key(), LabelSelector: g.selector()}
	if g.oneIn(4) {
		t.Namespaces = []string{oneOf(g, "default", "prod", "gone")}
	}
	if g.oneIn(5) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: oneOf(g, nil, map[string]string{"env": "prod"}, map[string]string{"env": "gone"})}
	}
	if g.oneIn(6) {
		t.MatchLabelKeys = []string{"pod-template-hash"}
	}
	return t
}
