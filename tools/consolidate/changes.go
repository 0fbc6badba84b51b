package consolidate

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/tools/dump"
)

// change is something that would have to change before the pods of a node may move.
type change struct {
	text string
	make func(x *consolidation.Input) error
}

// changes returns what may be changed for the pods of a node: what the flags change, and the budgets of the pods.
func (in *input) changes(node string) (out []change) {
	if in.withoutAnnotations != nil {
		out = append(out, change{"--ignore-annotations: the annotations of its pods no longer count", func(x *consolidation.Input) error {
			x.Hold = in.withoutAnnotations
			return nil
		}})
	}
	if !in.asks.EmptyDirs {
		out = append(out, change{"--delete-emptydir-data: what its pods have in emptyDir volumes is lost", func(x *consolidation.Input) error {
			x.EmptyDirs = true
			return nil
		}})
	}
	s := in.asks.Snapshot
	list := slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s).All())
	budgets := disruption.NewBudgets(list, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	pods := map[int32][]*v1.Pod{}
	for pod := range s.Pods(s.Slot(node)) {
		for _, k := range budgets.AppendMatches(nil, pod.Namespace, pod.Labels) {
			pods[k] = append(pods[k], pod)
		}
	}
	for k, b := range list {
		if covered := pods[int32(k)]; covered != nil {
			text := fmt.Sprintf("budget %s/%s must let go %s: evict %s says what helps", b.Namespace, b.Name, names(covered), dump.Name(covered[0]))
			out = append(out, change{text, func(x *consolidation.Input) error { return x.Snapshot.Remove(b) }})
		}
	}
	return out
}

func names(pods []*v1.Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, dump.Name(p))
	}
	return strings.Join(out, ", ")
}

// freed returns the fewest changes, none of which may be left out, after which nothing holds the node, and what a removal does then. It
// returns nil when all changes together do not help.
func (in *input) freed(node string, p *consolidation.Plan) ([]string, *consolidation.Removal, error) {
	try := func(list []change) (*consolidation.Removal, error) {
		x := in.asks
		x.Snapshot = x.Snapshot.Fork()
		for _, c := range list {
			if err := c.make(&x); err != nil {
				return nil, err
			}
		}
		planner, err := consolidation.New(x)
		if err != nil {
			return nil, err
		}
		removals, err := planner.Removals(p)
		if err != nil {
			return nil, err
		}
		return removals.Try(node, cause)
	}
	list := in.changes(node)
	r, err := try(list)
	if err != nil || r.Held != "" {
		return nil, nil, err
	}
	for k := 0; k < len(list); {
		fewer := slices.Delete(slices.Clone(list), k, k+1)
		other, err := try(fewer)
		if err != nil {
			return nil, nil, err
		}
		if other.Held == "" {
			list, r = fewer, other
			continue
		}
		k++
	}
	var texts []string
	for _, c := range list {
		texts = append(texts, c.text)
	}
	return texts, r, nil
}
