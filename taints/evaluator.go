package taints

import v1 "k8s.io/api/core/v1"

// Untolerated returns the first taint of the node, in list order, that keeps a pod with these tolerations away: its effect
// is NoSchedule or NoExecute and no toleration tolerates it. It returns nil when the taints allow the pod. The result
// points into the node. To ask about many nodes, Compile once and use [Evaluator.On].
func Untolerated(node *v1.Node, tolerations []v1.Toleration, o Options) *v1.Taint {
	if i := Compile(tolerations, o).untolerated(node.Spec.Taints); i >= 0 {
		return &node.Spec.Taints[i]
	}
	return nil
}

// Evaluator is a compiled list of tolerations. It is immutable, safe for concurrent use and keeps no reference to the list.
// The zero value and nil tolerate nothing.
type Evaluator struct {
	tolerations []toleration
	every       bool // some toleration tolerates every taint
	cordon      bool // the taint of an unschedulable node is tolerated
}

// Compile compiles tolerations, in O(tolerations). There is no error: a toleration whose operator v1.37 does not know
// tolerates nothing. A nil list tolerates nothing.
func Compile(tolerations []v1.Toleration, o Options) *Evaluator {
	if len(tolerations) == 0 {
		return &intolerant
	}
	e := &Evaluator{}
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

// intolerant tolerates nothing.
var intolerant Evaluator

// Tolerates reports whether every taint of the node with effect NoSchedule or NoExecute is tolerated. It is the rule of
// the filter TaintToleration, of the nodeTaintsPolicy Honor of topology spread and of the DaemonSet controller. It does not
// look at spec.unschedulable. O(taints x tolerations), no allocation.
func (e *Evaluator) Tolerates(node *v1.Node) bool { return e.untolerated(node.Spec.Taints) < 0 }

// ToleratesNoExecute reports whether every taint with effect NoExecute is tolerated, whatever the tolerationSeconds. It is
// the rule for pods that run already (DaemonSet controller) and for the admission by a kubelet. O(taints x tolerations),
// no allocation.
func (e *Evaluator) ToleratesNoExecute(taints []v1.Taint) bool {
	for i := range taints {
		if taints[i].Effect == v1.TaintEffectNoExecute && !e.ToleratesTaint(&taints[i]) {
			return false
		}
	}
	return true
}

// ToleratesTaint reports whether a toleration tolerates the taint, whatever its effect. O(tolerations), no allocation.
func (e *Evaluator) ToleratesTaint(taint *v1.Taint) bool {
	return e.tolerates(taint, kindOf(taint.Effect))
}

func (e *Evaluator) tolerates(taint *v1.Taint, k effectKind) bool {
	return e != nil && (e.every || e.first(taint, k) != nil)
}

// first returns the first toleration of the list that tolerates the taint, whose effect is of kind k; nil if none does.
func (e *Evaluator) first(taint *v1.Taint, k effectKind) *toleration {
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

// untolerated returns the index of the first taint with effect NoSchedule or NoExecute that is not tolerated, or -1.
func (e *Evaluator) untolerated(taints []v1.Taint) int {
	for i := range taints {
		if k := kindOf(taints[i].Effect); k.hard() && !e.tolerates(&taints[i], k) {
			return i
		}
	}
	return -1
}
