package admission

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Short names of what most tables use.
var (
	taintList = testkit.Taints
	tol       = testkit.Toleration
)

func tainted(ss ...string) *v1.Node {
	return &v1.Node{Spec: v1.NodeSpec{Taints: taintList(ss...)}}
}

func tols(ts ...v1.Toleration) []v1.Toleration { return ts }

// node makes a node from its name and labels "zone=a,rack=r1".
func node(name, labels string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: testkit.Pairs(labels)}}
}

// term makes a term of inter-pod affinity from its topology key and a selector: nil, {}, bogus (an unknown operator),
// exists (the key app) or pairs "app=x".
func term(key, selector string) v1.PodAffinityTerm {
	t := v1.PodAffinityTerm{TopologyKey: key}
	switch selector {
	case "nil":
	case "{}":
		t.LabelSelector = &metav1.LabelSelector{}
	case "bogus":
		t.LabelSelector = bogus()
	case "exists":
		t.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	default:
		t.LabelSelector = &metav1.LabelSelector{MatchLabels: testkit.Pairs(selector)}
	}
	return t
}

// scoped adds a namespace, if it is not "", and a namespaceSelector to a term.
func scoped(t v1.PodAffinityTerm, namespace string, selector *metav1.LabelSelector) v1.PodAffinityTerm {
	if namespace != "" {
		t.Namespaces = []string{namespace}
	}
	t.NamespaceSelector = selector
	return t
}

// bogus is a selector with an unknown operator.
func bogus() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus", Values: []string{"b"}}}}
}

// pods holds the inter-pod terms of a pod.
type pods struct {
	near, apart             []v1.PodAffinityTerm
	likesNear, prefersApart []v1.WeightedPodAffinityTerm
}

// pod makes a pod with labels "app=x" and inter-pod terms.
func (l pods) pod(labels string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: testkit.Pairs(labels)}, Spec: v1.PodSpec{Affinity: &v1.Affinity{
		PodAffinity:     &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: l.near, PreferredDuringSchedulingIgnoredDuringExecution: l.likesNear},
		PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: l.apart, PreferredDuringSchedulingIgnoredDuringExecution: l.prefersApart},
	}}}
}

func weighted(weight int32, t v1.PodAffinityTerm) []v1.WeightedPodAffinityTerm {
	return []v1.WeightedPodAffinityTerm{{Weight: weight, PodAffinityTerm: t}}
}

func near(t v1.PodAffinityTerm, labels string) *v1.Pod {
	return pods{near: []v1.PodAffinityTerm{t}}.pod(labels)
}

func req(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

func exprs(r ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: r}
}

func fields(r ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchFields: r}
}

func requiring(terms ...v1.NodeSelectorTerm) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}}}
}

func prefer(weight int32, r ...v1.NodeSelectorRequirement) v1.PreferredSchedulingTerm {
	return v1.PreferredSchedulingTerm{Weight: weight, Preference: exprs(r...)}
}

func preferring(ts ...v1.PreferredSchedulingTerm) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: ts}}}}
}
