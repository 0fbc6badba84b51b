package diagnose

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/overhead"
)

// namesMeant returns the changes that write a name that looks alike in place of one that is nowhere: of a resource that no node offers, of a
// topology key that no node has, of a claim that does not exist, and of the labels or the namespace of pods that required affinity wants.
func (d *diagnosis) namesMeant(add func(rule, path, from, to string, edit func(p *v1.Pod))) {
	d.resourcesMeant(add)
	d.claimsMeant(add)
	d.deviceClaimsMeant(add)
	known := d.common.labelsOf(d.law.nodes)
	keys := slices.Collect(maps.Keys(known))
	for i, c := range d.pod.Spec.TopologySpreadConstraints {
		if to := near.Key(c.TopologyKey, keys); c.WhenUnsatisfiable == v1.DoNotSchedule && known[c.TopologyKey] == nil && to != "" && !hasConstraint(d.pod, to, v1.DoNotSchedule) {
			path := fmt.Sprintf("spec.topologySpreadConstraints[%d]", i)
			add(path, path+".topologyKey", c.TopologyKey, to, func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[i].TopologyKey = to })
		}
	}
	_, terms := podAffinityOf(d.pod)
	if terms[0].required == nil {
		return
	}
	for i := range *terms[0].required {
		t := &(*terms[0].required)[i]
		path := fmt.Sprintf("spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d]", i)
		of := func(edit func(t *v1.PodAffinityTerm)) func(p *v1.Pod) {
			return func(p *v1.Pod) {
				if _, terms := podAffinityOf(p); terms[0].required != nil && i < len(*terms[0].required) {
					edit(&(*terms[0].required)[i])
				}
			}
		}
		if to := near.Key(t.TopologyKey, keys); known[t.TopologyKey] == nil && to != "" {
			add(path, path+".topologyKey", t.TopologyKey, to, of(func(t *v1.PodAffinityTerm) { t.TopologyKey = to }))
		}
		key, to, namespace := d.podsMeant(t)
		switch {
		case key != "":
			add(path, path+".labelSelector", key+"="+t.LabelSelector.MatchLabels[key], key+"="+to, of(func(t *v1.PodAffinityTerm) {
				t.LabelSelector = t.LabelSelector.DeepCopy()
				t.LabelSelector.MatchLabels[key] = to
			}))
		case namespace != "":
			field, from, to := ".namespaces", d.pod.Namespace, namespace
			if t.NamespaceSelector != nil {
				field, from, to = ".namespaceSelector", metav1.FormatLabelSelector(t.NamespaceSelector), "namespaces: ["+namespace+"]"
			}
			add(path, path+field, from, to, of(func(t *v1.PodAffinityTerm) { t.Namespaces, t.NamespaceSelector = []string{namespace}, nil }))
		}
	}
}

// resourcesMeant is namesMeant for extended resources.
func (d *diagnosis) resourcesMeant(add func(rule, path, from, to string, edit func(p *v1.Pod))) {
	var offered []string
	var wanted []v1.ResourceName
	overhead.Each(d.pod, overhead.Options{}, func(name v1.ResourceName, total int64) {
		if total > 0 && strings.Contains(string(name), "/") {
			wanted = append(wanted, name)
		}
	})
	if wanted == nil {
		return
	}
	for _, n := range d.law.nodes {
		for name, q := range n.Status.Allocatable {
			if !q.IsZero() && !slices.Contains(offered, string(name)) {
				offered = append(offered, string(name))
			}
		}
	}
	slices.Sort(wanted)
	slices.Sort(offered)
	for _, name := range wanted {
		meant, ok := near.Meant(string(name), offered)
		if slices.Contains(offered, string(name)) || !ok {
			continue
		}
		to := v1.ResourceName(meant)
		path := "requests." + string(name)
		add(path, path, string(name), string(to), func(p *v1.Pod) {
			for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
				for i := range list {
					rename(list[i].Resources.Requests, name, to)
					rename(list[i].Resources.Limits, name, to)
				}
			}
		})
	}
}

// claimsMeant is namesMeant for claims of volumes. Those of a StatefulSet have the names that its controller gives them.
func (d *diagnosis) claimsMeant(add func(rule, path, from, to string, edit func(p *v1.Pod))) {
	if d.controller != nil && d.controller.Kind == "StatefulSet" {
		return
	}
	claims := cluster.List[*v1.PersistentVolumeClaim](d.base)
	for i, v := range d.pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		from := v.PersistentVolumeClaim.ClaimName
		if _, there := claims.Get(d.pod.Namespace, from); there {
			continue
		}
		to, ok := near.Meant(from, namesOf(claims.In(d.pod.Namespace)))
		if !ok {
			continue
		}
		path := fmt.Sprintf("spec.volumes[%d]", i)
		add(path, path+".persistentVolumeClaim.claimName", from, to, func(p *v1.Pod) {
			for k := range p.Spec.Volumes {
				if c := p.Spec.Volumes[k].PersistentVolumeClaim; c != nil && c.ClaimName == from {
					c = c.DeepCopy()
					c.ClaimName = to
					p.Spec.Volumes[k].PersistentVolumeClaim = c
				}
			}
		})
	}
}

func rename(list v1.ResourceList, from, to v1.ResourceName) {
	if q, ok := list[from]; ok {
		delete(list, from)
		list[to] = q
	}
}

// podsMeant returns what a term of required affinity that selects no running pod most likely means: another value of one of its labels, or else
// the namespace in which pods have the labels.
func (d *diagnosis) podsMeant(t *v1.PodAffinityTerm) (key, value, namespace string) {
	if t.LabelSelector == nil || len(t.LabelSelector.MatchLabels) == 0 || len(t.Namespaces) > 0 {
		return "", "", ""
	}
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return "", "", ""
	}
	keys := slices.Sorted(maps.Keys(t.LabelSelector.MatchLabels))
	for _, p := range d.common.kindsOf(d.base, d.slots).first { // of equal labels
		if p.Namespace != d.pod.Namespace || t.NamespaceSelector != nil {
			if selector.Matches(labels.Set(p.Labels)) && (namespace == "" || p.Namespace < namespace) {
				namespace = p.Namespace
			}
			continue
		}
		if selector.Matches(labels.Set(p.Labels)) {
			return "", "", ""
		}
		for _, k := range keys {
			if has, ok := p.Labels[k]; ok && near.Value(t.LabelSelector.MatchLabels[k], has) && (key == "" || has < value) {
				key, value = k, has
			}
		}
	}
	return key, value, namespace
}

// namesOf returns the names of objects, sorted; nil without objects.
func namesOf[T metav1.Object](objects iter.Seq[T]) (names []string) {
	for x := range objects {
		names = append(names, x.GetName())
	}
	slices.Sort(names)
	return names
}
