package gang

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang/proof"
)

// Completion returns what [placement.GroupOptions.Complete] asks: a search for a placement of the group in the snapshot of the question, whose
// Queued does not count. It finds nothing if no placement exists and if the steps are not enough: the decision about the group then
// says what it says without the search. The errors are those of [Find].
func Completion(q proof.Question, o Options) func(members []*v1.Pod) ([]placement.GroupPlace, error) {
	return func(members []*v1.Pod) ([]placement.GroupPlace, error) {
		q := q
		q.Queued = members
		a, err := Find(q, o)
		if err != nil || a.Outcome != Exists {
			return nil, err
		}
		var out []placement.GroupPlace
		byName := map[string]*v1.Pod{}
		for _, pod := range members {
			byName[podinfo.Name(pod)] = pod
		}
		for _, p := range a.Places {
			out = append(out, placement.GroupPlace{Pod: byName[p.Pod], Node: p.Node})
		}
		return out, nil
	}
}
