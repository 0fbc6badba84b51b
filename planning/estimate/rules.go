package estimate

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release/plugins"
)

// alike are the filters of which the answer about a node does not change when a copy of the pod comes there, but for the resources.
var alike = []string{
	plugins.NodeUnschedulable, plugins.NodeName, plugins.TaintToleration, plugins.NodeAffinity, plugins.NodeDeclaredFeatures,
	plugins.NodeResourcesFit,
}

// counting are the filters that refuse a pod on a node, once a copy has come there, for as long as more copies come.
var counting = []string{plugins.NodePorts, plugins.InterPodAffinity, plugins.PodTopologySpread}

// promised are the filters that read what the cluster holds for a pod, its claims and reservations, so that a what-if cannot add a copy.
var promised = []string{
	plugins.VolumeRestrictions, plugins.NodeVolumeLimits, plugins.VolumeBinding, plugins.VolumeZone, plugins.DynamicResources,
}

// way returns how copies of the pod are counted.
func (s *side) way() way {
	fit, _ := s.later.fit()
	switch {
	case s.first.has(promised...):
		return byPlacing
	case fit == nil || !s.later.alike():
		return byTrial
	default:
		return byArithmetic
	}
}

// alike reports whether the filters, but for the resources, say the same when a copy of the pod has come to a node.
func (a *asked) alike() bool {
	return !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool {
		return !slices.Contains(alike, p.Name()) && (p.Name() != plugins.InterPodAffinity || antiTerms(a.pod)) // what others refuse does not change
	})
}

// steady reports whether a node that refuses the pod beside some copies refuses it beside more of them.
func (a *asked) steady() bool {
	return !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool {
		return !slices.Contains(alike, p.Name()) && !slices.Contains(counting, p.Name())
	})
}

// antiTerms reports whether a pod keeps others away.
func antiTerms(pod *v1.Pod) bool {
	_, anti := podinfo.PodAffinity(pod)
	return anti != nil && len(anti.RequiredDuringSchedulingIgnoredDuringExecution) > 0
}

// terms reports whether a pod has required terms about other pods.
func terms(pod *v1.Pod) bool {
	affinity, _ := podinfo.PodAffinity(pod)
	return antiTerms(pod) || affinity != nil && len(affinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
}

// inner returns the pod without its hard rules over domains larger than a node; the pod itself when it has none.
func (e *Estimator) inner(pod *v1.Pod) *v1.Pod {
	out := *pod
	large := e.large()
	out.Spec.TopologySpreadConstraints = slices.DeleteFunc(slices.Clone(pod.Spec.TopologySpreadConstraints), func(t v1.TopologySpreadConstraint) bool {
		return t.WhenUnsatisfiable == v1.DoNotSchedule && large(t.TopologyKey)
	})
	changed := len(out.Spec.TopologySpreadConstraints) < len(pod.Spec.TopologySpreadConstraints)
	if changed && len(out.Spec.TopologySpreadConstraints) == 0 {
		// A pod without constraints has those of the profile: a soft one, which filters nothing, keeps them away.
		out.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway}}
	}
	if pod.Spec.Affinity == nil {
		if changed {
			return &out
		}
		return pod
	}
	less := *pod.Spec.Affinity
	out.Spec.Affinity = &less
	strip := func(list []v1.PodAffinityTerm) []v1.PodAffinityTerm {
		left := slices.DeleteFunc(slices.Clone(list), func(t v1.PodAffinityTerm) bool { return large(t.TopologyKey) })
		changed = changed || len(left) < len(list)
		return left
	}
	if a := less.PodAffinity; a != nil {
		b := *a
		b.RequiredDuringSchedulingIgnoredDuringExecution = strip(a.RequiredDuringSchedulingIgnoredDuringExecution)
		less.PodAffinity = &b
	}
	if a := less.PodAntiAffinity; a != nil {
		b := *a
		b.RequiredDuringSchedulingIgnoredDuringExecution = strip(a.RequiredDuringSchedulingIgnoredDuringExecution)
		less.PodAntiAffinity = &b
	}
	if changed {
		return &out
	}
	return pod
}

// large returns a function that reports whether two nodes have the same value of a label.
func (e *Estimator) large() func(key string) bool {
	known := map[string]bool{}
	return func(key string) bool {
		is, ok := known[key]
		if !ok {
			_, domains, have := e.snapshot.Domains(key)
			is = have > domains
			known[key] = is
		}
		return is
	}
}
