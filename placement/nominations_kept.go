package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// keptNominations keeps what nominated pods do to other pods, by kind of the other pods.
type keptNominations struct {
	kinds map[nominationsKind]*nominatedNodes
	nodes int // in all kinds, as many as there were when the kinds were made
}

// nominationsKind are pods that get equal verdicts of one node.
type nominationsKind struct {
	own      reuse.VerdictKey
	priority int32
}

// maxNominationsKept bounds the memory of all kinds together. Beyond it all kinds are dropped.
const maxNominationsKept = 1 << 17

// nominatedNodes are the nodes with nominated pods, as one kind of pods finds them. An event on a node makes what is known of it stale.
type nominatedNodes struct {
	cursor  follow.Cursor
	list    []nominatedNode // in the order of Options.NominatedSlots
	at      map[int]int     // place in the list by slot
	matter  int             // nodes with a nominated pod that counts
	away    int             // nodes whose nominated pods are in the way
	without view.Slots      // these nodes
}

// nominatedNode is a node with nominated pods. What is kept is what the filters say that read this node and its pods alone. While these allow the
// node, filters that count the pods of all nodes are asked for each pod, if they count one of the nominated pods.
type nominatedNode struct {
	slot    int
	pods    []*v1.Pod
	hold    hold
	counted bool // filters that count pods must be asked
	stale   bool
}

// without returns the nodes that only nominated pods make infeasible, and whether a nomination matters. It reports false when that cannot be
// said. The caller must not change the set, which is valid until the next call. O(nominations), and a check of each node that changed.
func (k *keptNominations) without(n *asksKept, kind nominationsKind, log follow.Log) (without view.Slots, matter, ok bool) {
	x := k.kinds[kind]
	if x == nil {
		if k.nodes += len(n.options.NominatedSlots); k.kinds == nil || k.nodes > maxNominationsKept {
			k.kinds, k.nodes = map[nominationsKind]*nominatedNodes{}, len(n.options.NominatedSlots)
		}
		x = &nominatedNodes{cursor: follow.At(log), at: map[int]int{}}
		k.kinds[kind] = x
	}
	x.follow(log)
	if !x.ask(n) {
		delete(k.kinds, kind)
		return nil, true, false
	}
	if x.away > 0 {
		without = x.without
	}
	return without, x.matter > 0, true
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
func (x *nominatedNodes) ask(n *asksKept) bool {
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
		if node.slot != i || node.stale || own || !slices.Equal(node.pods, pods) {
			x.drop(k)
			if i < 0 {
				continue
			}
			if at, known := x.at[i]; known {
				x.drop(at)
			}
			x.at[i], node.slot, node.pods = k, i, append(node.pods[:0], pods...)
			node.stale = own // another pod of the kind finds this one on the node
			var h hold
			h, node.counted = n.ask(i, pods)
			x.put(node, h)
		}
		if node.counted {
			x.put(node, n.askCounts(i))
		}
		if node.hold == undecided {
			return false
		}
	}
	return true
}

// drop forgets a place of the list.
func (x *nominatedNodes) drop(k int) {
	node := &x.list[k]
	if node.slot >= 0 {
		x.put(node, noHold)
		delete(x.at, node.slot)
		node.slot, node.counted = -1, false
	}
}

// put writes what the pods of a node do.
func (x *nominatedNodes) put(node *nominatedNode, h hold) {
	if node.hold == inTheWay {
		x.away--
		x.without.Remove(node.slot)
	}
	if node.hold != noHold {
		x.matter--
	}
	if node.hold = h; h == inTheWay {
		x.away++
		x.without.Add(node.slot)
	}
	if h != noHold {
		x.matter++
	}
}

// asksKept asks the filters that the engine keeps. They are taken when the first node needs them.
type asksKept struct {
	*asksNominated
	opened   reuse.Opened
	own      *Attempt // with the filters that read one node and its pods
	counting *Attempt // with the filters that count the pods of all nodes

	checkOwn, checkCounts func(i int) filter.Rejection
}

// prepare reports false when a plugin fails.
func (n *asksKept) prepare() bool {
	if n.own != nil {
		return true
	}
	own, counting, ok := n.opened.Filters(n.pod)
	if ok {
		n.own, n.counting = &Attempt{plan: n.plan, pod: n.pod, Predicates: own}, &Attempt{plan: n.plan, pod: n.pod, Predicates: counting}
		n.checkOwn, n.checkCounts = n.own.checked(n.options), n.counting.checked(n.options)
	}
	return ok
}

// ask asks the filters that read one node about a slot with nominated pods, and reports whether the others must be asked too.
func (n *asksKept) ask(i int, nominated []*v1.Pod) (h hold, counted bool) {
	if !n.matter(i, nominated) {
		return noHold, false
	}
	if !n.prepare() {
		return undecided, false
	}
	h = n.own.hold(i, n.checkOwn)
	return h, h == harmless && n.own.Predicates.First(i).Verdict == 0 && slices.ContainsFunc(nominated, n.counts)
}

// counts reports whether a filter counts a pod.
func (n *asksKept) counts(q *v1.Pod) bool {
	return slices.ContainsFunc(n.counting.Predicates, func(p filter.Predicate) bool {
		x, ok := p.(interface{ Moves(pod *v1.Pod) bool })
		return !ok || x.Moves(q)
	})
}

// askCounts asks the filters that count pods about a slot that the others allow.
func (n *asksKept) askCounts(i int) hold {
	if !n.prepare() {
		return undecided
	}
	return n.counting.hold(i, n.checkCounts)
}
