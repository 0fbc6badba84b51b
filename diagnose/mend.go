package diagnose

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/podinfo"
)

// mends returns the changes that write what the pod most likely means. Where it asks for a label that no node has, that is a value or a key
// that looks alike; the same for resources, topology keys and the pods of affinity (namesMeant). Where an entry of spec.resourceClaims names
// nothing, it is the claim or the template of the entry's name. The changes come
// after those that drop the same requirement. A requirement that is dropped already is not mended.
func (d *diagnosis) mends() (out []*Change) {
	known := d.common.labelsOf(d.law.nodes)
	add := func(rule, path, from, to string, edit func(p *v1.Pod)) {
		out = append(out, &Change{Kind: Mend, Object: "Pod " + podinfo.Name(d.pod), Path: path, From: from, To: to, rule: rule, pod: d.pod, edit: func(p *v1.Pod, _ int64) { edit(p) }})
	}
	for _, key := range slices.Sorted(maps.Keys(d.pod.Spec.NodeSelector)) {
		value := d.pod.Spec.NodeSelector[key]
		k, v, ok := known.meant(key, value)
		if _, taken := d.pod.Spec.NodeSelector[k]; !ok || taken && k != key {
			continue
		}
		path := "spec.nodeSelector[" + key + "]"
		add(path, path, labelText(key, value), labelText(k, v), func(p *v1.Pod) {
			if _, ok := p.Spec.NodeSelector[key]; ok {
				delete(p.Spec.NodeSelector, key)
				p.Spec.NodeSelector[k] = v
			}
		})
	}
	for i, r := range d.pod.Spec.ResourceClaims {
		if _, meant, edit := meantClaim(d.base, d.pod, i); edit != nil {
			path := fmt.Sprintf("spec.resourceClaims[%d]", i)
			add(path, path+" ("+r.Name+")", "neither a claim nor a template", meant, edit)
		}
	}
	d.namesMeant(add)
	a := podinfo.NodeAffinity(d.pod)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return out
	}
	for i, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for j, r := range t.MatchExpressions {
			if r.Operator != v1.NodeSelectorOpIn || len(r.Values) != 1 {
				continue
			}
			k, v, ok := known.meant(r.Key, r.Values[0])
			if !ok {
				continue
			}
			path := fmt.Sprintf("%s.nodeSelectorTerms[%d].matchExpressions[%d]", requiredNodeAffinity, i, j)
			add(requiredNodeAffinity, path, labelText(r.Key, r.Values[0]), labelText(k, v), func(p *v1.Pod) { mendRequirement(p, i, r, k, v) })
		}
	}
	return out
}

// meantClaim returns the field that makes an entry of spec.resourceClaims name the claim, or else the template, of the entry's own name, and
// which of the two that is. edit is nil when the entry names something, or when neither exists.
func meantClaim(c *cluster.Snapshot, pod *v1.Pod, i int) (kind, field string, edit func(p *v1.Pod)) {
	entry := &pod.Spec.ResourceClaims[i]
	if entry.ResourceClaimName != nil || entry.ResourceClaimTemplateName != nil {
		return "", "", nil
	}
	name := entry.Name
	with := func(set func(r *v1.PodResourceClaim)) func(p *v1.Pod) {
		return func(p *v1.Pod) {
			if at := slices.IndexFunc(p.Spec.ResourceClaims, func(r v1.PodResourceClaim) bool { return r.Name == name }); at >= 0 {
				set(&p.Spec.ResourceClaims[at])
			}
		}
	}
	if _, ok := cluster.List[*resourcev1.ResourceClaim](c).Get(pod.Namespace, name); ok {
		return "claim", "resourceClaimName: " + name, with(func(r *v1.PodResourceClaim) { r.ResourceClaimName = &name })
	}
	if _, ok := cluster.List[*resourcev1.ResourceClaimTemplate](c).Get(pod.Namespace, name); ok {
		return "template", "resourceClaimTemplateName: " + name, with(func(r *v1.PodResourceClaim) { r.ResourceClaimTemplateName = &name })
	}
	return "", "", nil
}

func mendRequirement(p *v1.Pod, term int, r v1.NodeSelectorRequirement, key, value string) {
	a := podinfo.NodeAffinity(p)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	list := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[term].MatchExpressions
	for k := range list {
		if reflect.DeepEqual(list[k], r) {
			list[k].Key, list[k].Values = key, []string{value}
		}
	}
}

// labelText writes a label: disktype=ssd, gpu="".
func labelText(key, value string) string {
	if value == "" {
		return key + `=""`
	}
	return key + "=" + value
}

// meant returns the label that looks most like one that no node has. ok is false when a node has the label, or none looks alike.
func (l nodeLabels) meant(key, value string) (k, v string, ok bool) {
	k = key
	if len(l[k]) == 0 {
		if k = near.Key(key, slices.Collect(maps.Keys(l))); k == "" {
			return "", "", false
		}
		if l[k][value] {
			return k, value, true
		}
	}
	values := l[k]
	if values[value] {
		return "", "", false
	}
	v, ok = near.Meant(value, slices.Collect(maps.Keys(values)))
	return k, v, ok
}
