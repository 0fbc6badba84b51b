package queue

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Nomination says which node a pod intends to use. With Override the node is Node, and an empty Node means none. Without
// Override the node is that of the pod's status.nominatedNodeName.
type Nomination struct {
	Override bool
	Node     string
}

// nominator remembers which pod intends to use which node. It is not safe for concurrent use.
type nominator struct {
	known  func(pod *v1.Pod) (nodeName string, ok bool)
	byNode map[string][]*v1.Pod
	node   map[types.UID]string
}

// newNominator returns an empty nominator. known is Options.Known.
func newNominator(known func(pod *v1.Pod) (nodeName string, ok bool)) *nominator {
	if known == nil {
		known = func(pod *v1.Pod) (string, bool) { return pod.Spec.NodeName, true }
	}
	return &nominator{known: known, byNode: map[string][]*v1.Pod{}, node: map[types.UID]string{}}
}

// Nominate removes the pod's nomination and then adds the new nomination, unless that has no node or the pod is unknown or
// assigned.
func (n *nominator) Nominate(pod *v1.Pod, to Nomination) {
	if pod == nil {
		return
	}
	n.Remove(pod)
	node := to.Node
	if !to.Override {
		node = pod.Status.NominatedNodeName
	}
	if node == "" {
		return
	}
	if assigned, ok := n.known(pod); !ok || assigned != "" {
		return
	}
	n.node[flightKey(pod)] = node
	n.byNode[node] = append(n.byNode[node], pod)
}

// Update follows a change of the pod. The new status counts. When both statuses have no nomination, the pod keeps the
// nomination that it has here.
func (n *nominator) Update(old, new *v1.Pod) {
	if new == nil {
		return
	}
	to := Nomination{}
	if old != nil {
		if old.Status.NominatedNodeName == "" && new.Status.NominatedNodeName == "" {
			to = Nomination{Override: true, Node: n.node[flightKey(old)]}
		}
		n.Remove(old)
	}
	n.Nominate(new, to)
}

// Remove forgets the pod's nomination if there is one. O(nominations of that node).
func (n *nominator) Remove(pod *v1.Pod) {
	if pod == nil {
		return
	}
	key := flightKey(pod)
	node, ok := n.node[key]
	if !ok {
		return
	}
	delete(n.node, key)
	rest := slices.DeleteFunc(n.byNode[node], func(p *v1.Pod) bool { return flightKey(p) == key })
	if len(rest) == 0 {
		delete(n.byNode, node)
	} else {
		n.byNode[node] = rest
	}
}

// Node returns the node that the pod is nominated for, "" for none.
func (n *nominator) Node(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	return n.node[flightKey(pod)]
}

// For returns the pods nominated for the node, in the order of their nominations, as a new slice.
func (n *nominator) For(node string) []*v1.Pod { return slices.Clone(n.byNode[node]) }

// Nominate replaces the nomination of a pod, queued or in flight. Nomination{Override: true} forgets the nomination, for
// instance when the pod is assumed on a node. A nil pod is ignored. O(nominations of the node).
func (q *Queue) Nominate(pod *v1.Pod, to Nomination) { q.nom.Nominate(pod, to) }

// Nominations returns the number of pods that are nominated for a node.
func (q *Queue) Nominations() int { return len(q.nom.node) }

// NominatedNodes appends the names of the nodes for which pods are nominated, each once, in any order. O(nominations).
func (q *Queue) NominatedNodes(dst []string) []string {
	return slices.AppendSeq(dst, maps.Keys(q.nom.byNode))
}

// NominatedFor returns the pods nominated for the node in the order of their nominations, each in the version that is
// queued. A pod in flight is in no queue: as in v1.37 the result has only its names and UID, so the pod counts with priority
// 0 and without requests (Q11.7). With [Options.WholeNominations] the result has the whole pod. O(nominations of the node).
func (q *Queue) NominatedFor(node string) []*v1.Pod {
	pods := q.nom.For(node)
	for i, p := range pods {
		if e := q.lookup(keyOf(p)); e != nil && flightKey(e.Pod) == flightKey(p) {
			pods[i] = e.Pod
		} else if !q.o.WholeNominations {
			bare := &v1.Pod{}
			bare.Name, bare.Namespace, bare.UID = p.Name, p.Namespace, p.UID
			pods[i] = bare
		}
	}
	return pods
}
