package diagnose

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints"
)

// Around is what OpeningOf reads beside a pod and a node.
type Around struct {
	Nodes    []*v1.Node // all nodes of the cluster
	Kind     string     // of the pod's owner: "Deployment"; "" or "Pod" for none
	Replicas int        // of the owner
}

// Opening is what may open a closed node to a pod.
type Opening struct {
	Tolerate []v1.Taint // all taints that keep the pod off, if advice may name tolerations for each of them
	Instead  string     // what ends the state of the node otherwise, in words; "" when nothing that a person does there helps
}

// OpeningOf returns what may open a node whose taints or cordon keep a pod off. A node that is open to the pod has an empty Opening.
func OpeningOf(pod *v1.Pod, n *v1.Node, a Around) (o Opening) {
	l := &law{pod: pod, nodes: a.Nodes, sibling: a.Replicas > 1, bare: a.Kind == "" || a.Kind == "Pod", state: a.Kind == "StatefulSet"}
	allowed := true
	for _, t := range n.Spec.Taints {
		if taints.Untolerated(&v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{t}}}, pod.Spec.Tolerations, taints.Options{}) == nil {
			continue
		}
		why, _ := l.tolerate(t)
		if allowed = allowed && why == ""; allowed {
			o.Tolerate = append(o.Tolerate, t)
		}
		if r := rowOf(n, t); r.cure != "" && o.Instead == "" {
			o.Instead = fmt.Sprintf(r.cure, n.Name)
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
