package gang

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
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

// errClaims is the error of HowMany for a group whose members share claims of the group.
var errClaims = errors.New("gang: queued: Unsupported value: a group with resourceClaims: nobody makes the claims of more groups")

// HowMany counts how many more gangs like that of the question fit beside what runs, each in one domain of the key: a rack, or a node
// (kubernetes.io/hostname). "" is the key of the group. Queued has the members of the template: those that run may be among them, and stay where
// they are. Gangs come one after the other and none moves, so more may fit in another arrangement. Each gang has claims of its own where a template
// makes them; a claim that members name is one for all. At most most gangs are counted. The same question about the cluster after a consolidation
// says what the consolidation is worth. The steps are those of each gang. Errors are those of [Find], most below 1,
// a composite group, and a group with resourceClaims of its own.
func HowMany(q proof.Question, key string, most int, o Options) (_ Fitting, err error) {
	defer must.Catch(&err)
	group := must.Get(template(&q))
	if most < 1 {
		return Fitting{}, fmt.Errorf("gang: most: Invalid value: %d: must be positive", most)
	}
	q.Gates.Topology = q.Gates.Topology || q.Gates.Composites || key != ""
	s, sums, out := q.Snapshot.Fork(), map[string]int{}, Fitting{Domains: []proof.Part{}}
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
		for _, pod := range q.Queued {
			one.Queued = append(one.Queued, copyOf(s, pod, next.Name, n))
		}
		a := must.Get(Find(one, o))
		if out.Cut = a.Outcome == Unknown; a.Outcome != Exists {
			break
		}
		must.Do(carry(s, must.Get(one.Subject()), &one, a.Places))
		value := ""
		if k := next.Key(); k != "" && q.Gates.Topology {
			value = s.Node(s.Slot(a.Places[0].Node)).Labels[k]
		}
		sums[value]++
		out.Gangs++
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out.Domains = append(out.Domains, proof.Part{Name: name, Most: sums[name]})
	}
	return out, nil
}

// template returns the group of the question. Its members are those that wait and those that run.
func template(q *proof.Question) (*podgroup.Group, error) {
	waiting := *q
	waiting.Queued = slices.DeleteFunc(slices.Clone(q.Queued), func(pod *v1.Pod) bool { return pod != nil && pod.Spec.NodeName != "" })
	if q.Snapshot == nil || len(q.Queued) == 0 || len(waiting.Queued) > 0 {
		if _, err := waiting.Subject(); err != nil {
			return nil, err
		}
	}
	name, _ := podgroup.Of(q.Queued[0])
	for k, pod := range q.Queued {
		if other, ok := podgroup.Of(pod); !ok || other != name || pod.Namespace != q.Queued[0].Namespace {
			return nil, fmt.Errorf("gang: queued[%d].spec.schedulingGroup.podGroupName: Invalid value: %q: a template is one group", k, other)
		}
	}
	tree, err := podgroup.TreeOf(q.Snapshot, q.Queued[0].Namespace, name, q.Gates)
	if err != nil {
		return nil, fmt.Errorf("gang: queued[0].spec.schedulingGroup.podGroupName: Invalid value: %q: %w", name, err)
	}
	switch {
	case tree.Root().Group == nil:
		return nil, errTree
	case q.Gates.Claims && len(tree.Root().Group.Claims) > 0:
		return nil, errClaims
	}
	return tree.Root().Group, nil
}

// copyOf returns a member of the n-th gang, with the claims that are made for it in the snapshot.
func copyOf(s *cluster.Snapshot, pod *v1.Pod, group string, n int) *v1.Pod {
	p := *pod
	p.Name = fmt.Sprintf("%s-more-%d", pod.Name, n)
	p.UID = types.UID(podinfo.Name(&p))
	p.Spec.NodeName, p.Status, p.DeletionTimestamp = "", v1.PodStatus{}, nil
	p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	for _, claim := range podinfo.EphemeralClaims(&p) {
		must.Do(s.Set(claim))
	}
	decider.MakeClaims(s, &p, "claim")
	return &p
}
