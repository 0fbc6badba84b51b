package queue

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
)

// Nomination says which node a pod intends to use: Node if Override (empty: none any more), otherwise what the pod's
// status.nominatedNodeName says.
type Nomination struct {
	Override bool
	Node     string
}

// nominator remembers which pod means to use which node. Make one with newNominator; Queue has one of its own. Not safe for
// concurrent use.
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

// Nominate replaces the pod's nomination. Without a node to nominate, or for a pod that is unknown or assigned, the old
// nomination is removed all the same.
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

// Update follows a change of the pod: the new status counts, except that a nomination which no status has heard of
// survives (both statuses empty).
func (n *nominator) Update(old, new *v1.Pod) {
	if new == nil {
		return
	}
	to := Nomination{}
	if old != nil {
		if old.Status.NominatedNodeName == "" && new.Status.NominatedNodeName == "" {
			if node, ok := n.node[flightKey(old)]; ok {
				to = Nomination{Override: true, Node: node}
			}
		}
		n.Remove(old)
	}
	n.Nominate(new, to)
}

// Remove forgets the pod's nomination; the pod was deleted, or is assumed on a node. Without one nothing happens.
// O(nominations of that node).
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

// Counted returns those of pods whose room a pod of the given priority and UID must leave free when it is filtered:
// other pods of the same or a higher priority. Lower nominations never count.
func Counted(pods []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	var counted []*v1.Pod
	for _, p := range pods {
		if podinfo.Priority(p) >= podinfo.Priority(pod) && flightKey(p) != flightKey(pod) {
			counted = append(counted, p)
		}
	}
	return counted
}

// Nominate replaces the nomination of a pod, queued or in flight.
func (q *Queue) Nominate(pod *v1.Pod, to Nomination) { q.nom.Nominate(pod, to) }

// Nominations returns the number of pods that are nominated for a node.
func (q *Queue) Nominations() int { return len(q.nom.node) }

// NominatedFor returns the pods nominated for the node in the order of their nominations, each in the version that is
// queued. A pod that is in no queue (it is in flight) comes with its names and UID and no spec, as in 1.36, so that it
// counts with priority 0 and without requests; whole with Options.WholeNominations.
func (q *Queue) NominatedFor(node string) []*v1.Pod {
	pods := q.nom.For(node)
	for i, p := range pods {
		if e := q.entries[keyOf(p)]; e != nil && flightKey(e.Pod) == flightKey(p) {
			pods[i] = e.Pod
		} else if !q.o.WholeNominations {
			bare := &v1.Pod{}
			bare.Name, bare.Namespace, bare.UID = p.Name, p.Namespace, p.UID
			pods[i] = bare
		}
	}
	return pods
}
