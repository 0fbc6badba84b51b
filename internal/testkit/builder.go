package testkit

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Epoch is the time at which tests begin.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// NodeBuilder builds a node; Obj returns it.
type NodeBuilder struct{ node *v1.Node }

// Node starts a node with 110 pods, labelled with its name as kubernetes.io/hostname.
func Node(name string) NodeBuilder {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{v1.LabelHostname: name}}}
	return NodeBuilder{n}.Capacity("pods=110")
}

// Label sets one label.
func (b NodeBuilder) Label(key, value string) NodeBuilder {
	b.node.Labels[key] = value
	return b
}

// Bare removes all labels.
func (b NodeBuilder) Bare() NodeBuilder {
	b.node.Labels = map[string]string{}
	return b
}

// Zone sets topology.kubernetes.io/zone.
func (b NodeBuilder) Zone(zone string) NodeBuilder { return b.Label(v1.LabelTopologyZone, zone) }

// Taint adds a taint written "key=value:Effect" or "key:Effect".
func (b NodeBuilder) Taint(taint string) NodeBuilder {
	b.node.Spec.Taints = append(b.node.Spec.Taints, Taint(taint))
	return b
}

// Capacity sets capacity and allocatable of each resource of a list "cpu=4,memory=8Gi".
func (b NodeBuilder) Capacity(list string) NodeBuilder {
	if b.node.Status.Capacity == nil {
		b.node.Status.Capacity, b.node.Status.Allocatable = v1.ResourceList{}, v1.ResourceList{}
	}
	for name, q := range Resources(list) {
		b.node.Status.Capacity[name], b.node.Status.Allocatable[name] = q, q
	}
	return b
}

// Image adds an image of the given size under its names.
func (b NodeBuilder) Image(sizeBytes int64, names ...string) NodeBuilder {
	b.node.Status.Images = append(b.node.Status.Images, v1.ContainerImage{Names: names, SizeBytes: sizeBytes})
	return b
}

// Unschedulable cordons the node.
func (b NodeBuilder) Unschedulable() NodeBuilder {
	b.node.Spec.Unschedulable = true
	return b
}

// Obj returns the node.
func (b NodeBuilder) Obj() *v1.Node { return b.node }

// PodBuilder builds a pod; Obj returns it.
type PodBuilder struct{ pod *v1.Pod }

// Pod starts a pod "namespace/name" or "name" (namespace default) with one container that asks for nothing.
func Pod(name string) PodBuilder {
	namespace := v1.NamespaceDefault
	if ns, rest, ok := strings.Cut(name, "/"); ok {
		namespace, name = ns, rest
	}
	return PodBuilder{&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name), Labels: map[string]string{}},
		Spec:       v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c"}}},
	}}
}

// Labels sets labels from a list "app=x,tier=web".
func (b PodBuilder) Labels(list string) PodBuilder {
	for k, v := range Pairs(list) {
		b.pod.Labels[k] = v
	}
	return b
}

// Request sets the requests of the first container.
func (b PodBuilder) Request(list string) PodBuilder {
	b.pod.Spec.Containers[0].Resources.Requests = Resources(list)
	return b
}

// Limit sets the limits of the first container.
func (b PodBuilder) Limit(list string) PodBuilder {
	b.pod.Spec.Containers[0].Resources.Limits = Resources(list)
	return b
}

// Image sets the image of the first container.
func (b PodBuilder) Image(image string) PodBuilder {
	b.pod.Spec.Containers[0].Image = image
	return b
}

// HostPort adds a host port to the first container.
func (b PodBuilder) HostPort(ip string, protocol v1.Protocol, port int32) PodBuilder {
	c := &b.pod.Spec.Containers[0]
	c.Ports = append(c.Ports, v1.ContainerPort{HostIP: ip, Protocol: protocol, HostPort: port, ContainerPort: port})
	return b
}

// Priority sets the priority.
func (b PodBuilder) Priority(p int32) PodBuilder {
	b.pod.Spec.Priority = &p
	return b
}

// On assigns the pod to a node.
func (b PodBuilder) On(node string) PodBuilder {
	b.pod.Spec.NodeName = node
	b.pod.Status.Phase = v1.PodRunning
	return b
}

// Nominated nominates the pod to the node.
func (b PodBuilder) Nominated(node string) PodBuilder {
	b.pod.Status.NominatedNodeName = node
	return b
}

// Terminating sets a deletion time.
func (b PodBuilder) Terminating() PodBuilder {
	t := metav1.NewTime(Epoch)
	b.pod.DeletionTimestamp = &t
	return b
}

// Tolerate adds a toleration.
func (b PodBuilder) Tolerate(key string, op v1.TolerationOperator, value string, effect v1.TaintEffect) PodBuilder {
	b.pod.Spec.Tolerations = append(b.pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: op, Value: value, Effect: effect})
	return b
}

// NodeSelector sets the node selector from a list "disktype=ssd".
func (b PodBuilder) NodeSelector(list string) PodBuilder {
	b.pod.Spec.NodeSelector = Pairs(list)
	return b
}

// Affinity returns the pod's affinity for the builders below and for tests to fill in.
func (b PodBuilder) affinity() *v1.Affinity {
	if b.pod.Spec.Affinity == nil {
		b.pod.Spec.Affinity = &v1.Affinity{}
	}
	return b.pod.Spec.Affinity
}

// RequireNodes sets the required node affinity.
func (b PodBuilder) RequireNodes(terms ...v1.NodeSelectorTerm) PodBuilder {
	b.affinity().NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}
	return b
}

// RequireWith adds required pod affinity to pods with the labels, in one domain of key.
func (b PodBuilder) RequireWith(key, labels string) PodBuilder {
	a := b.affinity()
	if a.PodAffinity == nil {
		a.PodAffinity = &v1.PodAffinity{}
	}
	a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, Term(key, labels))
	return b
}

// RequireApart adds required pod anti-affinity to pods with the labels, in one domain of key.
func (b PodBuilder) RequireApart(key, labels string) PodBuilder {
	a := b.affinity()
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &v1.PodAntiAffinity{}
	}
	a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, Term(key, labels))
	return b
}

// PreferWith adds preferred pod affinity of a weight.
func (b PodBuilder) PreferWith(weight int32, key, labels string) PodBuilder {
	a := b.affinity()
	if a.PodAffinity == nil {
		a.PodAffinity = &v1.PodAffinity{}
	}
	a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
		v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: Term(key, labels)})
	return b
}

// Spread adds a spread constraint on pods with the labels.
func (b PodBuilder) Spread(maxSkew int32, key string, when v1.UnsatisfiableConstraintAction, labels string) PodBuilder {
	b.pod.Spec.TopologySpreadConstraints = append(b.pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
		MaxSkew: maxSkew, TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: &metav1.LabelSelector{MatchLabels: Pairs(labels)},
	})
	return b
}

// Owner sets the controller that owns the pod.
func (b PodBuilder) Owner(apiVersion, kind, name string) PodBuilder {
	yes := true
	b.pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}}
	return b
}

// Obj returns the pod.
func (b PodBuilder) Obj() *v1.Pod { return b.pod }

// Term is an inter-pod affinity term over pods with the labels of a list "app=x".
func Term(key, labels string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: Pairs(labels)}}
}

// Pairs reads "a=b,c=d"; the empty string is an empty map.
func Pairs(list string) map[string]string {
	pairs := map[string]string{}
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		if !ok {
			panic(fmt.Sprintf("testkit: %q is not key=value", part))
		}
		pairs[k] = v
	}
	return pairs
}

// Resources reads "cpu=4,memory=8Gi".
func Resources(list string) v1.ResourceList {
	r := v1.ResourceList{}
	for name, q := range Pairs(list) {
		r[v1.ResourceName(name)] = resource.MustParse(q)
	}
	return r
}
