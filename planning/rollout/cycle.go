package rollout

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// mostHolders is how many pods are taken away on trial for one pod that waits.
const mostHolders = 200

// cycle looks for budgets that starve each other, beginning with a budget: a pod of the budget waits for the place of a pod whose
// budget allows nothing either, and so on until a budget comes again. It returns the proof and the budgets, "" when there is no cycle.
func (x *run) cycle(from int32) (proof string, names []string) {
	var links []string
	var path []int32
	seen := map[int32]bool{}
	var visit func(k int32) bool
	visit = func(k int32) bool {
		if k == from && len(path) > 0 {
			return true
		}
		if seen[k] {
			return false
		}
		seen[k] = true
		path = append(path, k)
		for _, it := range x.budgets.pods[k] {
			if it.node != "" || ready(it.seen) {
				continue
			}
			for _, h := range x.holders(it, k) {
				links = append(links, fmt.Sprintf("%s needs %d healthy pods and has %d: %s waits for the place of %s", x.budgets.name(k),
					x.budgets.list[k].Status.DesiredHealthy, x.budgets.list[k].Status.CurrentHealthy, podinfo.Name(it.obj), podinfo.Name(h.obj)))
				for _, next := range h.budgets {
					if visit(next) {
						return true
					}
				}
				links = links[:len(links)-1]
			}
		}
		path = path[:len(path)-1]
		return false
	}
	visit(from) // without a cycle there are no links and no path in the end
	for _, k := range path {
		names = append(names, x.budgets.name(k))
	}
	return strings.Join(links, "; "), names
}

// holders returns the pods in whose place a waiting pod of a budget would fit, among the pods of other budgets that allow nothing.
func (x *run) holders(it *item, own int32) (out []*item) {
	tried := 0
	for k := range x.budgets.list {
		if int32(k) == own || x.budgets.list[k].Status.DisruptionsAllowed > 0 {
			continue
		}
		for _, h := range x.budgets.pods[k] {
			if h.node == "" || tried == mostHolders {
				continue
			}
			tried++
			if x.fitsWithout(it, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// fitsWithout reports whether a waiting pod finds a node when another pod is gone.
func (x *run) fitsWithout(it, gone *item) bool {
	mark, j := x.snapshot.Mark(), len(x.journal)
	defer func() {
		x.undo(j)
		x.snapshot.Rollback(mark)
	}()
	x.remove(gone)
	node := x.snapshot.Node(x.snapshot.Slot(gone.node))
	must.Do(x.snapshot.Set(renewed(node))) // the node would take pods if it were not drained
	return x.decide(it.obj).Placed()
}
