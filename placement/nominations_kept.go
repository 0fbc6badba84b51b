package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// keptNominations keeps what nominated pods do to other pods, by kind of the other pods.
type keptNominations struct {
	kinds map[nominationsKind]*nominatedNodes
}

// nominationsKind are pods that get equal verdicts of one node.
type nominationsKind struct {
	own      reuse.VerdictKey
	priority int32
}

// maxNominationsKinds bounds the memory. Beyond it all kinds are dropped.
const maxNominationsKinds = 64

// nominatedNodes are the nodes with nominated pods, as one kind of pods finds them. An event on a node makes what is known of it stale.
type nominatedNodes struct {
	cursor  follow.Cursor
	list    []nominatedNode // in the order of Options.NominatedSlots
	at      map[int]int     // place in the list by slot
	matter  int             // nodes with a nominated pod that counts
	without map[int]bool    // nodes whose nominated pods are in the way
}

type nominatedNode struct {
	slot  int
	pods  []*v1.Pod
	hold  hold
	stale bool
}

// without returns the nodes that only nominated pods make infeasible, and whether a nomination matters. It reports false when that cannot be
// said. The caller must not change the map, which is valid until the next call. O(nominations), and a check of each node that changed.
func (k *keptNominations) without(n *asksNominated, kind nominationsKind, log follow.Log) (without map[int]bool, matter, ok bool) {
	x := k.kinds[kind]
	if x == nil {
		if k.kinds == nil || len(k.kinds) >= maxNominationsKinds {
			k.kinds = map[nominationsKind]*nominatedNodes{}
		}
		x = &nominatedNodes{cursor: follow.At(log), at: map[int]int{}, without: map[int]bool{}}
		k.kinds[kind] = x
	}
	x.follow(log)
	if !x.ask(n) {
		delete(k.kinds, kind)
		return nil, true, false
	}
	return x.without, x.matter > 0, true
}

// follow makes stale what events may have changed.
func (x *nominatedNodes) follow(log follow.Log) {
	all := false
	reached := x.cursor.Read(log, func(e *cluster.Event) {
		if k, known := x.at[int(e.Node)]; known {
			x.list[k].stale = true
		}
		all = all || e.Node < 0 && e.Node != view.Unread
	})
	if all || !reached {
		for k := range x.list {
			x.list[k].stale = true
		}
	}
}

// ask brings the list up to date. It reports false when a node cannot be judged.
func (x *nominatedNodes) ask(n *asksNominated) bool {
	slots := n.options.NominatedSlots
	for k := len(slots); k < len(x.list); k++ {
		x.drop(k)
	}
	x.list = x.list[:min(len(x.list), len(slots))]
	for k, i := range slots {
		if k == len(x.list) {
			x.list = append(x.list, nominatedNode{stale: true, slot: -1})
		}
		node, pods := &x.list[k], n.options.Nominated(i)
		own := slices.ContainsFunc(pods, func(q *v1.Pod) bool { return q.UID == n.pod.UID })
		if node.slot == i && !node.stale && !own && slices.Equal(node.pods, pods) {
			continue
		}
		x.drop(k)
		if i < 0 {
			continue
		}
		if at, known := x.at[i]; known {
			x.drop(at)
		}
		node.slot, node.pods, node.hold = i, append(node.pods[:0], pods...), n.ask(i, pods)
		node.stale = own // another pod of the kind finds this one on the node
		x.at[i] = k
		switch node.hold {
		case undecided:
			return false
		case inTheWay:
			x.without[i] = true
		}
		if node.hold != noHold {
			x.matter++
		}
	}
	return true
}

// drop forgets a place of the list.
func (x *nominatedNodes) drop(k int) {
	node := &x.list[k]
	if node.slot < 0 {
		return
	}
	delete(x.at, node.slot)
	delete(x.without, node.slot)
	if node.hold != noHold {
		x.matter--
	}
	node.slot = -1
}
