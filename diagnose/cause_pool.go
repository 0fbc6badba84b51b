package diagnose

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/podinfo"
)

// noPool returns the cause of a pod whose pool is empty.
func (x *sought) noPool(fails map[int][]failure) *Cause {
	var selected []int // nodes that only the place of volumes excludes
	for _, i := range x.slots {
		if list, asked := fails[i]; asked && !slices.ContainsFunc(list, func(f failure) bool { return f.plugin == ofAffinity || f.plugin == ofName }) {
			selected = append(selected, i)
		}
	}
	if len(selected) > 0 {
		if c := x.place(selected); c != nil {
			return c
		}
		f := fails[selected[0]][slices.IndexFunc(fails[selected[0]], ofPool)]
		return &Cause{Type: causePlace, Nodes: x.namesOf(selected), Text: "its volumes are not in the place of its nodes: " + strings.Join(numbers(f, selected[0]), ", ")}
	}
	return x.noNode()
}

// place returns the cause of a pod whose bound volume is where none of its nodes is.
func (x *sought) place(selected []int) *Cause {
	for claim, pv := range x.volumes() {
		wants, selector := placeOf(pv)
		if selector == nil {
			continue
		}
		s, err := affinity.CompileSelector(selector)
		if err != nil || slices.ContainsFunc(selected, func(i int) bool { return s.Matches(x.c.Node(i)) }) {
			continue
		}
		key, _, _ := strings.Cut(wants, "=")
		capacity := pv.Spec.Capacity[v1.ResourceStorage]
		out := &Cause{Type: causePlace, Object: "PersistentVolume " + pv.Name, Field: "spec.nodeAffinity", Wanted: wants, Nodes: x.namesOf(selected), Not: "edit spec.nodeAffinity of the volume: it is immutable"}
		out.Found = x.labelOf(selected, key)
		if place, old, now := renamed(selector); old != "" {
			out.Not = "" // the API server allows the new name
			if s, err := affinity.CompileSelector(place); err == nil {
				if at := slices.IndexFunc(selected, func(i int) bool { return s.Matches(x.c.Node(i)) }); at >= 0 {
					n := x.c.Node(selected[at])
					out.Found = fmt.Sprintf("%s has %s", n.Name, labelText(now, n.Labels[now]))
				}
			}
		}
		there := "no node has it"
		if slices.ContainsFunc(x.slots, func(i int) bool { return s.Matches(x.c.Node(i)) }) {
			there = "no node that it selects has it"
		}
		out.Text = fmt.Sprintf("volume %s (%s, bound to %s) needs %s; %s (%s)", pv.Name, capacity.String(), claim, wants, there, out.Found)
		return out
	}
	return nil
}

// volumes yields the volumes to which the pod's claims are bound, and the name of the claim of each.
func (x *sought) volumes() iter.Seq2[string, *v1.PersistentVolume] {
	return func(yield func(string, *v1.PersistentVolume) bool) {
		for _, claim := range x.claims() {
			pvc, ok := cluster.List[*v1.PersistentVolumeClaim](x.c).Get(x.pod.Namespace, claim)
			if !ok || pvc.Spec.VolumeName == "" {
				continue
			}
			if pv, ok := cluster.List[*v1.PersistentVolume](x.c).Get("", pvc.Spec.VolumeName); ok && !yield(claim, pv) {
				return
			}
		}
	}
}

// placeOf returns where a volume is, in words and as a selector; nil for a volume that every node reaches.
func placeOf(pv *v1.PersistentVolume) (string, *v1.NodeSelector) {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return "", nil
	}
	var wants []string
	for _, t := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, r := range t.MatchExpressions {
			wants = append(wants, r.Key+"="+strings.Join(r.Values, " or "))
		}
	}
	return strings.Join(wants, ", "), pv.Spec.NodeAffinity.Required
}

// labelOf says which values of a label nodes have: "node4 has node4.corp.example".
func (x *sought) labelOf(slots []int, key string) string {
	byValue := map[string][]string{}
	for _, i := range slots {
		n := x.c.Node(i)
		v, ok := n.Labels[key]
		if !ok {
			v = "none"
		} else if v == "" || v == "true" || v == "false" {
			v = strconv.Quote(v)
		}
		byValue[v] = append(byValue[v], n.Name)
	}
	var out []string
	for _, v := range slices.Sorted(maps.Keys(byValue)) {
		names := byValue[v]
		out = append(out, fmt.Sprintf("%s %s %s", few(names), verb(len(names), "has", "have"), v))
	}
	if len(out) > mostNamed {
		out = append(out[:mostNamed], "and others")
	}
	return strings.Join(out, ", ")
}

// wish is one requirement of a pod of the labels of its node.
type wish struct {
	field string
	r     v1.NodeSelectorRequirement
	name  bool // of the node's name
}

// wishes are the requirements that one node must meet together: the node selector, and the terms of required node affinity if there is
// only one. more is the number of terms beyond it.
func (x *sought) wishes() (out []wish, more int) {
	for _, key := range slices.Sorted(maps.Keys(x.pod.Spec.NodeSelector)) {
		out = append(out, wish{field: "spec.nodeSelector[" + key + "]", r: v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{x.pod.Spec.NodeSelector[key]}}})
	}
	a := podinfo.NodeAffinity(x.pod)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return out, 0
	}
	terms := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 {
		return out, len(terms)
	}
	for k, r := range terms[0].MatchExpressions {
		out = append(out, wish{field: fmt.Sprintf("%s.nodeSelectorTerms[0].matchExpressions[%d]", requiredNodeAffinity, k), r: r})
	}
	for k, r := range terms[0].MatchFields {
		out = append(out, wish{field: fmt.Sprintf("%s.nodeSelectorTerms[0].matchFields[%d]", requiredNodeAffinity, k), r: r, name: true})
	}
	return out, 0
}

// met reports whether a node meets a requirement.
func (w wish) met(n *v1.Node) bool {
	t := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{w.r}}
	if w.name {
		t = v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{w.r}}
	}
	s, err := affinity.CompileSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{t}})
	return err == nil && s.Matches(n)
}

// text writes a requirement: disktype=ssd, "zone In [a b]", "gpu Exists".
func (w wish) text() string {
	if w.r.Operator == v1.NodeSelectorOpIn && len(w.r.Values) == 1 {
		if w.name {
			return "the name " + w.r.Values[0]
		}
		return labelText(w.r.Key, w.r.Values[0])
	}
	return requirementText(w.r)
}

// noNode returns the cause of a pod that no node matches: the requirement that no node meets, two that exclude each other, or all
// together.
func (x *sought) noNode() *Cause {
	list, terms := x.wishes()
	for k, w := range list {
		for _, other := range list[:k] {
			if w.r.Key == other.r.Key && w.r.Operator == v1.NodeSelectorOpIn && other.r.Operator == v1.NodeSelectorOpIn && !slices.ContainsFunc(w.r.Values, func(v string) bool { return slices.Contains(other.r.Values, v) }) {
				return &Cause{Type: causeContradiction, Field: other.field, Wanted: other.text(), Found: w.text(),
					Text: fmt.Sprintf("%s asks for %s and %s for %s: no node can have both", tail(other.field), other.text(), tail(w.field), w.text())}
			}
		}
	}
	for _, w := range list {
		if !slices.ContainsFunc(x.slots, func(i int) bool { return w.met(x.c.Node(i)) }) {
			return x.unmet(w)
		}
	}
	out := &Cause{Type: causeNoNode, Field: "spec.nodeSelector"}
	var all []string
	for _, w := range list {
		all = append(all, w.text())
	}
	if terms > 1 {
		out.Field = requiredNodeAffinity
		all = append(all, fmt.Sprintf("one of the %d terms of its node affinity", terms))
	}
	out.Wanted = strings.Join(all, ", ")
	out.Text = "no node has " + joined(all)
	if len(all) > 1 {
		out.Text += " together"
	}
	if len(all) == 0 {
		out.Text = "no node matches its node affinity"
	}
	return out
}

// tail shortens a field path to its last names.
func tail(field string) string {
	if strings.HasPrefix(field, requiredNodeAffinity) {
		return "nodeAffinity"
	}
	return strings.TrimPrefix(field, "spec.")
}

// unmet returns the cause of a requirement that no node meets: a value that looks alike, another key, or the values that there are.
func (x *sought) unmet(w wish) *Cause {
	out := &Cause{Type: causeNoNode, Field: w.field, Wanted: w.text()}
	if w.name {
		out.Text = "there is no node with " + w.text()
		if like := near.Names(strings.Join(w.r.Values, ""), x.namesOf(x.slots)); len(like) > 0 {
			out.Found = like[0]
			out.Text += "; near: " + strings.Join(like, ", ")
		}
		return out
	}
	var having []int
	var keys []string
	for _, i := range x.slots {
		n := x.c.Node(i)
		if _, ok := n.Labels[w.r.Key]; ok {
			having = append(having, i)
		}
		keys = append(keys, slices.Collect(maps.Keys(n.Labels))...)
	}
	if len(having) == 0 {
		out.Text = fmt.Sprintf("it wants %s, and no node has the label %s", w.text(), w.r.Key)
		if key := near.Key(w.r.Key, keys); key != "" {
			for _, i := range x.slots {
				if _, ok := x.c.Node(i).Labels[key]; ok {
					having = append(having, i)
				}
			}
			out.Found, out.Nodes = key, x.namesOf(having)
			out.Text += fmt.Sprintf("; %s %s %s", few(out.Nodes), verb(len(having), "has", "have"), key)
		}
		return out
	}
	out.Nodes = x.namesOf(having)
	out.Found = x.values(having, w)
	out.Text = fmt.Sprintf("it wants %s, and %s", w.text(), out.Found)
	return out
}

// values says which values of the label of a requirement nodes have; the values that look like the wanted one come alone.
func (x *sought) values(having []int, w wish) string {
	var alike []int
	for _, i := range having {
		if slices.ContainsFunc(w.r.Values, func(v string) bool { return near.Value(v, x.c.Node(i).Labels[w.r.Key]) }) {
			alike = append(alike, i)
		}
	}
	if len(alike) > 0 {
		having = alike
	}
	return x.labelOf(having, w.r.Key)
}
