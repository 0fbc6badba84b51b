package lint

import (
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

var wishRules = []Rule{
	{ID: "weight-lost", Severity: Warning, Summary: "a preferred node affinity term is so light that rounding takes it away", work: func(c *checker, w *work) {
		a := podinfo.NodeAffinity(w.pod)
		if a == nil {
			return
		}
		list := a.PreferredDuringSchedulingIgnoredDuringExecution
		sum := int64(0)
		for _, t := range list {
			sum += int64(t.Weight)
		}
		for i, t := range list {
			if sum > 100*int64(t.Weight) {
				c.report(w.path+fmt.Sprintf(preferredPath+".weight", i), fmt.Sprintf("at least %d", (sum+99)/100), "scores go from 0 to 100 of %d, so that weight %d can be less than one point", sum, t.Weight)
			}
		}
	}},
	{ID: "preference-drowned", Severity: Warning, Cluster: true, Summary: "all nodes of a preferred node affinity term have taints PreferNoSchedule, whose score outweighs any preference", work: func(c *checker, w *work) {
		a := podinfo.NodeAffinity(w.pod)
		if a == nil {
			return
		}
		for i, t := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			if lead, most := c.drowned(w, t.Preference); lead > most {
				c.report(w.path+fmt.Sprintf(preferredPath, i), "require the label, or prefer nodes without such a taint", "another node without such a taint is %d points ahead by TaintToleration, and NodeAffinity gives %d at most", lead, most)
			}
		}
	}},
	{ID: "duplicate-term", Severity: Info, Summary: "two preferred node affinity terms are equal", work: func(c *checker, w *work) {
		a := podinfo.NodeAffinity(w.pod)
		if a == nil {
			return
		}
		list := a.PreferredDuringSchedulingIgnoredDuringExecution
		for i := range list {
			for k := range i {
				if reflect.DeepEqual(list[i].Preference, list[k].Preference) {
					c.report(w.path+fmt.Sprintf(preferredPath, i), "one term with the sum of the weights", "the term is equal to term %d", k)
				}
			}
		}
	}},
	{ID: "prefers-and-forbids", Severity: Warning, Summary: "a preferred pod affinity term has the selector and topology key of required anti-affinity", work: func(c *checker, w *work) {
		with, _ := podinfo.PodAffinity(w.pod)
		if with == nil {
			return
		}
		for i, t := range with.PreferredDuringSchedulingIgnoredDuringExecution {
			for _, r := range requiredApart(w.pod) {
				if t.PodAffinityTerm.TopologyKey == r.TopologyKey && reflect.DeepEqual(t.PodAffinityTerm.LabelSelector, r.LabelSelector) {
					c.report(fmt.Sprintf("%s.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d]", w.path, i), "drop one of them", "the wish is never granted: anti-affinity forbids it")
				}
			}
		}
	}},
	{ID: "preference-key-missing", Severity: Warning, Cluster: true, Summary: "no node has the topology key of a preferred (anti-)affinity term", work: func(c *checker, w *work) {
		check := func(name string, list func(p *v1.Pod) []v1.WeightedPodAffinityTerm) {
			for i, t := range list(w.pod) {
				if len(c.valuesOf(t.PodAffinityTerm.TopologyKey)) == 0 {
					fix := c.otherKey(w, t.PodAffinityTerm.TopologyKey, "drop the term", func(s *v1.PodSpec) *string {
						terms := list(&v1.Pod{Spec: *s})
						if i >= len(terms) {
							return nil
						}
						return &terms[i].PodAffinityTerm.TopologyKey
					})
					c.report(fmt.Sprintf("%s.affinity.%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", w.path, name, i), fix, "no node has the label %s%s", t.PodAffinityTerm.TopologyKey, c.nearKey(t.PodAffinityTerm.TopologyKey))
				}
			}
		}
		check("podAffinity", func(p *v1.Pod) []v1.WeightedPodAffinityTerm {
			if with, _ := podinfo.PodAffinity(p); with != nil {
				return with.PreferredDuringSchedulingIgnoredDuringExecution
			}
			return nil
		})
		check("podAntiAffinity", func(p *v1.Pod) []v1.WeightedPodAffinityTerm {
			if _, apart := podinfo.PodAffinity(p); apart != nil {
				return apart.PreferredDuringSchedulingIgnoredDuringExecution
			}
			return nil
		})
	}},
	{ID: "loop-soft-spread", Severity: Info, Descheduler: true, Summary: "a descheduler that evicts for soft spread constraints of several workloads can go in circles", work: func(c *checker, w *work) {
		for i, t := range w.pod.Spec.TopologySpreadConstraints {
			if t.WhenUnsatisfiable != v1.ScheduleAnyway {
				continue
			}
			for _, o := range c.works {
				for _, u := range o.pod.Spec.TopologySpreadConstraints {
					if o != w && u.WhenUnsatisfiable == v1.ScheduleAnyway && u.TopologyKey == t.TopologyKey {
						c.report(w.path+fmt.Sprintf(spreadPath, i), "DoNotSchedule, or a descheduler that leaves soft constraints alone", "%s has a soft constraint on %s too: other scores may outweigh it, so that an evicted pod comes back to its domain", o.object, t.TopologyKey)
						return
					}
				}
			}
		}
	}},
	{ID: "loop-preferred-node", Severity: Info, Cluster: true, Descheduler: true, Summary: "a descheduler that evicts for preferred node affinity cannot improve pods whose preferred nodes are too few", work: func(c *checker, w *work) {
		for i, s := range preferred(w.pod) {
			n, room := 0, 0
			for _, node := range c.reachable(w) {
				if s.Matches(node) {
					n, room = n+1, room+times(w, node)
				}
			}
			if n > 0 && n < len(c.nodes) && room < w.replicas {
				c.report(w.path+fmt.Sprintf(preferredPath, i), "more preferred nodes, or no eviction for preferences", "%s at most %d of %d replicas: an evicted pod comes back to a node that it does not prefer", amount(n, "preferred node holds", "preferred nodes hold"), room, w.replicas)
			}
		}
	}},
	{ID: "loop-duplicates", Severity: Info, Cluster: true, Descheduler: true, Summary: "a descheduler that removes duplicates finds them again, because replicas outnumber nodes", work: func(c *checker, w *work) {
		if n := len(c.reachable(w)); n > 0 && w.replicas > n && w.kind != "Job" && w.kind != "Pod" && c.fits(w) {
			c.report("spec.replicas", "exclude the workload from the removal of duplicates", "%d replicas on %s: some node always has two", w.replicas, amount(n, "node", "nodes"))
		}
	}},
}

// drowned returns by how many points a node without a taint PreferNoSchedule is ahead of every node that a preferred term matches,
// and the most that NodeAffinity can give; 0 when there is no such node, or the term matches none.
func (c *checker) drowned(w *work, preference v1.NodeSelectorTerm) (lead, most int64) {
	s, err := affinity.CompileSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{preference}})
	if err != nil {
		return 0, 0
	}
	var counts []int64 // of the nodes that the term matches
	var largest int64
	other := false
	for _, n := range c.reachable(w) {
		have := soft(w.pod, n, c.in.Plugins.Taints)
		largest = max(largest, have)
		if s.Matches(n) {
			counts = append(counts, have)
		} else if have == 0 {
			other = true
		}
	}
	if len(counts) == 0 || !other {
		return 0, 0
	}
	fewest := slices.Min(counts)
	if fewest == 0 {
		return 0, 0
	}
	for _, x := range placement.DefaultProfile().Scores {
		switch x.Name {
		case "TaintToleration":
			lead = x.Weight * (100 * fewest / largest)
		case "NodeAffinity":
			most = 100 * x.Weight
		}
	}
	return lead, most
}

// soft is the number of the taints PreferNoSchedule of a node that a pod does not tolerate.
func soft(p *v1.Pod, n *v1.Node, o taints.Options) (count int64) {
	for _, t := range n.Spec.Taints {
		if t.Effect == v1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(p.Spec.Tolerations, func(x v1.Toleration) bool { return taints.Matches(&x, &t, o) }) {
			count++
		}
	}
	return count
}
