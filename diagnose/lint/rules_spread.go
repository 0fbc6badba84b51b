package lint

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/spread"
)

const spreadPath = ".topologySpreadConstraints[%d]"

// ownLabel is a label that no pod has, for trials.
const ownLabel = "podberth.io/own"

// hard calls f for each DoNotSchedule constraint.
func hard(w *work, f func(i int, t v1.TopologySpreadConstraint)) {
	for i, t := range w.pod.Spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == v1.DoNotSchedule {
			f(i, t)
		}
	}
}

// keyOf is the fix of a constraint whose key no node has.
func (c *checker) keyOf(w *work, i int) string {
	return c.otherKey(w, w.pod.Spec.TopologySpreadConstraints[i].TopologyKey, "drop the constraint", func(s *v1.PodSpec) *string {
		if i >= len(s.TopologySpreadConstraints) {
			return nil
		}
		return &s.TopologySpreadConstraints[i].TopologyKey
	})
}

// counted is the domains of a constraint.
type counted struct {
	values map[string]bool
	tooFew bool // fewer than minDomains
}

// countedKey is what decides the domains of a constraint.
type countedKey struct {
	reach            *reach
	keys             string // the topology keys of the hard constraints
	at               int    // the constraint among them
	affinity, taints v1.NodeInclusionPolicy
	minDomains       int32
}

// counted returns the domains that package spread counts for a constraint: t in the place of constraint i of the workload.
func (c *checker) counted(w *work, i int, t v1.TopologySpreadConstraint) counted {
	key := countedKey{reach: c.reach(w), minDomains: podinfo.MinDomains(&t)}
	if t.NodeAffinityPolicy != nil {
		key.affinity = *t.NodeAffinityPolicy
	}
	if t.NodeTaintsPolicy != nil {
		key.taints = *t.NodeTaintsPolicy
	}
	pod := &v1.Pod{Spec: v1.PodSpec{NodeSelector: w.pod.Spec.NodeSelector, Affinity: w.pod.Spec.Affinity, Tolerations: w.pod.Spec.Tolerations}}
	hard(w, func(k int, o v1.TopologySpreadConstraint) {
		if k == i {
			o, key.at = t, len(pod.Spec.TopologySpreadConstraints)
		}
		key.keys += o.TopologyKey + "\x00"
		o.LabelSelector, o.MatchLabelKeys = nil, nil // the pods do not matter
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, o)
	})
	if known, ok := c.spreads[key]; ok {
		return known
	}
	report := must.Get(spread.CompileHard(pod, spread.Options{})).Count(c.snap).Report()[key.at]
	out := counted{map[string]bool{}, report.TooFew}
	for _, d := range report.Domains {
		out.values[d.Value] = true
	}
	if c.spreads == nil {
		c.spreads = map[countedKey]counted{}
	}
	c.spreads[key] = out
	return out
}

// blocked finds domains that a constraint counts and the pod cannot reach: they keep the smallest count at 0, so that each
// reachable domain takes maxSkew pods.
func (c *checker) blocked(w *work, i int, t v1.TopologySpreadConstraint) (unreachable []string, room int) {
	all := c.counted(w, i, t).values
	reach := domains(c.reachable(w), t.TopologyKey)
	for v := range all {
		if !reach[v] {
			unreachable = append(unreachable, v)
		}
	}
	slices.Sort(unreachable)
	return unreachable, (len(all) - len(unreachable)) * int(t.MaxSkew)
}

// honor is the fix of a constraint with nodeTaintsPolicy Honor. Fewer domains than minDomains would stop it as much as an empty one.
func (c *checker) honor(w *work, i int, t v1.TopologySpreadConstraint) string {
	all := c.counted(w, i, t)
	if n := len(all.values); n > 0 && all.tooFew {
		return fmt.Sprintf("nodeTaintsPolicy: Honor and minDomains: %d together", n)
	}
	return "nodeTaintsPolicy: Honor"
}

// tooFew reports whether the domains of a constraint are fewer than minDomains, and their number. Where no node has the key, a constraint
// without minDomains has a rule of its own (spread-key-missing).
func (c *checker) tooFew(w *work, i int, t v1.TopologySpreadConstraint) (n int, few bool) {
	all := c.counted(w, i, t)
	n = len(all.values)
	return n, all.tooFew && (n > 0 || t.MinDomains != nil)
}

// domainsFor is the fix of a minDomains beyond n domains. The API server refuses minDomains 0.
func domainsFor(n int) string {
	if n == 0 {
		return "more domains"
	}
	return fmt.Sprintf("minDomains %d, or more domains", n)
}

// smaller is the fix of a maxSkew that allows all replicas in one domain.
func (c *checker) smaller(w *work, i int) string {
	for _, skew := range []int{1, w.replicas - 1} {
		if !c.breaks(w, func(t *v1.PodTemplateSpec) { t.Spec.TopologySpreadConstraints[i].MaxSkew = int32(skew) }) {
			return fmt.Sprintf("maxSkew %d", skew)
		}
	}
	return "drop the constraint"
}

var spreadRules = []Rule{
	{ID: "spread-self-mismatch", Severity: Warning, Summary: "a pod does not match the selector of its own spread constraint", work: func(c *checker, w *work) {
		for i, t := range w.pod.Spec.TopologySpreadConstraints {
			if t.LabelSelector != nil && !selects(t.LabelSelector, w.pod.Labels) {
				fix := "select labels of the pod template"
				if c.breaks(w, func(t *v1.PodTemplateSpec) {
					t.Spec.TopologySpreadConstraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: w.pod.Labels}
				}) {
					fix = "drop the constraint"
				}
				c.report(w.path+fmt.Sprintf(spreadPath, i)+".labelSelector", fix, "the replicas are not counted, so that they are not spread")
			}
		}
	}},
	{ID: "spread-no-selector", Severity: Warning, Summary: "a spread constraint without a label selector counts no pod", work: func(c *checker, w *work) {
		for i, t := range w.pod.Spec.TopologySpreadConstraints {
			if t.LabelSelector == nil {
				c.report(w.path+fmt.Sprintf(spreadPath, i), "write a labelSelector", "nothing is counted, and nothing is spread")
			}
		}
	}},
	{ID: "spread-key-missing", Severity: Error, Cluster: true, Summary: "no node has the topology key of a DoNotSchedule constraint", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			if len(c.valuesOf(t.TopologyKey)) == 0 {
				c.prove(w, w.path+fmt.Sprintf(spreadPath, i)+".topologyKey", c.keyOf(w, i), "no node has the label %s%s", t.TopologyKey, c.nearKey(t.TopologyKey))
			}
		})
	}},
	{ID: "spread-key-missing-soft", Severity: Warning, Cluster: true, Summary: "no node has the topology key of a ScheduleAnyway constraint", work: func(c *checker, w *work) {
		for i, t := range w.pod.Spec.TopologySpreadConstraints {
			if t.WhenUnsatisfiable == v1.ScheduleAnyway && len(c.valuesOf(t.TopologyKey)) == 0 {
				c.report(w.path+fmt.Sprintf(spreadPath, i)+".topologyKey", c.keyOf(w, i), "no node has the label %s%s: the constraint does nothing", t.TopologyKey, c.nearKey(t.TopologyKey))
			}
		}
	}},
	{ID: "min-domains", Severity: Error, Cluster: true, Summary: "minDomains beyond the domains, and more replicas than maxSkew allows then", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			n, few := c.tooFew(w, i, t)
			if few && w.replicas > n*int(t.MaxSkew) && selects(t.LabelSelector, w.pod.Labels) {
				c.prove(w, w.path+fmt.Sprintf(spreadPath, i)+".minDomains", domainsFor(n), "%s fewer than minDomains %d, so that each takes %d of the pods: %d of %d replicas", amount(n, "domain is", "domains are"), podinfo.MinDomains(&t), t.MaxSkew, n*int(t.MaxSkew), w.replicas)
			}
		})
	}},
	{ID: "min-domains-later", Severity: Warning, Cluster: true, Summary: "minDomains beyond the domains blocks later replicas", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			n, few := c.tooFew(w, i, t)
			if few && w.replicas <= n*int(t.MaxSkew) {
				c.report(w.path+fmt.Sprintf(spreadPath, i)+".minDomains", domainsFor(n), "there %s; replica %d would find no node", map[bool]string{true: "is 1 domain", false: fmt.Sprintf("are %d domains", n)}[n == 1], n*int(t.MaxSkew)+1)
			}
		})
	}},
	{ID: "spread-taints-policy", Severity: Error, Cluster: true, Summary: "a spread constraint counts domains whose nodes the pod does not tolerate", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			bad, room := c.blocked(w, i, t)
			if len(bad) == 0 || w.replicas <= room {
				return
			}
			honor := v1.NodeInclusionPolicyHonor
			t.NodeTaintsPolicy = &honor
			if better, _ := c.blocked(w, i, t); len(bad) > len(better) && selects(t.LabelSelector, w.pod.Labels) {
				c.prove(w, w.path+fmt.Sprintf(spreadPath, i)+".nodeTaintsPolicy", c.honor(w, i, t), "%s %v cannot be reached and stays at 0, so that %d of %d replicas get a node", t.TopologyKey, bad, room, w.replicas)
			}
		})
	}},
	{ID: "spread-affinity-policy", Severity: Error, Cluster: true, Summary: "a spread constraint with nodeAffinityPolicy Ignore counts domains that node affinity excludes", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			if t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy != v1.NodeInclusionPolicyIgnore {
				return
			}
			bad, room := c.blocked(w, i, t)
			t.NodeAffinityPolicy = nil
			if better, _ := c.blocked(w, i, t); len(bad) > len(better) && w.replicas > room && selects(t.LabelSelector, w.pod.Labels) {
				c.prove(w, w.path+fmt.Sprintf(spreadPath, i)+".nodeAffinityPolicy", "nodeAffinityPolicy: Honor", "%s %v cannot be reached and stays at 0, so that %d of %d replicas get a node", t.TopologyKey, bad, room, w.replicas)
			}
		})
	}},
	{ID: "spread-cordoned", Severity: Error, Cluster: true, Summary: "a spread constraint counts domains whose nodes are all cordoned", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			fix := "exclude the domain by node affinity until its maintenance is over"
			if t.NodeAffinityPolicy != nil && *t.NodeAffinityPolicy == v1.NodeInclusionPolicyIgnore {
				fix = "exclude the domain by node affinity with nodeAffinityPolicy: Honor until its maintenance is over"
			}
			honor := v1.NodeInclusionPolicyHonor
			t.NodeTaintsPolicy, t.NodeAffinityPolicy = &honor, nil
			if bad, room := c.blocked(w, i, t); len(bad) > 0 && w.replicas > room && selects(t.LabelSelector, w.pod.Labels) {
				c.prove(w, w.path+fmt.Sprintf(spreadPath, i), fix, "all nodes of %s %v are cordoned, so that %d of %d replicas get a node", t.TopologyKey, bad, room, w.replicas)
			}
		})
	}},
	{ID: "spread-conflict", Severity: Error, Cluster: true, Summary: "several DoNotSchedule constraints block a replica that each alone would place", work: func(c *checker, w *work) {
		n := 0
		hard(w, func(int, v1.TopologySpreadConstraint) { n++ })
		if n < 2 || w.replicas < 2 || w.waits() != "" || c.fits(w) {
			return
		}
		if at, keys := c.conflictOf(w); at > 0 {
			c.prove(w, w.path+".topologySpreadConstraints", "make one constraint ScheduleAnyway, or raise its maxSkew", "replica %d of %d has no node with the constraints on %v together, and one with either alone", at, w.replicas, keys)
		}
	}},
	{ID: "spread-without-effect", Severity: Info, Summary: "maxSkew is so large that the constraint never rejects", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			if w.replicas > 0 && int(t.MaxSkew) >= w.replicas && w.replicas > 1 && t.MinDomains == nil {
				c.report(w.path+fmt.Sprintf(spreadPath, i)+".maxSkew", c.smaller(w, i), "maxSkew %d allows all %d replicas in one domain", t.MaxSkew, w.replicas)
			}
		})
	}},
	{ID: "spread-one-replica", Severity: Info, Cluster: true, Summary: "the spread constraints of a workload of one replica keep it from a node", work: func(c *checker, w *work) {
		if !c.fits(w) && w.replicas == 1 && w.kind != "Pod" && len(w.pod.Spec.TopologySpreadConstraints) > 0 {
			c.report(w.path+".topologySpreadConstraints", "drop the constraints, or ask for more replicas", "one replica cannot be spread")
		}
	}},
	{ID: "spread-counts-others", Severity: Warning, Summary: "the selector of a DoNotSchedule constraint counts pods of another workload", work: func(c *checker, w *work) {
		hard(w, func(i int, t v1.TopologySpreadConstraint) {
			for _, o := range c.works {
				if o != w && o.replicas != 0 && o.pod.Namespace == w.pod.Namespace && selects(t.LabelSelector, o.pod.Labels) && len(t.MatchLabelKeys) == 0 {
					fix := "select by a label that this workload alone has"
					if c.breaks(w, func(t *v1.PodTemplateSpec) {
						metav1.SetMetaDataLabel(&t.ObjectMeta, ownLabel, "")
						t.Spec.TopologySpreadConstraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{ownLabel: ""}}
					}) {
						fix = "drop the constraint"
					}
					c.report(w.path+fmt.Sprintf(spreadPath, i)+".labelSelector", fix, "pods of %s are counted too", o.object)
					return
				}
			}
		})
	}},
	{ID: "match-label-keys", Severity: Warning, Summary: "matchLabelKeys names a label that the pod does not have", work: func(c *checker, w *work) {
		for i, t := range w.pod.Spec.TopologySpreadConstraints {
			for _, k := range t.MatchLabelKeys {
				if _, ok := w.pod.Labels[k]; !ok && !(k == "pod-template-hash" && w.kind == "Deployment") && !(k == "controller-revision-hash" && (w.kind == "StatefulSet" || w.kind == "DaemonSet")) {
					c.report(w.path+fmt.Sprintf(spreadPath, i)+".matchLabelKeys", "a label that the controller sets", "the pod has no label %s: the key is ignored", k)
				}
			}
		}
	}},
}
