package gang

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// Fitting is how many more gangs of a template fit.
type Fitting struct {
	// Gangs is the sum of Domains.
	Gangs int `json:"gangs"`
	// Domains has the values of the key that take a gang, by name; one without a name if there is no key.
	Domains []proof.Part `json:"domains"`
	// Cut is true if the count ended at most gangs, or where the steps did not say whether one more fits.
	Cut bool `json:"cut"`
}

// errTree is the error of HowMany for a tree.
var errTree = errors.New("gang: queued: Unsupported value: a composite group: how many fit is asked of a group alone")

// HowMany counts how many more gangs like that of the question fit beside what runs, each in one domain of the key: a rack, or a node
// (kubernetes.io/hostname). "" is the key of the group. Gangs come one after the other and none moves, so more may fit in another arrangement.
// At most most gangs are counted. The same question about the cluster after a consolidation says what the consolidation is worth. The steps are
// those of each gang. Errors are those of [Find], most below 1, and a composite group.
func HowMany(q proof.Question, key string, most int, o Options) (out Fitting, err error) {
	defer must.Catch(&err)
	x := must.Get(q.Subject())
	group := x.Tree.Root().Group
	switch {
	case group == nil:
		return out, errTree
	case most < 1:
		return out, fmt.Errorf("gang: most: Invalid value: %d: must be positive", most)
	}
	if key != "" {
		q.Gates.Topology = true
	}
	s, sums := q.Snapshot.Fork(), map[string]int{}
	for n := 1; ; n++ {
		if out.Cut = n > most; out.Cut {
			break
		}
		next := *group
		next.Name = fmt.Sprintf("%s-more-%d", group.Name, n)
		if key != "" {
			next.Constraints = &podgroup.Constraints{Topology: []string{key}}
		}
		must.Do(s.Set(&next))
		one := q
		one.Snapshot, one.Queued = s, nil
		for _, pod := range x.Members {
			p := *pod
			p.Name, p.UID = fmt.Sprintf("%s-more-%d", pod.Name, n), ""
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &next.Name}
			one.Queued = append(one.Queued, &p)
		}
		a := must.Get(Find(one, o))
		if out.Cut = a.Outcome == Unknown; a.Outcome != Exists {
			break
		}
		must.Do(carry(s, must.Get(one.Subject()), &one, a.Places))
		value := ""
		if k := next.Key(); k != "" && (one.Gates.Topology || one.Gates.Composites) {
			value = s.Node(s.Slot(a.Places[0].Node)).Labels[k]
		}
		sums[value]++
		out.Gangs++
	}
	out.Domains = []proof.Part{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out.Domains = append(out.Domains, proof.Part{Name: name, Most: sums[name]})
	}
	return out, nil
}
