package conformance

import (
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// The test compares preemption on full clusters, with budgets and nominated pods, and on clusters in which preemption often
// does not help.
func TestPreemption(t *testing.T) {
	run(t, gen.Count(800, 20), func(seed int64) *gen.Cluster { return gen.Of(seed, preemptible(seed)) },
		defaultProfile(t), (*compare.Side).Preemption)
}

// The best victims are never worse than kube-scheduler's, and kube-scheduler accepts the pod without them. The share of the long run is
// 50: 100,000 of 200,000 clusters.
func TestBestVictims(t *testing.T) {
	run(t, gen.Count(300, 50), func(seed int64) *gen.Cluster { return gen.Of(seed, preemptible(seed)) },
		defaultProfile(t), (*compare.Side).Optimal)
}

// Victims on several nodes (CrossNode): kube-scheduler places the pod when they are gone, and not when one of them stays. Every pod
// keeps apart from pods like a running pod, in its zone.
func TestAcrossVictims(t *testing.T) {
	run(t, gen.Count(200, 20), func(seed int64) *gen.Cluster {
		c := gen.Of(seed, gen.Shape{Nodes: 4, Running: 24, Urgent: true, Focus: []gen.Focus{gen.Resources, gen.PodAffinity, gen.Spread}[seed%3]})
		for k, p := range c.Pending {
			for _, q := range c.Pods {
				keys := slices.Sorted(maps.Keys(q.Labels))
				if len(keys) > 0 && q.DeletionTimestamp == nil && (seed+int64(k))%4 > 0 {
					keepApart(p, q.Namespace, keys[0], q.Labels[keys[0]])
				}
			}
		}
		return c
	}, defaultProfile(t), (*compare.Side).Across)
}

// keepApart gives a pod required anti-affinity to the pods of a namespace with a label, in its zone.
func keepApart(p *v1.Pod, namespace, key, value string) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	p.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: v1.LabelTopologyZone, Namespaces: []string{namespace}, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	}}}
}

// Gangs with victims: kube-scheduler accepts every pod of the gang on its node when the victims are gone.
func TestGangs(t *testing.T) {
	run(t, gen.Count(200, 20), func(seed int64) *gen.Cluster {
		c := gen.Of(seed, preemptible(seed/2*10+seed%2*4)) // crowded, or with inter-pod affinity
		for _, p := range c.Pending {
			p.Spec.PreemptionPolicy = nil
			if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil { // an unreadable preference ends a decision with an error
				a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
			}
		}
		return c
	}, defaultProfile(t), (*compare.Side).Gang)
}

func preemptible(seed int64) gen.Shape {
	s := gen.Shape{Nodes: 5, Running: 20, Crowded: true}
	switch seed % 10 {
	case 1, 2:
		s.Nominated = true
	case 3:
		s.Volumes, s.Focus = true, gen.Volumes
	case 4:
		s.Crowded, s.Urgent, s.Focus = false, true, gen.PodAffinity
	case 5:
		s.Crowded, s.Urgent, s.Focus = false, true, gen.Spread
	case 6:
		s.Crowded, s.Urgent, s.Volumes, s.Focus = false, true, true, gen.Volumes
	case 7:
		s.Crowded, s.Urgent, s.Focus = false, true, gen.Resources|gen.OddResources
	case 8:
		s.Crowded, s.Urgent, s.Nominated = false, true, true
	}
	return s
}
