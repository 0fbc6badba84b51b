package diagnose

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/nodepool"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
)

// rowOf returns what a taint of a node means. Taints without a row, such as those of a person's pool, have a row without a reason.
func rowOf(n *v1.Node, t v1.Taint) taintRow {
	for _, r := range taintRows {
		if matches(r.keys, t.Key) && (r.kind != spot || t.Value != "regular" && t.Value != "standard") {
			return r
		}
	}
	if nodepool.OfAgent(n, t) {
		return startupRow
	}
	if quarantined(n, t.Key) {
		return taintRow{kind: agent, of: causeNotReady, why: whyQuarantine, says: "%s is in quarantine by " + t.Key, cure: "repair %s"}
	}
	if matches(maintenanceTaints, t.Key) {
		return taintRow{kind: pool, of: causeCordoned, says: "%s is marked by " + t.Key}
	}
	return taintRow{kind: pool, of: causeReserved, says: "%s is reserved by " + t.Key}
}

// quarantined reports whether a taint says that a node is faulty: an agent has written down that it set the taint, or the key is
// that of a condition that is True.
func quarantined(n *v1.Node, key string) bool {
	for _, c := range n.Status.Conditions {
		if string(c.Type) == key && c.Status == v1.ConditionTrue && c.Type != v1.NodeReady {
			return true
		}
	}
	for name, text := range n.Annotations {
		if matchesTail(name, quarantines[:1]) && strings.Contains(text, `"`+key+`"`) {
			return true
		}
	}
	return false
}

// matchesTail reports whether a name without its domain is one of some names.
func matchesTail(name string, tails []string) bool {
	return slices.Contains(tails, name[strings.LastIndex(name, "/")+1:])
}

// law answers what advice about one pod may say.
type law struct {
	pod     *v1.Pod
	nodes   []*v1.Node
	sibling bool // another pod of the same owner runs or waits
	bare    bool // the pod has no owner
	state   bool // the owner is a StatefulSet
}

// tolerate returns why the pod may not tolerate a taint that nodes have, "" when it may. note is what stands beside the advice.
func (l *law) tolerate(t v1.Taint) (why, note string) {
	for _, n := range l.nodes {
		if !has(n, t) {
			continue
		}
		switch r := rowOf(n, t); r.kind {
		case agent, cordon, provider:
			return r.why, ""
		case reserved:
			if l.pod.Namespace != metav1.NamespaceSystem {
				return r.why, ""
			}
			return "", ""
		case spot:
			if !l.sibling || l.bare || l.state || l.pod.Namespace == metav1.NamespaceSystem {
				return whySpot, ""
			}
			return "", "may be taken away at any time"
		}
	}
	if matches(maintenanceTaints, t.Key) {
		return whyMaintenance, ""
	}
	if !l.meant(t) {
		return whyNotMeant, ""
	}
	return "", ""
}

// meant reports whether the pod is meant for the pool that a taint reserves: it asks for the resource that the taint names or that
// only nodes with the taint offer, selects a label that only they have, or has a toleration that is nearly right.
func (l *law) meant(t v1.Taint) bool {
	only := func(of func(n *v1.Node) bool) bool { // only nodes with the taint, and one of them at least; a broken node says nothing about its pool
		found := false
		for _, n := range l.nodes {
			if of(n) && (has(n, t) || !slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return rowOf(n, t).kind == agent })) {
				if !has(n, t) {
					return false
				}
				found = true
			}
		}
		return found
	}
	meant := slices.ContainsFunc(l.pod.Spec.Tolerations, func(has v1.Toleration) bool { return nearlyTolerates(has, t) })
	overhead.Each(l.pod, overhead.Options{}, func(name v1.ResourceName, total int64) {
		if total > 0 && strings.Contains(string(name), "/") && (string(name) == t.Key || only(func(n *v1.Node) bool { q := n.Status.Allocatable[name]; return !q.IsZero() })) {
			meant = true
		}
	})
	for key, value := range l.pod.Spec.NodeSelector {
		if !matches(systemLabels, key) && only(func(n *v1.Node) bool { v, ok := n.Labels[key]; return ok && v == value }) {
			meant = true
		}
	}
	if a := podinfo.NodeAffinity(l.pod); a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil && selectsPool(a.RequiredDuringSchedulingIgnoredDuringExecution) {
		if s, err := affinity.CompileSelector(a.RequiredDuringSchedulingIgnoredDuringExecution); err == nil && only(s.Matches) {
			meant = true
		}
	}
	return meant
}

// nearlyTolerates reports whether a toleration is one of a taint but for its effect, for a value that looks alike, or for a feature gate.
func nearlyTolerates(has v1.Toleration, t v1.Taint) bool {
	if has.Key != t.Key {
		return false
	}
	if comparesNumbers(has) {
		return gated(has, t)
	}
	return has.Operator == v1.TolerationOpExists || has.Value == t.Value || near.Value(has.Value, t.Value)
}

// selectsPool reports whether a requirement is of more than the system and the architecture, which every pool may have.
func selectsPool(s *v1.NodeSelector) bool {
	return slices.ContainsFunc(s.NodeSelectorTerms, func(t v1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(t.MatchExpressions, func(r v1.NodeSelectorRequirement) bool { return !matches(systemLabels, r.Key) }) || len(t.MatchFields) > 0
	})
}

// untaint returns why a taint of a node stays, "" when it is a mark of the node that a person may take away.
func (l *law) untaint(n *v1.Node, t v1.Taint) string {
	switch r := rowOf(n, t); r.kind {
	case agent, cordon, provider, spot:
		return r.why
	case reserved:
		if (t.Key == roleControlPlane || t.Key == roleMaster) && !slices.ContainsFunc(l.nodes, func(x *v1.Node) bool { return !controlPlane(x) }) {
			return ""
		}
		return r.why
	}
	if matches(deviceTaints, t.Key) {
		return whyPool
	}
	if matches(maintenanceTaints, t.Key) {
		return l.mark(n, t)
	}
	for _, x := range l.nodes { // some of the nodes of its kind lack a taint of the key: it is a mark
		if !slices.ContainsFunc(x.Spec.Taints, func(o v1.Taint) bool { return o.Key == t.Key }) && alike(x, n) {
			return l.mark(n, t)
		}
	}
	return whyPool
}

// mark returns why a mark of a node stays, such as its cordon: "" when the node is ready, and nothing else is in its way.
func (l *law) mark(n *v1.Node, but v1.Taint) string {
	for name := range n.Annotations {
		if matchesTail(name, quarantines) {
			return whyMark
		}
	}
	if n.DeletionTimestamp != nil {
		return whyLeaves
	}
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady && c.Status != v1.ConditionTrue {
			return whyNotOpen
		}
	}
	for _, t := range n.Spec.Taints {
		if t.Key == but.Key && t.Value == but.Value || t.Key == v1.TaintNodeUnschedulable {
			continue
		}
		if r := rowOf(n, t); r.why != "" {
			return r.why
		}
	}
	return ""
}

// has reports whether a node has a taint.
func has(n *v1.Node, t v1.Taint) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(x v1.Taint) bool { return x.Key == t.Key && x.Value == t.Value && x.Effect == t.Effect })
}

func controlPlane(n *v1.Node) bool {
	for _, role := range []string{roleControlPlane, roleMaster} {
		if _, ok := n.Labels[role]; ok {
			return true
		}
		if slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == role }) {
			return true
		}
	}
	return false
}

// lawOf returns the law about the pod.
func (d *diagnosis) lawOf() *law {
	l := &law{pod: d.pod, bare: d.owner.kind == "Pod", state: d.owner.kind == "StatefulSet", sibling: len(d.crew.running)+d.crew.waiting()+d.crew.gated > 1}
	for _, i := range d.slots {
		l.nodes = append(l.nodes, d.base.Node(i))
	}
	return l
}

// uncordons returns why a cordoned node stays cordoned, "" when a person may ask for the end of its maintenance. A spread constraint
// that keeps the pod off an open node is a cause that a drain of the node must not be undone for.
func (d *diagnosis) uncordons(n *v1.Node) string {
	if why := d.law.mark(n, v1.Taint{}); why != "" {
		return why
	}
	for _, i := range d.slots {
		x := d.base.Node(i)
		if x.Spec.Unschedulable || slices.ContainsFunc(x.Spec.Taints, func(t v1.Taint) bool { return d.keepsOff(t) }) {
			continue
		}
		var by []string
		for _, p := range d.full {
			if p.Check(i) != 0 {
				by = append(by, p.Name())
			}
		}
		if slices.Equal(by, []string{ofSpread}) {
			return whySpread
		}
	}
	return ""
}

// ofSpread is the plugin of spread constraints.
const ofSpread = "PodTopologySpread"
