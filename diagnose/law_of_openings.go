package diagnose

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints"
)

// Around is what [OpeningOf] reads beside a pod and a node.
type Around struct {
	Nodes    []*v1.Node     // all nodes of the cluster; nil ones are left out
	Kind     string         // of the pod's owner: "Deployment"; "" or "Pod" for none
	Replicas int            // of the owner
	Taints   taints.Options // how tolerations count
}

// Opening is what may open a closed node to a pod.
type Opening struct {
	Tolerate []v1.Taint // all taints that keep the pod off, if advice may name tolerations for each of them
	Instead  string     // what ends the state of the node otherwise, in words; "" when nothing that a person does there helps
}

// OpeningOf returns what may open a node whose taints or cordon keep a pod off. A node that is open to the pod has an empty [Opening].
// pod and n must not be nil.
func OpeningOf(pod *v1.Pod, n *v1.Node, a Around) (o Opening) {
	nodes := slices.DeleteFunc(slices.Clone(a.Nodes), func(n *v1.Node) bool { return n == nil })
	l := &law{pod: pod, nodes: nodes, sibling: a.Replicas > 1, bare: a.Kind == "" || a.Kind == "Pod", state: a.Kind == "StatefulSet"}
	allowed := true
	for _, t := range n.Spec.Taints {
		if taints.Untolerated(&v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{t}}}, pod.Spec.Tolerations, a.Taints) == nil {
			continue
		}
		why, _ := l.tolerate(t)
		if allowed = allowed && why == ""; allowed {
			o.Tolerate = append(o.Tolerate, t)
		}
		if text := cure(n, t); text != "" && o.Instead == "" {
			o.Instead = text
		}
	}
	if n.Spec.Unschedulable {
		allowed = false
		if o.Instead == "" && l.mark(n, v1.Taint{}) == "" {
			o.Instead = fmt.Sprintf("uncordon %s, if its maintenance is over", n.Name)
		}
	}
	if !allowed {
		o.Tolerate = nil
	}
	return o
}

// cure says what a person does so that a node leaves the state that its taint shows. It is "" when a person can do nothing.
func cure(n *v1.Node, t v1.Taint) string {
	r := rowOf(n, t)
	if r.cure == "" {
		return ""
	}
	for _, c := range n.Status.Conditions {
		if t.Key == v1.TaintNodeNotReady && c.Type == v1.NodeReady && c.Status != v1.ConditionTrue && strings.Contains(strings.ToLower(c.Message), "cni") {
			return "start the network plugin of " + n.Name
		}
	}
	return fmt.Sprintf(r.cure, n.Name)
}

// recovers adds the change in which the state of a node ends: agents then lift all taints that they have set there. Nothing is added
// for a node that goes away.
func (d *diagnosis) recovers(x *nodeEdits) {
	var cures, from []string
	for _, t := range x.node.Spec.Taints {
		if rowOf(x.node, t).kind != agent || !d.keepsOff(t) {
			continue
		}
		text := cure(x.node, t)
		if text == "" {
			return
		}
		if !slices.Contains(cures, text) {
			cures, from = append(cures, text), append(from, t.ToString())
		}
	}
	if len(cures) == 0 {
		return
	}
	n := x.node
	x.add(Recover, "spec.taints", strings.Join(from, ", "), strings.Join(cures, ", and "), func(now *v1.Node) {
		now.Spec.Taints = slices.DeleteFunc(now.Spec.Taints, func(t v1.Taint) bool { return rowOf(n, t).kind == agent })
	})
}
