package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Case is a cluster, a pod, and what v1.18.20 says: the scores of the feasible nodes. Feasible has their places among the nodes; nil means
// all.
type Case struct {
	Name        string               `json:"name"`
	Nodes       []*v1.Node           `json:"nodes"`
	Pods        []*v1.Pod            `json:"pods,omitempty"`
	Services    []*v1.Service        `json:"services,omitempty"`
	ReplicaSets []*appsv1.ReplicaSet `json:"replicaSets,omitempty"`
	Pod         *v1.Pod              `json:"pod"`
	Feasible    []int                `json:"feasible,omitempty"`
	Scores      map[string][]int64   `json:"scores"`
}

func node(name, cpu, memory string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory), "pods": resource.MustParse("110")}
	return n
}

func images(n *v1.Node, list ...string) *v1.Node {
	for _, name := range list {
		var mebibytes int64
		if _, err := fmt.Sscanf(name, "i%d", &mebibytes); err != nil {
			panic(err)
		}
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{"example.com/" + name + ":v1"}, SizeBytes: mebibytes << 20})
	}
	return n
}

// pod returns a pod of app web. cpu and memory may be "".
func pod(name, on, cpu, memory string, containers ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}}}
	p.Spec.NodeName, p.Spec.SchedulerName = on, v1.DefaultSchedulerName
	if len(containers) == 0 {
		containers = []string{"i0"}
	}
	for k, image := range containers {
		c := v1.Container{Name: fmt.Sprint("c", k), Image: "example.com/" + image + ":v1"}
		c.Resources.Requests = v1.ResourceList{}
		for name, amount := range map[v1.ResourceName]string{"cpu": cpu, "memory": memory} {
			if amount != "" {
				c.Resources.Requests[name] = resource.MustParse(amount)
			}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}

func term(key, app string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

// likes adds a preference for pods of an app, or against them when weight is negative.
func likes(p *v1.Pod, weight int32, key, app string) *v1.Pod {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	}
	a := p.Spec.Affinity
	if weight > 0 {
		a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term(key, app)})
	} else {
		a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.WeightedPodAffinityTerm{Weight: -weight, PodAffinityTerm: term(key, app)})
	}
	return p
}

func app(p *v1.Pod, name string) *v1.Pod {
	p.Labels["app"] = name
	return p
}

func replicaSet() *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "rs"}}
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return s
}

func owned(p *v1.Pod) *v1.Pod {
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: &yes}}
	return p
}

// constrain adds a topology spread constraint of skew 1.
func constrain(p *v1.Pod, key, app string, action v1.UnsatisfiableConstraintAction) *v1.Pod {
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key,
		WhenUnsatisfiable: action, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}})
	return p
}

// prefers adds a preference for nodes with a label.
func prefers(p *v1.Pod, weight int32, key, value string) *v1.Pod {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	a := p.Spec.Affinity.NodeAffinity
	a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{
		Weight: weight, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}})
	return p
}

// avoid makes the node avoid the pods of the ReplicaSet.
func avoid(n *v1.Node) {
	n.Annotations = map[string]string{v1.PreferAvoidPodsAnnotationKey: `{"preferAvoidPods":[{"podSignature":{"podController":{"kind":"ReplicaSet","uid":"rs"}}}]}`}
}
