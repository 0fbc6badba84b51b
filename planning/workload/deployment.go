package workload

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deploymentsAndReplicaSets makes the pods of all ReplicaSets, and then what Deployments ask for beyond their ReplicaSets.
func (m *maker) deploymentsAndReplicaSets() {
	sets := map[id][]*appsv1.ReplicaSet{} // by Deployment
	have := map[id]int{}                  // pods by ReplicaSet
	for _, r := range m.o.ReplicaSets {
		if ref := metav1.GetControllerOfNoCopy(r); ref != nil && ref.Kind == "Deployment" {
			sets[id{r.Namespace, ref.Name}] = append(sets[id{r.Namespace, ref.Name}], r)
		}
		have[id{r.Namespace, r.Name}] = m.replicas(owner{apps, "ReplicaSet", r}, m.scaled("ReplicaSet", r, r.Spec.Replicas), r.Spec.Selector, &r.Spec.Template)
	}
	lost := m.lost(have)
	for _, d := range m.o.Deployments {
		if !gone(d) {
			at := id{d.Namespace, d.Name}
			m.deployment(d, sets[at], have, lost[at])
		}
	}
}

// lost returns the pods of ReplicaSets that the input lacks, by Deployment: the pods whose owner has the name of the
// Deployment and their own pod-template-hash.
func (m *maker) lost(known map[id]int) map[id][]*v1.Pod {
	out := map[id][]*v1.Pod{}
	for _, p := range m.o.Pods {
		hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		ref := metav1.GetControllerOfNoCopy(p)
		if ref == nil || ref.Kind != "ReplicaSet" || hash == "" || !active(p) {
			continue
		}
		name, ok := strings.CutSuffix(ref.Name, "-"+hash)
		if _, there := known[id{p.Namespace, ref.Name}]; ok && !there {
			out[id{p.Namespace, name}] = append(out[id{p.Namespace, name}], p)
		}
	}
	return out
}

// deployment makes what a Deployment asks for beyond the pods of its ReplicaSets. lost are pods of ReplicaSets that the input
// lacks.
func (m *maker) deployment(d *appsv1.Deployment, sets []*appsv1.ReplicaSet, have map[id]int, lost []*v1.Pod) {
	rest := m.scaled("Deployment", d, d.Spec.Replicas) - len(lost)
	var current *appsv1.ReplicaSet // the oldest one with the Deployment's template
	for _, r := range sets {
		rest -= have[id{r.Namespace, r.Name}]
		if sameTemplate(&r.Spec.Template, &d.Spec.Template) && !gone(r) && (current == nil || r.CreationTimestamp.Before(&current.CreationTimestamp)) {
			current = r
		}
	}
	if rest <= 0 {
		return
	}
	if current == nil {
		current = newReplicaSet(d, m.scaled("Deployment", d, d.Spec.Replicas), sets, newest(lost))
		m.made.ReplicaSets = append(m.made.ReplicaSets, current)
	}
	m.more(owner{apps, "ReplicaSet", current}, rest, &current.Spec.Template)
}

// sameTemplate compares templates but for the label that the Deployment controller adds.
func sameTemplate(a, b *v1.PodTemplateSpec) bool {
	if !equality.Semantic.DeepEqual(a.Spec, b.Spec) || !equality.Semantic.DeepEqual(a.Annotations, b.Annotations) {
		return false
	}
	without := func(m map[string]string) map[string]string {
		m = orEmpty(m)
		delete(m, appsv1.DefaultDeploymentUniqueLabelKey)
		return m
	}
	return maps.Equal(without(a.Labels), without(b.Labels))
}

// newReplicaSet returns the ReplicaSet of the Deployment's template, named as the controller does. When only pods of it are
// known, it has the name, UID and hash that the pods know.
func newReplicaSet(d *appsv1.Deployment, want int, sets []*appsv1.ReplicaSet, known *v1.Pod) *appsv1.ReplicaSet {
	hash := templateHash(&d.Spec.Template, d.Status.CollisionCount)
	uid := types.UID(d.Namespace + "/" + d.Name + "-" + hash)
	if known != nil {
		hash, uid = known.Labels[appsv1.DefaultDeploymentUniqueLabelKey], metav1.GetControllerOfNoCopy(known).UID
	}
	for count := int32(0); slices.ContainsFunc(sets, func(r *appsv1.ReplicaSet) bool { return r.Name == d.Name+"-"+hash }); count++ {
		hash = templateHash(&d.Spec.Template, &count)
	}
	template := d.Spec.Template.DeepCopy()
	template.Labels = orEmpty(template.Labels)
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	selector := d.Spec.Selector.DeepCopy()
	if selector != nil {
		selector.MatchLabels = orEmpty(selector.MatchLabels)
		selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	}
	yes, replicas := true, int32(want)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + hash, UID: uid, Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apps, Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: &yes, BlockOwnerDeletion: &yes}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: *template, MinReadySeconds: d.Spec.MinReadySeconds},
	}
}
