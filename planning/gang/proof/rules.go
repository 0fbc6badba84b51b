package proof

import (
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/spread"
)

// filters reports whether the profile has a filter.
func (c *checker) filters(name string) bool {
	return slices.ContainsFunc(c.Profile.Filters, func(f *placement.Plugin) bool { return f.Name == name })
}

// repel reports whether every member has a required anti-affinity by the key to every other.
func (c *checker) repel(members []int, key string) bool {
	if key == "" || !c.filters(plugins.InterPodAffinity) {
		return false
	}
	for _, k := range members {
		a := c.Members[k].Spec.Affinity
		if a == nil || a.PodAntiAffinity == nil || !slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t v1.PodAffinityTerm) bool {
			return t.TopologyKey == key && len(t.Namespaces) == 0 && t.NamespaceSelector == nil && len(t.MatchLabelKeys) == 0 && len(t.MismatchLabelKeys) == 0 &&
				c.selects(t.LabelSelector, members)
		}) {
			return false
		}
	}
	return true
}

// selects reports whether a selector matches all members.
func (c *checker) selects(selector *metav1.LabelSelector, members []int) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !slices.ContainsFunc(members, func(k int) bool { return !s.Matches(labels.Set(c.Members[k].Labels)) })
}

// byValue returns the slots by value of a label; none has those without it.
func (c *checker) byValue(slots []int, key string) (values map[string][]int, none []int) {
	values = map[string][]int{}
	for _, i := range slots {
		if v, ok := c.s.Node(i).Labels[key]; ok {
			values[v] = append(values[v], i)
		} else {
			none = append(none, i)
		}
	}
	return values, none
}

// sum returns what some slots take together.
func (c *checker) sum(members, slots []int) (sum int) {
	for _, i := range slots {
		sum += c.most(members, i)
	}
	return sum
}

// apart counts one member for each value of the key that takes any. Anti-affinity does not bind nodes without the label.
func (c *checker) apart(members, slots []int, key string, r *Room) {
	values, none := c.byValue(slots, key)
	for _, v := range slices.Sorted(maps.Keys(values)) {
		r.add(v, min(1, c.sum(members, values[v])))
	}
	for _, i := range none {
		r.add(c.s.Node(i).Name, c.most(members, i))
	}
}

// spread counts for each value of the key what the constraint of the members allows, if the value with the fewest pods gets as many as it
// takes. All members must have the same rules for nodes and a constraint that selects them all. It says why it cannot count.
func (c *checker) spread(members, slots []int, key string, r *Room) string {
	switch {
	case key == "" || !c.filters(plugins.PodTopologySpread):
		return "no constraint"
	case len(members) == 0:
		return "no members"
	}
	first := c.Members[members[0]]
	skew := int32(0)
	for _, k := range members {
		pod := c.Members[k]
		at := slices.IndexFunc(pod.Spec.TopologySpreadConstraints, func(t v1.TopologySpreadConstraint) bool {
			return t.TopologyKey == key && t.WhenUnsatisfiable == v1.DoNotSchedule && len(t.MatchLabelKeys) == 0 && c.selects(t.LabelSelector, members)
		})
		if at < 0 {
			return "not every member has a DoNotSchedule constraint that selects all members"
		}
		if !reflect.DeepEqual(pod.Spec.TopologySpreadConstraints, first.Spec.TopologySpreadConstraints) || !reflect.DeepEqual(pod.Spec.NodeSelector, first.Spec.NodeSelector) ||
			!reflect.DeepEqual(nodeRules(pod), nodeRules(first)) || !reflect.DeepEqual(pod.Spec.Tolerations, first.Spec.Tolerations) {
			return "members have different rules for nodes"
		}
		t := pod.Spec.TopologySpreadConstraints[at]
		if t.NodeTaintsPolicy != nil || t.NodeAffinityPolicy != nil || len(pod.Spec.NodeSelector) > 0 || nodeRules(pod) != nil || len(pod.Spec.TopologySpreadConstraints) > 1 {
			return "the constraint leaves out nodes"
		}
		skew = t.MaxSkew
	}
	hard, err := spread.CompileHard(first, spread.Options{})
	if err != nil {
		return err.Error()
	}
	counts := hard.Count(c.s).Report()[0]
	have := map[string]int{}
	for _, d := range counts.Domains {
		have[d.Value] = d.Pods
	}
	everyone := make([]int, len(c.Members))
	for k := range everyone {
		everyone[k] = k
	}
	all, _ := c.byValue(c.slots(), key)
	lowest := -1
	for v, list := range all {
		if _, counted := have[v]; !counted {
			continue
		}
		if top := have[v] + c.sum(everyone, list); lowest < 0 || top < lowest {
			lowest = top
		}
	}
	if counts.TooFew {
		lowest = 0
	}
	values, _ := c.byValue(slots, key)
	for _, v := range slices.Sorted(maps.Keys(values)) {
		r.add(v, min(c.sum(members, values[v]), max(0, int(skew)+lowest-have[v])))
	}
	return ""
}

// nodeRules returns the required node affinity of a pod.
func nodeRules(pod *v1.Pod) *v1.NodeSelector {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}
