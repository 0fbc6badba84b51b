package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/taints"
)

// labelTemplateGeneration is the label of a DaemonSet's pods that says which generation of the template they have.
const labelTemplateGeneration = "pod-template-generation"

// daemonSet makes a pod for every node that should have one and has none. The controller binds the pod to its node by a node
// affinity that takes the place of the required node affinity of the template.
func (m *maker) daemonSet(d *appsv1.DaemonSet) {
	if gone(d) {
		return
	}
	o := owner{apps, "DaemonSet", d}
	mine := m.of(o, d.Spec.Selector)
	there := map[string]*v1.Pod{}
	for _, p := range mine {
		if node := nodeOf(p); there[node] == nil && !(podinfo.Finished(p) && p.DeletionTimestamp == nil) {
			there[node] = p
		}
	}
	model := m.pod(o, &d.Spec.Template, d.Name+"-")
	model.Spec.Tolerations = same.DaemonSetTolerations(model)
	if g := d.Annotations[appsv1.DeprecatedTemplateGeneration]; g != "" {
		model.Labels[labelTemplateGeneration] = g
	}
	if p := newest(mine); p != nil && p.Labels[appsv1.ControllerRevisionHashLabelKey] != "" {
		model.Labels[appsv1.ControllerRevisionHashLabelKey] = p.Labels[appsv1.ControllerRevisionHashLabelKey]
	}
	for _, n := range m.o.Nodes {
		if model.Spec.NodeName != "" && model.Spec.NodeName != n.Name || !affinity.MatchNode(model, n) ||
			taints.Untolerated(n, model.Spec.Tolerations, m.tolerations) != nil {
			continue
		}
		if p := there[n.Name]; p != nil {
			if p.DeletionTimestamp != nil {
				m.wait(o, p.Name, "is terminating")
			}
			continue
		}
		p := model.DeepCopy()
		pin(p, n.Name)
		m.add(p, "")
	}
}

// nodeOf returns the node of a DaemonSet's pod, which a pending pod has in its node affinity.
func nodeOf(p *v1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	a := podinfo.NodeAffinity(p)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == metav1.ObjectNameField && f.Operator == v1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// pin binds a pod to a node by node affinity.
func pin(p *v1.Pod, node string) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = podinfo.OnlyNode(node)
}
