package diagnose

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/diagnose/near"
)

// termState is the state of inter-pod terms: which required terms of the pod select another pod.
type termState interface {
	Selected(p *v1.Pod) (affinity, anti []int)
}

// affinity returns the cause of required affinity: its key is missing, nobody whom it selects runs, or they run on other nodes.
func (x *sought) affinity(slots []int, f failure) *Cause {
	state, ok := f.of.(termState)
	_, terms := podAffinityOf(x.pod)
	if !ok || terms[0].required == nil {
		return x.other(slots, f)
	}
	field := func(k int) string {
		return fmt.Sprintf("spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d]", k)
	}
	list := *terms[0].required
	selected := make([]bool, len(list))
	var on []int // slots of the pods that all terms select
	for _, i := range x.slots {
		for p := range x.c.Pods(i) {
			by, _ := state.Selected(p)
			for _, k := range by {
				selected[k] = true
			}
			if len(by) == len(list) && (len(on) == 0 || on[len(on)-1] != i) {
				on = append(on, i)
			}
		}
	}
	for k := range list {
		t := &list[k]
		if c := x.keyMissing(slots, t.TopologyKey, field(k)+".topologyKey"); c != nil {
			return c
		}
		out := &Cause{Type: causeAffinity, Field: field(k), Wanted: selectorText(t.LabelSelector)}
		switch {
		case t.LabelSelector == nil:
			out.Field, out.Wanted = field(k)+".labelSelector", ""
			out.Text = fmt.Sprintf("its affinity by %s has no labelSelector, and so selects no pod", t.TopologyKey)
			return out
		case !selected[k]:
			of := ""
			if t.NamespaceSelector != nil && len(t.Namespaces) == 0 && len(t.NamespaceSelector.MatchLabels)+len(t.NamespaceSelector.MatchExpressions) > 0 {
				of = " in namespaces with " + selectorText(t.NamespaceSelector)
			}
			out.Text = fmt.Sprintf("its affinity by %s wants pods with %s%s, and no such pod runs", t.TopologyKey, out.Wanted, of)
			if x.sayFollowed(out, state, len(list)) {
				return out
			}
			if like := x.nearPods(t); like != "" {
				out.Found = like
				out.Text += "; near: " + like
			}
			return out
		case len(on) == 0:
			continue
		}
		near := map[string]bool{}
		for _, i := range on {
			if value, has := x.c.Node(i).Labels[t.TopologyKey]; has {
				near[value] = true
			}
		}
		far := func(i int) bool {
			value, has := x.c.Node(i).Labels[t.TopologyKey]
			return !has || !near[value]
		}
		if !slices.ContainsFunc(slots, far) {
			continue // another term rejects
		}
		if t.TopologyKey != v1.LabelHostname {
			x.wanted = map[int]bool{}
			for _, i := range x.slots {
				x.wanted[i] = !far(i)
			}
		}
		out.Found = few(x.namesOf(on))
		out.Text = fmt.Sprintf("its affinity by %s wants pods with %s, which run on %s alone", t.TopologyKey, out.Wanted, out.Found)
		if at := slices.IndexFunc(on, func(i int) bool { return x.inOpen[i] }); at >= 0 {
			out.Text += ", and " + x.noRoom(on[at])
		}
		return out
	}
	if len(on) == 0 {
		out := &Cause{Type: causeAffinity, Field: field(0), Text: fmt.Sprintf("no pod runs that all %d terms of its affinity select", len(list))}
		x.sayFollowed(out, state, len(list))
		return out
	}
	return x.other(slots, f)
}

// noRoom says why an open node does not take the pod: "w10 has 3 of 3 pods".
func (x *sought) noRoom(slot int) string {
	for _, f := range x.failures(slot) {
		if f.plugin == ofRoom {
			if most, there := x.pods(slot); there >= most {
				return fmt.Sprintf("%s has %d of %d pods", x.c.Node(slot).Name, there, most)
			}
		}
		if f.plugin != ofPods {
			return x.facts(f, slot)
		}
	}
	return "there it does not fit"
}

// nearPods returns a label of a running pod that looks like one that a term selects: "app=db (namespace data)".
func (x *sought) nearPods(t *v1.PodAffinityTerm) (best string) {
	if t.LabelSelector == nil {
		return ""
	}
	known := map[[2]string]bool{} // by the value wanted and the value there
	like := func(value, has string) bool {
		is, asked := known[[2]string{value, has}]
		if !asked {
			is = near.Value(value, has)
			known[[2]string{value, has}] = is
		}
		return is
	}
	for _, i := range x.slots {
		for p := range x.c.Pods(i) {
			for key, value := range t.LabelSelector.MatchLabels {
				has, ok := p.Labels[key]
				text := ""
				switch {
				case ok && has == value && selects(t.LabelSelector, p.Labels):
					text = fmt.Sprintf("%s=%s in namespace %s", key, has, p.Namespace)
				case ok && like(value, has):
					text = key + "=" + has
				}
				if text != "" && (best == "" || text < best) {
					best = text
				}
			}
		}
	}
	return best
}

// selectorText writes a selector: "app=db".
func selectorText(s *metav1.LabelSelector) string {
	switch {
	case s == nil:
		return "no labelSelector"
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		return "any labels"
	}
	return metav1.FormatLabelSelector(s)
}

// antiAffinity returns the cause of the pod's own anti-affinity: one pod a domain of its own kind, or pods that it avoids.
func (x *sought) antiAffinity(slots []int, f failure) *Cause {
	state, ok := f.of.(termState)
	_, terms := podAffinityOf(x.pod)
	if !ok || terms[1].required == nil {
		return x.other(slots, f)
	}
	_, own := state.Selected(x.pod)
	there := make([]map[string]string, len(*terms[1].required)) // by term and domain of the slots, a pod that the term selects
	left := 0
	for k := range there {
		there[k] = map[string]string{}
		for _, i := range slots {
			if value, ok := x.c.Node(i).Labels[(*terms[1].required)[k].TopologyKey]; ok {
				there[k][value] = ""
			}
		}
		left += len(there[k])
	}
	for _, i := range x.slots {
		if left == 0 {
			break
		}
		labels := x.c.Node(i).Labels
		for p := range x.c.Pods(i) {
			_, by := state.Selected(p)
			for _, k := range by {
				value, ok := labels[(*terms[1].required)[k].TopologyKey]
				if name, wanted := there[k][value]; ok && wanted && name == "" {
					there[k][value] = p.Name
					left--
				}
			}
		}
	}
	for k := range *terms[1].required {
		t := &(*terms[1].required)[k]
		var found []string
		var on []int
		for _, i := range slots {
			value, has := x.c.Node(i).Labels[t.TopologyKey]
			if name := there[k][value]; name != "" && has {
				found, on = append(found, name), append(on, i)
			}
		}
		if len(on) == 0 {
			continue
		}
		nodes := x.namesOf(on)
		out := &Cause{Type: causeAntiAffinity, Nodes: nodes, Field: fmt.Sprintf("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d]", k), Wanted: t.TopologyKey, Found: few(slices.Compact(slices.Sorted(slices.Values(found))))}
		if slices.Contains(own, k) {
			out.Text = fmt.Sprintf("anti-affinity by %s allows one pod a %s, and %s %s", t.TopologyKey, domainWord(t.TopologyKey), few(nodes), verb(len(nodes), "has one", "have one each"))
		} else {
			out.Text = fmt.Sprintf("its anti-affinity by %s avoids pods with %s, which are near %s (%s)", t.TopologyKey, selectorText(t.LabelSelector), few(nodes), out.Found)
		}
		return out
	}
	return x.other(slots, f)
}

// domainWord returns what people call a domain of a topology key.
func domainWord(key string) string {
	switch key {
	case v1.LabelHostname:
		return "node"
	case v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone:
		return "zone"
	case v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion:
		return "region"
	}
	return "domain"
}
