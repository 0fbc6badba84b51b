package affinity_test

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// oracle is a slow implementation of inter-pod affinity: maps by (key, value) over API objects.
type oracle struct {
	world                    *world
	pod                      *v1.Pod
	options                  affinity.PodOptions
	affinity, anti           []v1.PodAffinityTerm
	preferred, preferredAnti []v1.WeightedPodAffinityTerm
	countA, countN, countE   map[[2]string]int
	score                    map[[2]string]int64
	ignoreMoves              bool
}

func newOracle(w *world, p *v1.Pod, options affinity.PodOptions) *oracle {
	o := &oracle{world: w, pod: p, options: options, countA: map[[2]string]int{}, countN: map[[2]string]int{},
		countE: map[[2]string]int{}, score: map[[2]string]int64{}}
	o.affinity, o.anti, o.preferred, o.preferredAnti = lists(p)
	for i, n := range w.nodes {
		if n == nil {
			continue
		}
		for _, e := range w.pods[i] {
			o.move(e, n, 1)
			o.addScore(e, n)
		}
	}
	o.ignoreMoves = len(o.affinity) == 0 && len(o.anti) == 0 && len(o.countE) == 0
	return o
}

func lists(p *v1.Pod) (a, n []v1.PodAffinityTerm, pa, pn []v1.WeightedPodAffinityTerm) {
	if f := p.Spec.Affinity; f != nil {
		if f.PodAffinity != nil {
			a, pa = f.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, f.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
		if f.PodAntiAffinity != nil {
			n, pn = f.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, f.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
	}
	return a, n, pa, pn
}

// selects evaluates a label selector that can be converted.
func selects(s *metav1.LabelSelector, labels map[string]string) bool {
	if s == nil {
		return false
	}
	for k, v := range s.MatchLabels {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	for _, r := range s.MatchExpressions {
		have, ok := labels[r.Key]
		var holds bool
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			holds = ok && slices.Contains(r.Values, have)
		case metav1.LabelSelectorOpNotIn:
			holds = !ok || !slices.Contains(r.Values, have)
		case metav1.LabelSelectorOpExists:
			holds = ok
		case metav1.LabelSelectorOpDoesNotExist:
			holds = !ok
		}
		if !holds {
			return false
		}
	}
	return true
}

func convertible(s *metav1.LabelSelector) bool {
	if s == nil {
		return true
	}
	for _, r := range s.MatchExpressions {
		switch r.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(r.Values) == 0 {
				return false
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if len(r.Values) > 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func usable[T any](list []T, term func(T) v1.PodAffinityTerm) bool {
	for _, t := range list {
		if x := term(t); !convertible(x.LabelSelector) || !convertible(x.NamespaceSelector) {
			return false
		}
	}
	return true
}

func plainTerm(t v1.PodAffinityTerm) v1.PodAffinityTerm            { return t }
func weightedTerm(t v1.WeightedPodAffinityTerm) v1.PodAffinityTerm { return t.PodAffinityTerm }

// incomingMatches matches a term of the incoming pod with any pod.
func (o *oracle) incomingMatches(t v1.PodAffinityTerm, e *v1.Pod) bool {
	return o.inScope(t, e.Namespace) && selects(t.LabelSelector, e.Labels)
}

func (o *oracle) inScope(t v1.PodAffinityTerm, namespace string) bool {
	if slices.Contains(t.Namespaces, namespace) {
		return true
	}
	s := t.NamespaceSelector
	if s == nil {
		return len(t.Namespaces) == 0 && namespace == o.pod.Namespace
	}
	if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		return true
	}
	if !o.options.Release.AtLeast(release.V1_37) && selects(s, nil) {
		return true
	}
	labels, known := o.world.namespaces[namespace]
	return known && selects(s, labels)
}

// runningMatches matches a term of a running pod with the incoming pod.
func (o *oracle) runningMatches(t v1.PodAffinityTerm, owner *v1.Pod) bool {
	var scope bool
	switch {
	case slices.Contains(t.Namespaces, o.pod.Namespace):
		scope = true
	case t.NamespaceSelector != nil:
		scope = selects(t.NamespaceSelector, o.world.namespaces[o.pod.Namespace])
	default:
		scope = len(t.Namespaces) == 0 && owner.Namespace == o.pod.Namespace
	}
	return scope && selects(t.LabelSelector, o.pod.Labels)
}

func (o *oracle) matchesAll(e *v1.Pod) bool {
	for _, t := range o.affinity {
		if !o.incomingMatches(t, e) {
			return false
		}
	}
	return len(o.affinity) > 0
}

func bump(m map[[2]string]int, key, value string, n int) {
	m[[2]string{key, value}] += n
	if m[[2]string{key, value}] == 0 {
		delete(m, [2]string{key, value})
	}
}

// move adds a running pod to the filter's counts, or removes it.
func (o *oracle) move(e *v1.Pod, node *v1.Node, n int) {
	if o.ignoreMoves {
		return
	}
	_, anti, _, _ := lists(e)
	if usable(anti, plainTerm) {
		for _, t := range anti {
			if v, ok := node.Labels[t.TopologyKey]; ok && o.runningMatches(t, e) {
				bump(o.countE, t.TopologyKey, v, n)
			}
		}
	}
	if o.matchesAll(e) {
		for _, t := range o.affinity {
			if v, ok := node.Labels[t.TopologyKey]; ok {
				bump(o.countA, t.TopologyKey, v, n)
			}
		}
	}
	for _, t := range o.anti {
		if v, ok := node.Labels[t.TopologyKey]; ok && o.incomingMatches(t, e) {
			bump(o.countN, t.TopologyKey, v, n)
		}
	}
}

func (o *oracle) addScore(e *v1.Pod, node *v1.Node) {
	if o.options.IgnorePreferredTermsOfExistingPods && len(o.preferred)+len(o.preferredAnti) == 0 {
		return
	}
	hard := int64(1)
	if o.options.HardPodAffinityWeight != nil {
		hard = int64(*o.options.HardPodAffinityWeight)
	}
	add := func(key string, w int64) {
		if v, ok := node.Labels[key]; ok {
			o.score[[2]string{key, v}] += w
		}
	}
	for _, t := range o.preferred {
		if o.incomingMatches(t.PodAffinityTerm, e) {
			add(t.PodAffinityTerm.TopologyKey, int64(t.Weight))
		}
	}
	for _, t := range o.preferredAnti {
		if o.incomingMatches(t.PodAffinityTerm, e) {
			add(t.PodAffinityTerm.TopologyKey, -int64(t.Weight))
		}
	}
	required, _, preferred, preferredAnti := lists(e)
	if usable(required, plainTerm) && hard > 0 {
		for _, t := range required {
			if o.runningMatches(t, e) {
				add(t.TopologyKey, hard)
			}
		}
	}
	if usable(preferred, weightedTerm) {
		for _, t := range preferred {
			if o.runningMatches(t.PodAffinityTerm, e) {
				add(t.PodAffinityTerm.TopologyKey, int64(t.Weight))
			}
		}
	}
	if usable(preferredAnti, weightedTerm) {
		for _, t := range preferredAnti {
			if o.runningMatches(t.PodAffinityTerm, e) {
				add(t.PodAffinityTerm.TopologyKey, -int64(t.Weight))
			}
		}
	}
}

func (o *oracle) parses() bool {
	return usable(o.affinity, plainTerm) && usable(o.anti, plainTerm) &&
		usable(o.preferred, weightedTerm) && usable(o.preferredAnti, weightedTerm)
}

func (o *oracle) check(i int) resources.Verdict {
	if !o.parses() {
		return affinity.Unparsable
	}
	labels := o.world.nodes[i].Labels
	met := true
	for _, t := range o.affinity {
		v, ok := labels[t.TopologyKey]
		if !ok {
			return affinity.PodAffinity
		}
		met = met && o.countA[[2]string{t.TopologyKey, v}] > 0
	}
	if !met && (len(o.countA) > 0 || !o.matchesAll(o.pod)) {
		return affinity.PodAffinity
	}
	for _, t := range o.anti {
		if v, ok := labels[t.TopologyKey]; ok && o.countN[[2]string{t.TopologyKey, v}] > 0 {
			return affinity.PodAntiAffinity
		}
	}
	for k, v := range labels {
		if o.countE[[2]string{k, v}] > 0 {
			return affinity.ExistingAntiAffinity
		}
	}
	return 0
}

func (o *oracle) raw(i int) int64 {
	var sum int64
	for k, v := range o.world.nodes[i].Labels {
		sum += o.score[[2]string{k, v}]
	}
	return sum
}
