package taints

import (
	v1 "k8s.io/api/core/v1"
)

// Evaluator is a list of tolerations prepared for many taints. It is immutable, safe for concurrent use and never looks
// at the list it was compiled from again. The zero value and nil tolerate nothing.
type Evaluator struct {
	tolerations []toleration
	every       bool // some toleration tolerates every taint
	cordon      bool // the taint of an unschedulable node is tolerated
	options     Options
}

// Compile prepares tolerations, in O(tolerations). It cannot fail: a toleration with an operator that v1.36 does not
// know tolerates nothing. nil tolerates nothing.
func Compile(tolerations []v1.Toleration, o Options) *Evaluator {
	e := &Evaluator{options: o}
	for i := range tolerations {
		c, ok := compile(&tolerations[i], i, o)
		if !ok {
			continue
		}
		if e.tolerations == nil {
			e.tolerations = make([]toleration, 0, len(tolerations)-i)
		}
		e.tolerations = append(e.tolerations, c)
		e.every = e.every || c.op == exists && c.key == "" && c.effect == ""
	}
	e.cordon = e.ToleratesTaint(&v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	return e
}

// ToleratesTaint reports whether any toleration tolerates the taint, whatever its effect. O(tolerations), no allocation.
func (e *Evaluator) ToleratesTaint(taint *v1.Taint) bool {
	return e.tolerates(taint, kindOf(taint.Effect))
}

func (e *Evaluator) tolerates(taint *v1.Taint, k kind) bool {
	return e != nil && (e.every || e.first(taint, k) != nil)
}

// first returns the first toleration of the list that tolerates the taint, whose effect is of kind k; nil if none does.
func (e *Evaluator) first(taint *v1.Taint, k kind) *toleration {
	if e == nil {
		return nil
	}
	for i := range e.tolerations {
		if t := &e.tolerations[i]; t.tolerates(taint, k) {
			return t
		}
	}
	return nil
}

// Tolerates reports whether every taint of the node with effect NoSchedule or NoExecute is tolerated: the rule of the
// scheduler's TaintToleration filter, of topology spread's nodeTaintsPolicy Honor and of the DaemonSet controller.
// spec.unschedulable is not looked at (see ToleratesCordon). O(taints x tolerations), no allocation.
func (e *Evaluator) Tolerates(node *v1.Node) bool { return e.firstUntolerated(node.Spec.Taints) < 0 }

// ToleratesNoExecute reports whether every taint with effect NoExecute is tolerated, whatever the tolerationSeconds: the
// rule for pods that run already (DaemonSet controller, kubelet admission). O(taints x tolerations), no allocation.
func (e *Evaluator) ToleratesNoExecute(taints []v1.Taint) bool {
	for i := range taints {
		if taints[i].Effect == v1.TaintEffectNoExecute && !e.ToleratesTaint(&taints[i]) {
			return false
		}
	}
	return true
}

// ToleratesCordon reports whether the pod may be placed on a node with spec.unschedulable: its tolerations tolerate
// node.kubernetes.io/unschedulable with an empty value and effect NoSchedule, whether the node carries that taint or
// not.
func (e *Evaluator) ToleratesCordon() bool { return e != nil && e.cordon }

// Untolerated returns the first taint, in list order, with effect NoSchedule or NoExecute that is not tolerated, a
// pointer into taints; nil if there is none. O(taints x tolerations), no allocation.
func (e *Evaluator) Untolerated(taints []v1.Taint) *v1.Taint {
	if i := e.firstUntolerated(taints); i >= 0 {
		return &taints[i]
	}
	return nil
}

func (e *Evaluator) firstUntolerated(taints []v1.Taint) int {
	for i := range taints {
		if k := kindOf(taints[i].Effect); k.hard() && !e.tolerates(&taints[i], k) {
			return i
		}
	}
	return -1
}

// Untolerated returns the first taint of the node, in list order, that keeps a pod with these tolerations from being
// placed there: effect NoSchedule or NoExecute and no toleration for it. nil when the pod may be placed. For more than
// one node, Compile once and use Evaluator.Untolerated.
func Untolerated(node *v1.Node, tolerations []v1.Toleration, o Options) *v1.Taint {
	return Compile(tolerations, o).Untolerated(node.Spec.Taints)
}

// Tolerate reports whether any of the tolerations tolerates the taint, whatever its effect; their order does not matter.
func Tolerate(tolerations []v1.Toleration, taint *v1.Taint, o Options) bool {
	for i := range tolerations {
		if Matches(&tolerations[i], taint, o) {
			return true
		}
	}
	return false
}
