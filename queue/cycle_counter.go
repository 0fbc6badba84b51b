package queue

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// This file has the larger parts of the rule of 1.27 and 1.28 (Legacy.CycleCounter).

// sameSpec reports whether an update changes only fields that cannot make a pod schedulable: status, resource version,
// generation, managed fields and finalizers.
func sameSpec(old, new *v1.Pod) bool {
	c := *new
	c.ResourceVersion, c.Generation, c.ManagedFields, c.Finalizers = old.ResourceVersion, old.Generation, old.ManagedFields, old.Finalizers
	c.Status = old.Status
	return equality.Semantic.DeepEqual(old, &c)
}

// assignedPodCheck narrows the addition or update of an assigned pod to the waiting pods with a required affinity term
// that the pod matches. An update that frees resources concerns all.
func (q *Queue) assignedPodCheck(c Change) func(*v1.Pod) bool {
	assigned, ok := c.New.(*v1.Pod)
	if !ok || assigned == nil || c.Event.Resource != assignedPod || c.Event.Action&Delete != 0 {
		return c.PreCheck
	}
	if old, _ := c.Old.(*v1.Pod); old != nil && scaledDown(old, assigned, q.o.Release) {
		return c.PreCheck
	}
	return func(waiting *v1.Pod) bool {
		return (c.PreCheck == nil || c.PreCheck(waiting)) && q.wantsNeighbour(waiting, assigned)
	}
}

func (q *Queue) wantsNeighbour(waiting, assigned *v1.Pod) bool {
	if waiting.Spec.Affinity == nil || waiting.Spec.Affinity.PodAffinity == nil {
		return false
	}
	for i := range waiting.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if q.termMatches(&waiting.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i], waiting, assigned) {
			return true
		}
	}
	return false
}

// termMatches reports whether the term selects the assigned pod. An invalid selector selects nothing.
func (q *Queue) termMatches(t *v1.PodAffinityTerm, waiting, assigned *v1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil || !selector.Matches(labels.Set(assigned.Labels)) {
		return false
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return assigned.Namespace == waiting.Namespace
	}
	for _, ns := range t.Namespaces {
		if ns == assigned.Namespace {
			return true
		}
	}
	if t.NamespaceSelector == nil {
		return false
	}
	selector, err = metav1.LabelSelectorAsSelector(t.NamespaceSelector)
	return err == nil && selector.Matches(labels.Set(q.namespaceLabels(assigned.Namespace)))
}

func (q *Queue) namespaceLabels(namespace string) map[string]string {
	if q.o.Legacy.NamespaceLabels != nil {
		return q.o.Legacy.NamespaceLabels(namespace)
	}
	return map[string]string{v1.LabelMetadataName: namespace}
}
