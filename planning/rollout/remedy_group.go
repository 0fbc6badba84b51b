package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// groupsOf returns the groups that pods of a deadlock leave with, each once.
func (x *run) groupsOf(d *Deadlock) (out []*podgroup.Node) {
	if x.in.Groups == nil {
		return nil
	}
	for _, items := range x.onNode {
		for _, it := range items {
			if !slices.Contains(d.Pods, podinfo.Name(it.origin)) {
				continue
			}
			n, _, _ := podgroup.UnitOf(x.base, it.obj, *x.in.Groups)
			if n != nil && !slices.ContainsFunc(out, func(o *podgroup.Node) bool { return o.String() == n.String() }) {
				out = append(out, n)
			}
		}
	}
	slices.SortFunc(out, func(a, b *podgroup.Node) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// leaveAtOnce returns how many pods of a budget leave at once with the largest group of a deadlock: 1 without groups.
func (x *run) leaveAtOnce(d *Deadlock, budget int32) (most int32) {
	most = 1
	for _, n := range x.groupsOf(d) {
		count := int32(0)
		for _, it := range x.budgets.pods[budget] {
			if x.together(it) == n.String() {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}

// singly are groups whose pods leave one by one. The API server does not change the mode, so the group is made again.
func (x *run) singly(d *Deadlock) (out []change) {
	for _, n := range x.groupsOf(d) {
		out = append(out, change{fmt.Sprintf("%s made again with disruption mode Single", n), func(in *Input, _ *Options) {
			if n.Group != nil {
				g := *n.Group
				g.DisruptAll = false
				must.Do(in.Snapshot.Set(&g))
				return
			}
			c := *n.Composite
			c.DisruptAll = false
			must.Do(in.Snapshot.Set(&c))
		}})
	}
	return out
}
