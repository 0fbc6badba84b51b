package gang

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/spread"
)

// closed returns the proof by counting that a node of the tree has no place in a domain; nil: counting proves nothing.
func (m *model) closed(n *podgroup.Node, in podgroup.Placement) *proof.Domain {
	d := &proof.Domain{Name: in.Name, Nodes: len(in.Slots)}
	c := &count{model: m, slots: in.Slots, kinds: m.below(n), need: m.Need(n)}
	if d.Room = c.proof(); d.Room != nil {
		return d
	}
	if n.Composite == nil {
		return nil
	}
	for _, child := range n.Children {
		a := proof.Absence{Group: child.String(), Key: m.key(child), Domains: []proof.Domain{}}
		for _, at := range m.domains(child, in.Slots) {
			closed := m.closed(child, at)
			if closed == nil {
				a.Domains = nil
				break
			}
			a.Domains = append(a.Domains, *closed)
		}
		if a.Domains != nil {
			d.Children = append(d.Children, a)
		}
	}
	if len(n.Children)-len(d.Children) < n.Needs() {
		return d
	}
	return nil
}

// count counts what a domain takes of some members.
type count struct {
	*model
	slots []int
	kinds []int
	need  int
	of    *proof.Amount
}

// proof returns a Room that is too small, nil if none is found.
func (c *count) proof() *proof.Room {
	if r := c.members(); r != nil {
		return r
	}
	if r := c.resource(); r != nil {
		return r
	}
	most := c.each()
	if r := c.nodes(most); r != nil {
		return r
	}
	if r := c.rules(most); r != nil {
		return r
	}
	return c.large()
}

// size is how many members count.
func (c *count) size() (n int) {
	for _, k := range c.kinds {
		n += len(c.model.kinds[k].members)
	}
	return n
}

func (c *count) result(kind proof.Kind, parts []proof.Part) *proof.Room {
	r := &proof.Room{Kind: kind, Need: c.need, Of: c.of, Parts: parts}
	for _, p := range parts {
		r.Most += p.Most
	}
	if r.Most >= c.need {
		return nil
	}
	return r
}

// members counts the members that at least one node takes.
func (c *count) members() *proof.Room {
	var open []int
	for _, k := range c.kinds {
		if slices.ContainsFunc(c.slots, func(i int) bool { return c.model.kinds[k].open[i] }) {
			open = append(open, c.model.kinds[k].members...)
		}
	}
	if len(open) >= c.need {
		return nil
	}
	slices.Sort(open)
	var parts []proof.Part
	for _, k := range open {
		parts = append(parts, proof.Part{Name: podinfo.Name(c.Members[k]), Most: 1})
	}
	return c.result(proof.ByMembers, parts)
}

// resource sums what is free of the scarcest resource.
func (c *count) resource() (best *proof.Room) {
	if c.size() < c.need {
		return nil
	}
	for at, column := range c.columns {
		var free int64
		for _, i := range c.slots {
			free += max(0, c.room(i)[at])
		}
		least := c.smallest(at, c.kinds, c.need)
		if free >= least || best != nil && float64(free)*float64(best.Least) >= float64(best.Free)*float64(least) {
			continue
		}
		best = &proof.Room{Kind: proof.ByResource, Need: c.need, Of: c.of, Resource: string(c.s.Schema().Name(column)), Free: free, Least: least}
	}
	return best
}

// smallest is what n members ask for at least.
func (c *count) smallest(column int, kinds []int, n int) (sum int64) {
	sorted := slices.SortedFunc(slices.Values(kinds), func(a, b int) int {
		return int(min(1, max(-1, c.model.kinds[a].needs[column]-c.model.kinds[b].needs[column])))
	})
	for _, k := range sorted {
		take := min(n, len(c.model.kinds[k].members))
		sum += int64(take) * c.model.kinds[k].needs[column]
		n -= take
	}
	return sum
}

// each returns what each slot takes at most.
func (c *count) each() map[int]int {
	out := make(map[int]int, len(c.slots))
	for _, i := range c.slots {
		out[i] = c.most(i, c.kinds)
	}
	return out
}

// most is how many members of some kinds a slot takes at most.
func (m *model) most(i int, kinds []int) int {
	var open []int
	total := 0
	for _, k := range kinds {
		if m.kinds[k].open[i] {
			open = append(open, k)
			total += len(m.kinds[k].members)
		}
	}
	for at, free := range m.room(i) {
		if total == 0 {
			break
		}
		slices.SortFunc(open, func(a, b int) int { return int(min(1, max(-1, m.kinds[a].needs[at]-m.kinds[b].needs[at]))) })
		n, left := 0, free
		for _, k := range open {
			need, have := m.kinds[k].needs[at], len(m.kinds[k].members)
			if need <= 0 {
				n += have
				continue
			}
			take := int(min(int64(have), max(0, left)/need))
			n += take
			left -= int64(take) * need
			if take < have {
				break
			}
		}
		total = min(total, n)
	}
	if total > 1 && m.onePort(open) {
		total = 1
	}
	return total
}

// onePort reports whether all kinds want one host port of all addresses.
func (m *model) onePort(kinds []int) bool {
	return m.Profile.Filter(plugins.NodePorts) != nil && podinfo.SamePort(func(yield func(*v1.Pod) bool) {
		for _, k := range kinds {
			if !yield(m.kinds[k].pod) {
				return
			}
		}
	})
}

// nodes sums what each node takes.
func (c *count) nodes(most map[int]int) *proof.Room {
	sum := 0
	for _, n := range most {
		sum += n
	}
	if sum >= c.need {
		return nil
	}
	var parts []proof.Part
	slots := slices.Sorted(slices.Values(c.slots))
	for _, i := range slots {
		if most[i] > 0 {
			parts = append(parts, proof.Part{Name: c.s.Node(i).Name, Most: most[i]})
		}
	}
	return c.result(proof.ByNodes, parts)
}

// large counts only members that ask for much of a resource: two of them may not fit on a node.
func (c *count) large() *proof.Room {
	all := c.size()
	if all == 0 {
		return nil
	}
	for at, column := range c.columns {
		sizes := map[int64]bool{}
		for _, k := range c.kinds {
			sizes[c.model.kinds[k].needs[at]] = true
		}
		for _, size := range slices.Sorted(maps.Keys(sizes))[1:] {
			part := *c
			part.kinds = slices.DeleteFunc(slices.Clone(c.kinds), func(k int) bool { return c.model.kinds[k].needs[at] < size })
			part.need -= all - part.size()
			part.of = &proof.Amount{Resource: string(c.s.Schema().Name(column)), AtLeast: size}
			if part.need <= 0 {
				continue
			}
			if r := part.members(); r != nil {
				return r
			}
			if r := part.resource(); r != nil {
				return r
			}
			if r := part.nodes(part.each()); r != nil {
				return r
			}
		}
	}
	return nil
}

// rules counts by anti-affinity and by spread.
func (c *count) rules(most map[int]int) *proof.Room {
	if len(c.kinds) == 0 {
		return nil
	}
	first := c.model.kinds[c.kinds[0]].pod
	if a := first.Spec.Affinity; a != nil && a.PodAntiAffinity != nil && c.Profile.Filter(plugins.InterPodAffinity) != nil {
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if c.everyone(func(p *v1.Pod) bool { return c.repels(p, t.TopologyKey) }) {
				if r := c.apart(t.TopologyKey, most); r != nil {
					return r
				}
			}
		}
	}
	if t := first.Spec.TopologySpreadConstraints; len(t) == 1 && len(c.kinds) == 1 && c.Profile.Filter(plugins.PodTopologySpread) != nil {
		return c.spread(first, &t[0], most)
	}
	return nil
}

func (c *count) everyone(is func(p *v1.Pod) bool) bool {
	return !slices.ContainsFunc(c.kinds, func(k int) bool { return !is(c.model.kinds[k].pod) })
}

// repels reports whether a pod has an anti-affinity by the key to all members.
func (c *count) repels(pod *v1.Pod, key string) bool {
	a := pod.Spec.Affinity
	return a != nil && a.PodAntiAffinity != nil && slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t v1.PodAffinityTerm) bool {
		return t.TopologyKey == key && len(t.Namespaces) == 0 && t.NamespaceSelector == nil && len(t.MatchLabelKeys) == 0 && len(t.MismatchLabelKeys) == 0 && c.selected(t.LabelSelector)
	})
}

// selected reports whether a selector matches all members.
func (c *count) selected(selector *metav1.LabelSelector) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false
	}
	for _, k := range c.kinds {
		for _, x := range c.model.kinds[k].members {
			if !s.Matches(labels.Set(c.Members[x].Labels)) {
				return false
			}
		}
	}
	return true
}

// apart counts one member for each value of a label.
func (c *count) apart(key string, most map[int]int) *proof.Room {
	sums := map[string]int{}
	var parts []proof.Part
	for _, i := range slices.Sorted(slices.Values(c.slots)) {
		if v, ok := c.s.Node(i).Labels[key]; ok {
			sums[v] += most[i]
		} else if most[i] > 0 {
			parts = append(parts, proof.Part{Name: c.s.Node(i).Name, Most: most[i]})
		}
	}
	var all []proof.Part
	for _, v := range slices.Sorted(maps.Keys(sums)) {
		if sums[v] > 0 {
			all = append(all, proof.Part{Name: v, Most: 1})
		}
	}
	r := c.result(proof.Apart, append(all, parts...))
	if r != nil {
		r.Key = key
	}
	return r
}

// spread counts for each value of a label what the only spread constraint of a pod allows, if the value with the fewest pods gets what it takes.
func (c *count) spread(pod *v1.Pod, t *v1.TopologySpreadConstraint, most map[int]int) *proof.Room {
	rules := pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil && pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
	if t.WhenUnsatisfiable != v1.DoNotSchedule || len(t.MatchLabelKeys) > 0 || t.NodeTaintsPolicy != nil || t.NodeAffinityPolicy != nil || len(pod.Spec.NodeSelector) > 0 || rules ||
		!c.selected(t.LabelSelector) {
		return nil
	}
	hard, err := spread.CompileHard(pod, spread.Options{})
	if err != nil {
		return nil
	}
	counts := hard.Count(c.s).Report()[0]
	have, tops, takes := map[string]int{}, map[string]int{}, map[string]int{}
	for _, d := range counts.Domains {
		have[d.Value] = d.Pods
	}
	everyone := c.below(c.Tree.Root())
	for _, i := range c.model.slots {
		v, ok := c.s.Node(i).Labels[t.TopologyKey]
		if _, counted := have[v]; !ok || !counted {
			continue
		}
		tops[v] += c.model.most(i, everyone)
		if _, in := most[i]; in {
			takes[v] += most[i]
		}
	}
	lowest := -1
	for v, n := range tops {
		if top := have[v] + n; lowest < 0 || top < lowest {
			lowest = top
		}
	}
	if counts.TooFew {
		lowest = 0
	}
	var parts []proof.Part
	for _, v := range slices.Sorted(maps.Keys(takes)) {
		if n := min(takes[v], max(0, int(t.MaxSkew)+lowest-have[v])); n > 0 {
			parts = append(parts, proof.Part{Name: v, Most: n})
		}
	}
	r := c.result(proof.Spread, parts)
	if r != nil {
		r.Key = t.TopologyKey
	}
	return r
}
