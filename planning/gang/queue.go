package gang

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// GroupAnswer is the answer about one group of a queue.
type GroupAnswer struct {
	// Group is the root: "podgroup/default/train".
	Group string `json:"group"`
	Answer
}

// FindEach answers about each root of a queue, the highest priority first and roots of one priority in the order of their first members: each
// has room, devices and volumes that the placements before it leave. A claim for which a volume is provisioned has none yet: its pods stay with the
// node that is selected. Queued may have members of many trees. A root without place takes nothing. The steps are those of each root. Errors
// are those of [Find]; then there are no answers.
func FindEach(q proof.Question, o Options) (_ []GroupAnswer, err error) {
	defer must.Catch(&err)
	if q.Snapshot == nil {
		return nil, fmt.Errorf("gang: %w", cluster.ErrNoSnapshot)
	}
	type root struct {
		name     string
		priority int32
		queued   []*v1.Pod
	}
	var roots []*root
	gates := q.Gates
	gates.Topology = gates.Topology || gates.Composites
	for k, pod := range q.Queued {
		if pod == nil {
			return nil, fmt.Errorf("gang: queued[%d]: Required value: must not be nil", k)
		}
		group, _ := podgroup.Of(pod)
		tree, err := podgroup.TreeOf(q.Snapshot, pod.Namespace, group, gates)
		if err != nil {
			return nil, fmt.Errorf("gang: queued[%d].spec.schedulingGroup.podGroupName: Invalid value: %q: %s: %w", k, group, podinfo.Name(pod), err)
		}
		name := tree.Root().String()
		at := slices.IndexFunc(roots, func(r *root) bool { return r.name == name })
		if at < 0 {
			at = len(roots)
			roots = append(roots, &root{name: name, priority: tree.Root().EffectivePriority()})
		}
		roots[at].queued = append(roots[at].queued, pod)
	}
	slices.SortStableFunc(roots, func(a, b *root) int { return cmp.Compare(b.priority, a.priority) })
	s := q.Snapshot.Fork()
	var out []GroupAnswer
	for _, r := range roots {
		one := q
		one.Snapshot, one.Queued = s, r.queued
		a := must.Get(Find(one, o))
		out = append(out, GroupAnswer{r.name, a})
		if a.Outcome == Exists {
			must.Do(carry(s, must.Get(one.Subject()), &one, a.Places))
		}
	}
	return out, nil
}
