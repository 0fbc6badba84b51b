package admission

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// world makes random objects from few values: good values, the ends of what the API server accepts, and bad values.
type world struct{ *rand.Rand }

func (w world) chance(n int) bool { return w.IntN(n) == 0 }

func (w world) pick(list ...string) string { return list[w.IntN(len(list))] }

// most picks the first value in three of four cases.
func (w world) most(first string, rest ...string) string {
	if w.chance(4) {
		return w.pick(rest...)
	}
	return first
}

func some[T any](w world, n int, make func() T) (out []T) {
	for range w.IntN(n + 1) {
		out = append(out, make())
	}
	return out
}

func maybe[T any](w world, n int, make func() T) *T {
	if !w.chance(n) {
		return nil
	}
	x := make()
	return &x
}

func (w world) list() v1.ResourceList {
	if w.chance(3) {
		return nil
	}
	out := v1.ResourceList{}
	for range 1 + w.IntN(3) {
		out[v1.ResourceName(w.pick("cpu", "memory", "cpu", "memory", "hugepages-2Mi", "example.com/gpu", "ephemeral-storage", "pods", "bad name"))] =
			resource.MustParse(w.pick("0", "1", "2", "2", "4", "4Mi", "500m"))
	}
	return out
}

func (w world) resources() v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: w.list(), Limits: w.list()}
}

func (w world) port() v1.ContainerPort {
	return v1.ContainerPort{Name: w.pick("", "", "web", "Bad_", "1"), ContainerPort: int32([]int{80, 80, 443, 0, -1, 65535, 65536}[w.IntN(7)]), HostPort: int32([]int{0, 0, 80, 443, 65536}[w.IntN(5)]),
		Protocol: v1.Protocol(w.pick("", "", "TCP", "UDP", "ICMP")), HostIP: w.pick("", "", "10.0.0.1")}
}

func (w world) container() v1.Container {
	return v1.Container{Name: w.pick("a", "b"), Resources: w.resources(), Ports: some(w, 2, w.port),
		RestartPolicy: maybe(w, 4, func() v1.ContainerRestartPolicy { return v1.ContainerRestartPolicy(w.pick("Always", "Never", "Nope")) })}
}

func (w world) toleration() v1.Toleration {
	return v1.Toleration{Key: w.pick("a", "a", "b", "node.kubernetes.io/not-ready", ""), Operator: v1.TolerationOperator(w.pick("", "Exists", "Equal", "Gt", "Lt", "Nope")),
		Value: w.pick("", "", "1", "10", "x y", "01"), Effect: v1.TaintEffect(w.pick("", "NoSchedule", "NoExecute", "Never")), TolerationSeconds: maybe(w, 4, func() int64 { return int64(w.IntN(3) - 1) })}
}

func (w world) requirement() v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: w.most("zone", "metadata.name", "bad key"), Operator: v1.NodeSelectorOperator(w.pick("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Nope")),
		Values: some(w, 2, func() string { return w.pick("1", "b", "b d") })}
}

func (w world) nodeTerm() v1.NodeSelectorTerm {
	t := v1.NodeSelectorTerm{MatchExpressions: some(w, 2, w.requirement)}
	if w.chance(3) {
		t.MatchFields = some(w, 2, w.requirement)
	}
	return t
}

func (w world) labels() map[string]string {
	if w.chance(4) {
		return nil
	}
	out := map[string]string{} // with one bad label at most: the errors about labels come in the order of a map
	for range w.IntN(3) {
		out[w.pick("app", "tier", "team/name")] = w.pick("x", "x", "y", "")
	}
	if w.chance(6) {
		out[w.pick("bad key", "worse/key/")] = "x"
	} else if w.chance(6) {
		out["app"] = "bad value"
	}
	return out
}

func (w world) selector() *metav1.LabelSelector {
	if w.chance(4) {
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: w.labels(), MatchExpressions: some(w, 1, func() metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: w.pick("app", "tier"), Operator: metav1.LabelSelectorOperator(w.pick("In", "Exists", "NotIn", "Nope")), Values: some(w, 1, func() string { return "x" })}
	})}
}

func (w world) keys() []string {
	if !w.chance(3) {
		return nil
	}
	return some(w, 2, func() string { return w.pick("app", "tier", "bad key", "absent") })
}

func (w world) term() v1.PodAffinityTerm {
	return v1.PodAffinityTerm{LabelSelector: w.selector(), TopologyKey: w.most("zone", "", "bad key"), Namespaces: some(w, 1, func() string { return w.most("default", "Bad") }),
		NamespaceSelector: *maybe(w, 1, w.selector), MatchLabelKeys: w.keys(), MismatchLabelKeys: w.keys()}
}

func (w world) weighted() v1.WeightedPodAffinityTerm {
	return v1.WeightedPodAffinityTerm{Weight: w.weight(), PodAffinityTerm: w.term()}
}

func (w world) weight() int32 { return int32([]int{1, 50, 100, 0, 101}[w.IntN(5)]) }

func (w world) nodeAffinity() v1.NodeAffinity {
	return v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: maybe(w, 2, func() v1.NodeSelector { return v1.NodeSelector{NodeSelectorTerms: some(w, 2, w.nodeTerm)} }),
		PreferredDuringSchedulingIgnoredDuringExecution: some(w, 1, func() v1.PreferredSchedulingTerm {
			return v1.PreferredSchedulingTerm{Weight: w.weight(), Preference: w.nodeTerm()}
		})}
}

func (w world) affinity() v1.Affinity {
	return v1.Affinity{NodeAffinity: maybe(w, 2, w.nodeAffinity),
		PodAffinity: maybe(w, 3, func() v1.PodAffinity {
			return v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: some(w, 1, w.term), PreferredDuringSchedulingIgnoredDuringExecution: some(w, 1, w.weighted)}
		}),
		PodAntiAffinity: maybe(w, 3, func() v1.PodAntiAffinity {
			return v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: some(w, 1, w.term), PreferredDuringSchedulingIgnoredDuringExecution: some(w, 1, w.weighted)}
		})}
}

func (w world) spread() v1.TopologySpreadConstraint {
	return v1.TopologySpreadConstraint{MaxSkew: int32(w.IntN(3)), TopologyKey: w.most("zone", "", "bad key"), WhenUnsatisfiable: v1.UnsatisfiableConstraintAction(w.pick("DoNotSchedule", "ScheduleAnyway", "Nope")),
		LabelSelector: w.selector(), MatchLabelKeys: w.keys()}
}

func (w world) gate() v1.PodSchedulingGate {
	return v1.PodSchedulingGate{Name: w.most("example.com/a", "b", "bad gate", "")}
}

func (w world) pod() *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.pick("default", "other"), Name: w.pick("p", "p", ""), GenerateName: w.pick("", "p-"), Labels: w.labels()}}
	if w.chance(4) {
		p.Annotations = map[string]string{"kept": "yes"}
	}
	s := &p.Spec
	s.Containers, s.InitContainers = append(some(w, 1, w.container), w.container()), some(w, 2, w.container)
	s.Tolerations = some(w, 3, w.toleration)
	if w.chance(2) {
		s.NodeSelector = w.labels()
	}
	if w.chance(2) {
		s.Affinity = maybe(w, 1, w.affinity)
	}
	if w.chance(3) {
		s.TopologySpreadConstraints = some(w, 2, w.spread)
	}
	if w.chance(3) {
		s.SchedulingGates = some(w, 2, w.gate)
	}
	s.NodeName, s.SchedulerName, s.RestartPolicy = w.pick("", "", "n1"), w.pick("", "own"), v1.RestartPolicy(w.pick("", "Never"))
	s.HostNetwork, s.HostUsers = w.chance(4), maybe(w, 3, func() bool { return w.chance(2) })
	s.TerminationGracePeriodSeconds = maybe(w, 3, func() int64 { return int64(w.IntN(3) - 1) })
	s.Priority = maybe(w, 8, func() int32 { return int32(w.IntN(2)) })
	s.PriorityClassName = w.pick("", "", "high", "gone")
	s.PreemptionPolicy = maybe(w, 5, func() v1.PreemptionPolicy {
		return v1.PreemptionPolicy(w.pick("Never", "PreemptLowerPriority", "Nope"))
	})
	s.RuntimeClassName = maybe(w, 5, func() string { return w.most("gvisor", "gone") })
	if w.chance(4) {
		s.Resources = maybe(w, 1, w.resources)
	}
	p.Status.NominatedNodeName = w.pick("", "n2")
	if w.chance(3) {
		p.Status.Conditions = []v1.PodCondition{{Type: "Ready"}, {Type: v1.PodConditionType(w.pick("PodScheduled", "Ready")), Status: v1.ConditionFalse, Reason: w.pick("SchedulingGated", "Other")}}
	}
	return p
}

// tame returns a pod that Admit often takes: no name or operator is bad.
func (w world) tame() *v1.Pod {
	p := w.pod()
	s := &p.Spec
	s.PriorityClassName, s.Priority, s.PreemptionPolicy = w.pick("", "high"), nil, nil
	if s.RuntimeClassName != nil {
		*s.RuntimeClassName = "gvisor"
	}
	if !w.chance(4) {
		s.Overhead, s.NodeSelector, s.Tolerations = nil, nil, some(w, 2, func() v1.Toleration {
			return v1.Toleration{Key: w.pick("a", "b"), Operator: v1.TolerationOperator(w.pick("", "Exists")), Effect: v1.TaintEffect(w.pick("", "NoSchedule"))}
		})
	}
	return p
}

// update changes a few fields of a pod.
func (w world) update(old *v1.Pod) *v1.Pod {
	p, other := old.DeepCopy(), w.pod()
	for range 1 + w.IntN(3) {
		s, o := &p.Spec, &other.Spec
		switch w.IntN(16) {
		case 0:
			s.Tolerations = append(s.Tolerations, w.toleration())
		case 1:
			s.Tolerations = o.Tolerations
		case 2:
			for k := range s.Tolerations {
				s.Tolerations[k].TolerationSeconds = new(int64)
			}
		case 3:
			s.SchedulingGates = o.SchedulingGates
		case 4:
			s.SchedulingGates = nil
		case 5:
			s.NodeSelector = o.NodeSelector
		case 6:
			if s.NodeSelector == nil {
				s.NodeSelector = map[string]string{}
			}
			s.NodeSelector["more"] = w.pick("x", "y", "")
		case 7:
			s.Affinity = o.Affinity
		case 8:
			if s.Affinity != nil {
				s.Affinity.NodeAffinity = maybe(w, 2, w.nodeAffinity)
			} else {
				s.Affinity = &v1.Affinity{NodeAffinity: maybe(w, 2, w.nodeAffinity)}
			}
		case 9, 10, 11:
			if n := nodeAffinity(s.Affinity); n != nil {
				for k, t := range requiredTerms(n) {
					t.MatchExpressions = append(t.MatchExpressions, some(w, 1, w.requirement)...)
					if w.chance(3) {
						t.MatchFields = append(t.MatchFields, some(w, 1, w.requirement)...)
					}
					n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[k] = t
				}
			}
		case 12:
			s.Containers[0].Resources = w.resources()
		case 13:
			s.Containers = append(s.Containers, w.container())
		case 14:
			s.TopologySpreadConstraints = o.TopologySpreadConstraints
		case 15:
			s.HostNetwork, s.SchedulerName = o.HostNetwork, o.SchedulerName
		}
	}
	return p
}

func (w world) limitRange() *v1.LimitRange {
	return &v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: w.most("default", "other"), Name: w.pick("a", "b")}, Spec: v1.LimitRangeSpec{Limits: some(w, 2, func() v1.LimitRangeItem {
		x := v1.LimitRangeItem{Type: v1.LimitType(w.most("Container", "Pod", "PersistentVolumeClaim"))}
		for _, list := range []*v1.ResourceList{&x.Min, &x.Max, &x.Default, &x.DefaultRequest, &x.MaxLimitRequestRatio} {
			if w.chance(3) {
				*list = v1.ResourceList{v1.ResourceName(w.pick("cpu", "memory")): resource.MustParse(w.pick("1", "2", "4"))}
			}
		}
		return x
	})}}
}

func (w world) annotation() string {
	return w.pick("", "[]", "bad", `[{"key":"a","operator":"Exists"}]`, `[{"operator":"Exists"}]`, `[{"key":"b","operator":"Exists","effect":"NoSchedule"}]`)
}

func (w world) cluster() (c Cluster) {
	if w.chance(2) {
		c.LimitRanges = append(some(w, 3, w.limitRange), nil)
	}
	c.PriorityClasses = []*schedulingv1.PriorityClass{nil, {ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000, GlobalDefault: w.chance(2)}}
	c.RuntimeClasses = []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Overhead: maybe(w, 2, func() nodev1.Overhead { return nodev1.Overhead{PodFixed: testkit.Resources("cpu=10m")} }),
		Scheduling: maybe(w, 2, func() nodev1.Scheduling {
			return nodev1.Scheduling{NodeSelector: map[string]string{"runtime": "gvisor"}, Tolerations: some(w, 1, w.toleration)}
		})}}
	for _, name := range []string{"x", "other", "default"} {
		n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if w.chance(2) {
			n.Annotations = map[string]string{annotationDefaultTolerations: w.annotation(), annotationTolerationsWhitelist: w.annotation()}
		}
		if !w.chance(8) {
			c.Namespaces = append(c.Namespaces, nil, n)
		}
	}
	return c
}

func (w world) node() *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.pick("n1", "n2"), Labels: w.labels()}, Spec: v1.NodeSpec{Taints: some(w, 3, func() v1.Taint {
		return v1.Taint{Key: w.pick("a", "b", "bad key", "node.kubernetes.io/not-ready"), Value: w.most("", "1", "bad value"), Effect: v1.TaintEffect(w.pick("NoSchedule", "NoExecute", "", "Never"))}
	})}}
	aliases := []string{"beta.kubernetes.io/os", "kubernetes.io/os", "beta.kubernetes.io/arch", "kubernetes.io/arch", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "node-restriction.kubernetes.io/x",
		"kubernetes.io/hostname", "kubelet.kubernetes.io/x", "k8s.io/x"}
	for range w.IntN(5) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[aliases[w.IntN(len(aliases))]] = w.pick("x", "y", "")
	}
	return n
}

func (w world) budget() *policyv1.PodDisruptionBudget {
	amount := func() intstr.IntOrString {
		if w.chance(2) {
			return intstr.FromInt32(int32(w.IntN(4) - 1))
		}
		return intstr.FromString(w.pick("0%", "50%", "100%", "101%", "%", "5", "-5%", "5 %", "99999999999999999999%", ""))
	}
	return &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: maybe(w, 2, amount), MaxUnavailable: maybe(w, 2, amount), Selector: w.selector(),
		UnhealthyPodEvictionPolicy: maybe(w, 2, func() policyv1.UnhealthyPodEvictionPolicyType {
			return policyv1.UnhealthyPodEvictionPolicyType(w.pick("AlwaysAllow", "IfHealthyBudget", "Nope"))
		})}}
}

func (w world) runtimeClass() *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Handler: w.pick("a", "b"), Overhead: maybe(w, 2, func() nodev1.Overhead { return nodev1.Overhead{PodFixed: w.list()} }),
		Scheduling: maybe(w, 2, func() nodev1.Scheduling {
			return nodev1.Scheduling{NodeSelector: w.labels(), Tolerations: some(w, 3, w.toleration)}
		})}
}

func (w world) priorityClass() *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", w.IntN(2))}, Value: int32(w.IntN(2)),
		PreemptionPolicy: maybe(w, 2, func() v1.PreemptionPolicy { return v1.PreemptionPolicy(w.pick("Never", "Nope")) })}
}
