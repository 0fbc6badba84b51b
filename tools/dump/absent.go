package dump

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
)

// Asks is what the answer of a program depends on besides nodes and pods.
type Asks struct {
	Placed     func(*v1.Pod) bool // reports whether the program looks for a node for a pod; nil for no pod
	Budgets    bool               // PodDisruptionBudgets decide, whatever the pods are
	Namespaces bool               // affinity to namespaces by label decides although no pod is placed
}

// Absent adds one warning that names the kinds of which the dump has no object although such objects could change an answer
// about its pods. A dump of everything has such a line only when the cluster has none of these objects.
func (o *Objects) Absent(asks Asks) {
	placed := func(p *v1.Pod) bool { return asks.Placed != nil && asks.Placed(p) }
	var names []string
	missing := func(kind string, there int, needed func(p *v1.Pod, placed bool) bool) {
		if there > 0 {
			return
		}
		for _, p := range o.Pods {
			if !cluster.Finished(p) && needed(p, placed(p)) {
				names = append(names, kind)
				return
			}
		}
	}
	labels := asks.Namespaces || slices.ContainsFunc(o.Pods, placed)
	lowest, running := int32(0), false // priority of the running pods
	for _, p := range o.Pods {
		if p.Spec.NodeName != "" && !cluster.Finished(p) && (!running || preemption.Priority(p) < lowest) {
			lowest, running = preemption.Priority(p), true
		}
	}
	missing("Node", len(o.Nodes), func(*v1.Pod, bool) bool { return true })
	missing("Namespace", len(o.Namespaces), func(p *v1.Pod, _ bool) bool { return labels && selectsNamespaces(p) })
	missing("PodDisruptionBudget", len(o.PodDisruptionBudgets), func(p *v1.Pod, placed bool) bool {
		return asks.Budgets || placed && running && preemption.Priority(p) > lowest
	})
	missing("PriorityClass", len(o.PriorityClasses), func(p *v1.Pod, placed bool) bool { return placed && Pending(p) && p.Spec.Priority == nil })
	missing("PersistentVolume", len(o.PersistentVolumes), claims)
	missing("PersistentVolumeClaim", len(o.PersistentVolumeClaims), claims)
	missing("StorageClass", len(o.StorageClasses), claims)
	missing("CSINode", len(o.CSINodes), claims)
	missing("PodGroup", len(o.PodGroups), func(p *v1.Pod, placed bool) bool { _, ok := podgroup.Of(p); return ok && placed && !o.oldGroups })
	if len(names) > 0 {
		o.Warnings.Add("the input has no " + strings.Join(names, ", ") + "; if the cluster has such objects, they could change the answer: kubectl get " +
			strings.Join(mapped(names, plural), ",") + " -A -o yaml")
	}
}

// Pending reports whether a pod waits for a node: the pods that Absent is asked about where running pods stay where they are.
func Pending(p *v1.Pod) bool { return p.Spec.NodeName == "" && p.DeletionTimestamp == nil }

// claims reports whether a pod that is placed has volumes of claims.
func claims(p *v1.Pod, placed bool) bool {
	return placed && slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// selectsNamespaces reports whether the affinity of a pod has a namespaceSelector that reads labels.
func selectsNamespaces(p *v1.Pod) bool {
	a := p.Spec.Affinity
	if a == nil {
		return false
	}
	var terms []v1.PodAffinityTerm
	if a.PodAffinity != nil {
		terms = append(terms, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		for _, w := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, w.PodAffinityTerm)
		}
	}
	if a.PodAntiAffinity != nil {
		terms = append(terms, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		for _, w := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, w.PodAffinityTerm)
		}
	}
	return slices.ContainsFunc(terms, func(t v1.PodAffinityTerm) bool {
		return t.NamespaceSelector != nil && len(t.NamespaceSelector.MatchLabels)+len(t.NamespaceSelector.MatchExpressions) > 0
	})
}
