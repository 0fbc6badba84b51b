package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/taints"
)

// nodeChanges lists the changes of a node that can matter to a pod.
func (d *diagnosis) nodeChanges(slot, alike int) []*Change {
	n := d.base.Node(slot)
	object := "Node " + n.Name
	var out []*Change
	add := func(kind Kind, path, from, to string, edit func(n *v1.Node)) {
		out = append(out, &Change{Kind: kind, Object: object, Path: path, From: from, To: to, Alike: alike, make: func(s *cluster.Snapshot, _ *Change) error {
			return editNode(s, n.Name, edit)
		}})
	}
	seen := map[v1.Taint]bool{}
	for _, t := range n.Spec.Taints {
		t := v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
		if seen[t] || !keepsOff(d.pod, t) {
			continue
		}
		seen[t] = true
		add(Untaint, "spec.taints", t.ToString(), "", func(n *v1.Node) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(x v1.Taint) bool { return x.Key == t.Key && x.Value == t.Value && x.Effect == t.Effect })
		})
	}
	if n.Spec.Unschedulable {
		add(Uncordon, "spec.unschedulable", "true", "false", func(n *v1.Node) {
			n.Spec.Unschedulable = false
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(x v1.Taint) bool { return x.Key == v1.TaintNodeUnschedulable })
		})
	}
	labelled := map[string]bool{}
	label := func(key, value string) {
		to := key + "=" + value
		if had, ok := n.Labels[key]; labelled[to] || ok && had == value {
			return
		}
		labelled[to] = true
		add(Label, "metadata.labels["+key+"]", n.Labels[key], to, func(n *v1.Node) {
			n.Labels = maps.Clone(n.Labels)
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels[key] = value
		})
	}
	for _, key := range slices.Sorted(maps.Keys(d.pod.Spec.NodeSelector)) {
		label(key, d.pod.Spec.NodeSelector[key])
	}
	if a := podinfo.NodeAffinity(d.pod); a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, r := range t.MatchExpressions {
				value, has := n.Labels[r.Key]
				switch {
				case r.Operator == v1.NodeSelectorOpIn && len(r.Values) > 0 && !slices.Contains(r.Values, value):
					label(r.Key, r.Values[0])
				case r.Operator == v1.NodeSelectorOpExists && !has:
					label(r.Key, "")
				case has && (r.Operator == v1.NodeSelectorOpDoesNotExist || r.Operator == v1.NodeSelectorOpNotIn && slices.Contains(r.Values, value)) && !labelled[r.Key]:
					labelled[r.Key] = true
					add(Label, "metadata.labels["+r.Key+"]", r.Key, "", func(n *v1.Node) {
						n.Labels = maps.Clone(n.Labels)
						delete(n.Labels, r.Key)
					})
				}
			}
		}
	}
	for _, key := range topologyKeys(d.pod) {
		if _, has := n.Labels[key]; !has {
			for _, value := range d.values(key, 2) {
				label(key, value)
			}
		}
	}
	if c := d.removal(slot, alike); c != nil {
		out = append(out, c)
	}
	return out
}

// keepsOff reports whether a pod does not tolerate a taint that filters. The taint of a cordoned node goes with Uncordon.
func keepsOff(pod *v1.Pod, t v1.Taint) bool {
	if t.Effect == v1.TaintEffectPreferNoSchedule || t.Key == v1.TaintNodeUnschedulable {
		return false
	}
	n := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{t}}}
	return taints.Untolerated(n, pod.Spec.Tolerations, taints.Options{}) != nil
}

// topologyKeys returns the keys of the rules that need the label on a node, each once.
func topologyKeys(pod *v1.Pod) (keys []string) {
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			add(c.TopologyKey)
		}
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			add(t.TopologyKey)
		}
	}
	return keys
}

// values returns at most so many values of a node label, sorted.
func (d *diagnosis) values(key string, most int) []string {
	seen := map[string]bool{}
	for i := range d.base.Len() {
		if n := d.base.Node(i); n != nil {
			if v, ok := n.Labels[key]; ok {
				seen[v] = true
			}
		}
	}
	list := slices.Sorted(maps.Keys(seen))
	return list[:min(most, len(list))]
}

func editNode(s *cluster.Snapshot, name string, edit func(n *v1.Node)) error {
	n := s.Node(s.Slot(name)).DeepCopy()
	edit(n)
	return s.Set(n)
}

// shapes returns a change for one more node of each of the commonest shapes. Nodes have one shape when allocatable resources, taints,
// and those labels are equal that other nodes have too.
func (d *diagnosis) shapes(most int) []*Change {
	shared := map[[2]string]int{}
	for _, i := range d.slots {
		for k, v := range d.base.Node(i).Labels {
			shared[[2]string{k, v}]++
		}
	}
	byShape := map[string][]int{}
	for _, i := range d.slots {
		n := d.base.Node(i)
		if n.Spec.Unschedulable || !d.target.has(i) {
			continue
		}
		var b strings.Builder
		for _, r := range slices.Sorted(maps.Keys(n.Status.Allocatable)) {
			q := n.Status.Allocatable[r]
			fmt.Fprintf(&b, "%s=%d,", r, inUnits(r, q))
		}
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			if shared[[2]string{k, n.Labels[k]}] > 1 {
				fmt.Fprintf(&b, "%s=%s,", k, n.Labels[k])
			}
		}
		for _, t := range n.Spec.Taints {
			b.WriteString(t.ToString())
		}
		byShape[b.String()] = append(byShape[b.String()], i)
	}
	lists := slices.SortedFunc(maps.Values(byShape), func(a, b []int) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(d.rank[a[0]], d.rank[b[0]]))
	})
	var out []*Change
	for _, list := range lists[:min(most, len(lists))] {
		like := d.base.Node(list[0])
		out = append(out, &Change{Kind: AddNode, Object: "Node", From: like.Name, To: d.freeName(like.Name), make: func(s *cluster.Snapshot, c *Change) error {
			return addNode(s, like, c.To)
		}})
	}
	return out
}

func (d *diagnosis) freeName(name string) string {
	for {
		if name += "-more"; d.base.Slot(name) < 0 {
			return name
		}
	}
}

// addNode adds a node like another one, without pods, with the same limits of volumes.
func addNode(s *cluster.Snapshot, like *v1.Node, name string) error {
	n := like.DeepCopy()
	n.Name, n.UID = name, ""
	n.Status.VolumesAttached, n.Status.VolumesInUse = nil, nil
	for k, v := range n.Labels {
		if v == like.Name || k == v1.LabelHostname {
			n.Labels[k] = name
		}
	}
	if old, ok := cluster.List[*storagev1.CSINode](s).Get("", like.Name); ok {
		c := old.DeepCopy()
		c.Name, c.UID = name, ""
		if err := s.Set(c); err != nil {
			return err
		}
	}
	return s.Set(n)
}
