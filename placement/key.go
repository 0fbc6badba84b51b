package placement

import (
	"encoding/binary"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/score"
)

// keyer writes a pod's key: a byte string that is equal exactly for pods that the built-in plugins treat the same. Lists
// and strings carry their length, so that no two pods that differ write the same bytes. Maps are written in key order.
type keyer struct {
	b    []byte
	keys []string // scratch
}

func (k *keyer) number(n int64) { k.b = binary.AppendVarint(k.b, n) }
func (k *keyer) count(n int)    { k.b = binary.AppendUvarint(k.b, uint64(n)) }
func (k *keyer) text(s string)  { k.count(len(s)); k.b = append(k.b, s...) }
func (k *keyer) texts(l []string) {
	k.count(len(l))
	for _, s := range l {
		k.text(s)
	}
}

func (k *keyer) flag(f bool) {
	if f {
		k.b = append(k.b, 1)
	} else {
		k.b = append(k.b, 0)
	}
}

// pairs writes a map of strings, nil apart from empty.
func (k *keyer) pairs(m map[string]string) {
	k.flag(m != nil)
	k.count(len(m))
	if len(m) == 1 {
		for key, value := range m {
			k.text(key)
			k.text(value)
		}
		return
	}
	k.keys = k.keys[:0]
	for key := range m {
		k.keys = append(k.keys, key)
	}
	slices.Sort(k.keys)
	for _, key := range k.keys {
		k.text(key)
		k.text(m[key])
	}
}

func (k *keyer) quantity(q resource.Quantity) {
	if n, ok := q.AsInt64(); ok { // the common case: whole units
		k.number(0)
		k.number(n)
		return
	}
	k.number(1)
	k.text(q.String())
}

func (k *keyer) resources(list v1.ResourceList) {
	k.count(len(list))
	if len(list) == 1 {
		for name, q := range list {
			k.text(string(name))
			k.quantity(q)
		}
		return
	}
	k.keys = k.keys[:0]
	for name := range list {
		k.keys = append(k.keys, string(name))
	}
	slices.Sort(k.keys)
	for _, name := range k.keys {
		k.text(name)
		k.quantity(list[v1.ResourceName(name)])
	}
}

func (k *keyer) containers(list []v1.Container) {
	k.count(len(list))
	for i := range list {
		c := &list[i]
		k.resources(c.Resources.Requests)
		k.resources(c.Resources.Limits)
		k.flag(c.RestartPolicy != nil)
		if c.RestartPolicy != nil {
			k.text(string(*c.RestartPolicy))
		}
		k.count(len(c.RestartPolicyRules))
		for _, r := range c.RestartPolicyRules {
			k.text(string(r.Action))
		}
		k.count(len(c.Ports))
		for _, p := range c.Ports {
			k.number(int64(p.HostPort))
			if p.HostPort != 0 {
				k.text(string(p.Protocol))
				k.text(p.HostIP)
			}
		}
	}
}

// pod writes what the built-in plugins read of an incoming pod. The namespace and labels matter to running pods' terms and
// to the pod's own constraints, the controller to default spread constraints.
func (k *keyer) pod(p *v1.Pod) {
	k.text(p.Namespace)
	k.pairs(p.Labels)
	k.requests(p)
	k.images(p)
	k.text(p.Spec.NodeName)
	k.pairs(p.Spec.NodeSelector)
	k.tolerations(p.Spec.Tolerations)
	k.flag(p.Spec.HostNetwork)
	k.flag(p.Spec.HostUsers != nil && !*p.Spec.HostUsers)
	k.affinity(p.Spec.Affinity)
	k.spread(p.Spec.TopologySpreadConstraints)
	for i := range p.OwnerReferences {
		if o := &p.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			k.text(o.APIVersion)
			k.text(o.Kind)
			k.text(o.Name)
			break
		}
	}
}

// statics writes what the plugins that look at nodes only read of a pod.
func (k *keyer) statics(plan *Plan, p *v1.Pod) {
	k.text(p.Spec.NodeName)
	k.pairs(p.Spec.NodeSelector)
	k.tolerations(p.Spec.Tolerations)
	k.flag(p.Spec.HostNetwork)
	k.flag(p.Spec.HostUsers != nil && !*p.Spec.HostUsers)
	k.features(p.Spec.Containers)
	k.features(p.Spec.InitContainers)
	k.nodeAffinity(p.Spec.Affinity)
	for _, f := range plan.custom {
		k.b = f.AppendKey(k.b, p)
	}
}

// features writes the restart rules, from which the features that a pod needs of its node follow.
func (k *keyer) features(list []v1.Container) {
	for i := range list {
		for _, r := range list[i].RestartPolicyRules {
			k.text(string(r.Action))
		}
	}
	k.count(0)
}

// topology writes the keys by which the states of a pod tell nodes apart, and whether nodes without them are ignored.
func (k *keyer) topology(s *shape) {
	k.flag(s.soft != nil && s.softE.Defaulted())
	k.flag(s.hard != nil)
	if s.hard != nil {
		k.texts(s.hardE.Keys(nil))
	}
	k.flag(s.soft != nil)
	if s.soft != nil {
		k.texts(s.softE.Keys(nil))
	}
	if s.pods != nil {
		k.texts(s.pods.AppendKeys(nil))
	}
}

// part writes what the states of a pod depend on beside its namespace and statics: its constraints, which of its labels
// matter to them, and which running pods' terms match it.
func (k *keyer) part(c compiled, pod *v1.Pod, r *reuse) {
	k.flag(c.hardE != nil)
	if c.hardE != nil {
		k.b = c.hardE.AppendKey(k.b)
	}
	k.flag(c.softE != nil)
	if c.softE != nil {
		k.b = c.softE.AppendKey(k.b)
	}
	if c.podsE == nil {
		return
	}
	k.podAffinity(pod.Spec.Affinity)
	labels, known := r.log.Namespace(pod.Namespace)
	k.flag(c.podsE.SelfAll(labels, known))
	r.matching(pod, func(id int32, at int, which uint64) {
		k.count(int(id) + 1)
		k.count(at)
		k.number(int64(which))
	})
}

// matching yields the term sets of running pods that match an incoming pod, and which of their terms do, 64 to a word.
func (r *reuse) matching(pod *v1.Pod, yield func(id int32, at int, which uint64)) {
	labels, _ := r.log.Namespace(pod.Namespace)
	for id := range int32(r.log.TermSets()) {
		rep, nodes, _ := r.log.TermSet(id)
		if len(nodes) == 0 {
			continue
		}
		r.which = r.terms.Terms(id, rep).AppendWhich(r.which[:0], pod, labels)
		for at, w := range r.which {
			if w != 0 {
				yield(id, at, w)
			}
		}
	}
}

// images writes the names of the pod's images.
func (k *keyer) images(p *v1.Pod) {
	for i := range p.Spec.InitContainers {
		k.text(p.Spec.InitContainers[i].Image)
	}
	for i := range p.Spec.Containers {
		k.text(p.Spec.Containers[i].Image)
	}
}

// rows writes what kept rows depend on: what the pod asks for, and its images if some node has one of them.
func (k *keyer) rows(p *v1.Pod, c Cluster) {
	k.requests(p)
	if images := score.CompileImages(p).On(c); !images.Zero() {
		k.images(p)
	}
}

// requests writes what the pod asks of a node's rows, and its features.
func (k *keyer) requests(p *v1.Pod) {
	k.containers(p.Spec.Containers)
	k.containers(p.Spec.InitContainers)
	k.resources(p.Spec.Overhead)
	k.flag(p.Spec.Resources != nil)
	if p.Spec.Resources != nil {
		k.resources(p.Spec.Resources.Requests)
		k.resources(p.Spec.Resources.Limits)
	}
}

func (k *keyer) tolerations(list []v1.Toleration) {
	k.count(len(list))
	for i := range list {
		t := &list[i]
		k.text(t.Key)
		k.text(string(t.Operator))
		k.text(t.Value)
		k.text(string(t.Effect))
	}
}

func (k *keyer) affinity(a *v1.Affinity) {
	k.nodeAffinity(a)
	k.podAffinity(a)
}

func (k *keyer) podAffinity(a *v1.Affinity) {
	k.flag(a != nil && a.PodAffinity != nil)
	if a != nil && a.PodAffinity != nil {
		p := a.PodAffinity
		k.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	k.flag(a != nil && a.PodAntiAffinity != nil)
	if a != nil && a.PodAntiAffinity != nil {
		p := a.PodAntiAffinity
		k.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (k *keyer) nodeAffinity(a *v1.Affinity) {
	k.flag(a != nil && a.NodeAffinity != nil)
	if a == nil || a.NodeAffinity == nil {
		return
	}
	r := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	k.flag(r != nil)
	if r != nil {
		k.count(len(r.NodeSelectorTerms))
		for i := range r.NodeSelectorTerms {
			k.nodeTerm(&r.NodeSelectorTerms[i])
		}
	}
	preferred := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	k.flag(preferred != nil)
	k.count(len(preferred))
	for i := range preferred {
		k.number(int64(preferred[i].Weight))
		k.nodeTerm(&preferred[i].Preference)
	}
}

func (k *keyer) nodeTerm(t *v1.NodeSelectorTerm) {
	k.requirements(t.MatchExpressions)
	k.requirements(t.MatchFields)
}

func (k *keyer) requirements(list []v1.NodeSelectorRequirement) {
	k.count(len(list))
	for i := range list {
		k.text(list[i].Key)
		k.text(string(list[i].Operator))
		k.texts(list[i].Values)
	}
}

func (k *keyer) podTerms(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	k.count(len(required))
	for i := range required {
		k.podTerm(&required[i])
	}
	k.count(len(preferred))
	for i := range preferred {
		k.number(int64(preferred[i].Weight))
		k.podTerm(&preferred[i].PodAffinityTerm)
	}
}

func (k *keyer) podTerm(t *v1.PodAffinityTerm) {
	k.text(t.TopologyKey)
	k.selector(t.LabelSelector)
	k.texts(t.Namespaces)
	k.selector(t.NamespaceSelector)
}

func (k *keyer) selector(s *metav1.LabelSelector) {
	k.flag(s != nil)
	if s == nil {
		return
	}
	k.pairs(s.MatchLabels)
	k.count(len(s.MatchExpressions))
	for i := range s.MatchExpressions {
		k.text(s.MatchExpressions[i].Key)
		k.text(string(s.MatchExpressions[i].Operator))
		k.texts(s.MatchExpressions[i].Values)
	}
}

func (k *keyer) spread(list []v1.TopologySpreadConstraint) {
	k.count(len(list))
	for i := range list {
		c := &list[i]
		k.number(int64(c.MaxSkew))
		k.text(c.TopologyKey)
		k.text(string(c.WhenUnsatisfiable))
		k.selector(c.LabelSelector)
		k.texts(c.MatchLabelKeys)
		k.optional(c.MinDomains)
		k.text(policy(c.NodeAffinityPolicy))
		k.text(policy(c.NodeTaintsPolicy))
	}
}

func (k *keyer) optional(n *int32) {
	k.flag(n != nil)
	if n != nil {
		k.number(int64(*n))
	}
}

func policy(p *v1.NodeInclusionPolicy) string {
	if p == nil {
		return ""
	}
	return string(*p)
}
