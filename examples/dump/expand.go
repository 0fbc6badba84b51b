package dump

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/taints"
)

// Expand appends to o.Pods the pods that workload objects ask for and no input pod is: for Deployments (through their
// ReplicaSets), ReplicaSets, ReplicationControllers, StatefulSets, Jobs and DaemonSets, in the order of the input, and
// returns them. A pod belongs to the controller that its owner references name; a pod of a ReplicaSet that the dump lacks
// belongs to the Deployment whose name and pod-template-hash its owner's name is made of. Names are the controller's with a
// number. The pods have been through no admission.
func (o *Objects) Expand() []*v1.Pod {
	e := expander{o: o, names: map[string]bool{}, owned: map[string]int{}, numbers: map[string]int{}, sets: map[string]bool{}}
	for _, r := range o.ReplicaSets {
		e.sets[r.Namespace+"/"+r.Name] = true
	}
	for _, p := range o.Pods {
		e.names[p.Namespace+"/"+p.Name] = true
		if ref := metav1.GetControllerOf(p); ref != nil && live(p) {
			e.owned[key(ref.Kind, p.Namespace, ref.Name)]++
			if hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ref.Kind == "ReplicaSet" && hash != "" {
				if name, ok := strings.CutSuffix(ref.Name, "-"+hash); ok && !e.sets[p.Namespace+"/"+ref.Name] {
					e.owned[key("Deployment", p.Namespace, name)]++
				}
			}
		}
	}
	e.replicaSets()
	for _, d := range o.Deployments {
		e.deployment(d)
	}
	for _, c := range o.ReplicationControllers {
		if c.Spec.Template != nil {
			e.replicas(v1.SchemeGroupVersion.String(), "ReplicationController", c, replicasOf(c.Spec.Replicas), *c.Spec.Template)
		}
	}
	for _, s := range o.StatefulSets {
		e.statefulSet(s)
	}
	for _, j := range o.Jobs {
		e.replicas("batch/v1", "Job", j, jobPods(j.Spec.Parallelism, j.Spec.Completions, j.Status.Succeeded, j.Spec.Suspend), j.Spec.Template)
	}
	for _, d := range o.DaemonSets {
		e.daemonSet(d)
	}
	o.Pods = append(o.Pods, e.made...)
	return e.made
}

type expander struct {
	o     *Objects
	made  []*v1.Pod
	names map[string]bool // of all pods
	owned map[string]int  // pods by controller

	numbers map[string]int  // the last number that free gave to names that begin so
	sets    map[string]bool // ReplicaSets of the dump
}

func key(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// live reports whether a controller counts the pod as one of its replicas.
func live(p *v1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed
}

func replicasOf(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// jobPods is how many pods of a job run at a time.
func jobPods(parallelism, completions *int32, succeeded int32, suspend *bool) int {
	n := replicasOf(parallelism)
	if completions != nil {
		n = min(n, int(*completions-succeeded))
	}
	if suspend != nil && *suspend {
		return 0
	}
	return max(n, 0)
}

// replicaSets makes the pods of ReplicaSets that no Deployment of the dump owns.
func (e *expander) replicaSets() {
	for _, r := range e.o.ReplicaSets {
		if ref := metav1.GetControllerOf(r); ref != nil && slices.ContainsFunc(e.o.Deployments, func(d *appsv1.Deployment) bool {
			return d.Namespace == r.Namespace && d.Name == ref.Name && ref.Kind == "Deployment"
		}) {
			continue
		}
		e.replicas("apps/v1", "ReplicaSet", r, replicasOf(r.Spec.Replicas), r.Spec.Template)
	}
}

// deployment makes what is missing in its newest ReplicaSet, or under one named after it.
func (e *expander) deployment(d *appsv1.Deployment) {
	have := e.owned[key("Deployment", d.Namespace, d.Name)]
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: appsv1.ReplicaSetSpec{Template: d.Spec.Template}}
	for _, r := range e.o.ReplicaSets {
		if ref := metav1.GetControllerOf(r); ref == nil || ref.Kind != "Deployment" || ref.Name != d.Name || r.Namespace != d.Namespace {
			continue
		}
		have += e.owned[key("ReplicaSet", r.Namespace, r.Name)]
		if owner.UID == "" && owner.Name == d.Name || owner.CreationTimestamp.Before(&r.CreationTimestamp) {
			owner = r
		}
	}
	for range replicasOf(d.Spec.Replicas) - have {
		e.add("apps/v1", "ReplicaSet", owner, owner.Spec.Template, e.free(owner.Namespace, owner.Name))
	}
}

func (e *expander) replicas(apiVersion, kind string, owner metav1.Object, n int, template v1.PodTemplateSpec) {
	for range n - e.owned[key(kind, owner.GetNamespace(), owner.GetName())] {
		e.add(apiVersion, kind, owner, template, e.free(owner.GetNamespace(), owner.GetName()))
	}
}

// free returns the first name with a number that no pod has. The caller makes a pod of that name.
func (e *expander) free(namespace, name string) string {
	for {
		e.numbers[namespace+"/"+name]++
		if next := fmt.Sprintf("%s-%d", name, e.numbers[namespace+"/"+name]); !e.names[namespace+"/"+next] {
			return next
		}
	}
}

func (e *expander) add(apiVersion, kind string, owner metav1.Object, template v1.PodTemplateSpec, name string) *v1.Pod {
	yes := true
	t := template.DeepCopy()
	p := &v1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	p.Name, p.Namespace = name, owner.GetNamespace()
	p.UID = types.UID(p.Namespace + "/" + name)
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}}
	e.names[p.Namespace+"/"+name] = true
	e.made = append(e.made, p)
	return p
}

// statefulSet makes the ordinals that are missing, each with the claims of its templates.
func (e *expander) statefulSet(s *appsv1.StatefulSet) {
	start := 0
	if s.Spec.Ordinals != nil {
		start = int(s.Spec.Ordinals.Start)
	}
	for i := start; i < start+replicasOf(s.Spec.Replicas); i++ {
		name := fmt.Sprintf("%s-%d", s.Name, i)
		if e.names[s.Namespace+"/"+name] {
			continue
		}
		p := e.add("apps/v1", "StatefulSet", s, s.Spec.Template, name)
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[appsv1.StatefulSetPodNameLabel], p.Labels[appsv1.PodIndexLabel] = name, fmt.Sprint(i)
		for _, c := range s.Spec.VolumeClaimTemplates {
			p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v v1.Volume) bool { return v.Name == c.Name })
			p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: c.Name, VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name + "-" + name},
			}})
		}
	}
}

// daemonSet makes a pod for every node that should have one and has none. As its controller does, it ties the pod to its
// node by node affinity.
func (e *expander) daemonSet(d *appsv1.DaemonSet) {
	has := map[string]bool{}
	for _, p := range e.o.Pods {
		if ref := metav1.GetControllerOf(p); ref != nil && ref.Kind == "DaemonSet" && ref.Name == d.Name && p.Namespace == d.Namespace && live(p) {
			has[boundTo(p)] = true
		}
	}
	for _, n := range e.o.Nodes {
		model := admission.WithDaemonSet(&v1.Pod{Spec: d.Spec.Template.Spec})
		if has[n.Name] || !affinity.MatchNode(model, n) || taints.Untolerated(n, model.Spec.Tolerations, taints.Options{}) != nil {
			continue
		}
		p := e.add("apps/v1", "DaemonSet", d, d.Spec.Template, e.free(d.Namespace, d.Name))
		p.Spec.Tolerations = model.Spec.Tolerations
		tie(p, n.Name)
	}
}

func boundTo(p *v1.Pod) string {
	if p.Spec.NodeName != "" || p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil || p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return p.Spec.NodeName
	}
	for _, t := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// tie adds metadata.name to every required node selector term.
func tie(p *v1.Pod, node string) {
	field := v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	a := p.Spec.Affinity.NodeAffinity
	a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{field}}}}
}
