package optimal

import (
	"cmp"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// Comeback decides what becomes of victims when their controllers make them again. [NewComeback] makes one. It belongs to one
// goroutine. It forks the snapshot, and follows changes of the snapshot.
type Comeback struct {
	snapshot *cluster.Snapshot
	profile  placement.Profile
	placer   *placement.Placer // over fork
	fork     *cluster.Snapshot // nil: not made yet
	at       uint64            // version of the snapshot when it was forked
	homes    map[*v1.Pod]bool  // whether a pod finds another node
}

// NewComeback returns a [Comeback] over a snapshot, with the profile that decides about pods; a profile without filters and scores
// is [placement.DefaultProfile]. It returns an error for a nil snapshot, for a profile that has Volumes or Devices, and the errors
// of Profile.Validate.
func NewComeback(s *cluster.Snapshot, profile placement.Profile) (*Comeback, error) {
	if s == nil {
		return nil, errNoSnapshot
	}
	profile, err := decider.Profile("optimal", "the search", profile)
	if err != nil {
		return nil, err
	}
	return &Comeback{snapshot: s, profile: profile}, nil
}

var errNoSnapshot = errors.New("optimal: snapshot: required")

// follow forks the snapshot again if it has changed.
func (c *Comeback) follow() error {
	if c.fork != nil && c.at == c.snapshot.Version() {
		return nil
	}
	fork := c.snapshot.Fork()
	placer, err := placement.NewPlacer(fork, c.profile)
	if err != nil {
		return err
	}
	c.placer, c.fork, c.at, c.homes = placer, fork, c.snapshot.Version(), map[*v1.Pod]bool{}
	return nil
}

// Costs are the costs of victims that do not come back.
type Costs struct {
	// Homeless is the cost of a victim that finds no place on another node, and of a victim without controller, which nobody makes
	// again.
	Homeless int64
	// DaemonSet is the cost of a pod of a DaemonSet, which finds a place on no node but its own.
	DaemonSet int64
}

// Cost returns a function for [Options.Cost]. The order has to name the criterion Cost. The function decides about each victim as its
// controller would make it again, in the cluster without the victim, on every node but the victim's. Each victim is decided about
// alone: two victims may find the same place (After decides about all victims together). A pod that is not in the snapshot is
// homeless. The function keeps its answers until the snapshot changes. O(nodes) for each pod.
func (c *Comeback) Cost(costs Costs) func(victim preemption.Placed) int64 {
	return func(victim preemption.Placed) int64 {
		owner := metav1.GetControllerOfNoCopy(victim.Pod)
		switch {
		case owner == nil:
			return costs.Homeless
		case owner.Kind == "DaemonSet":
			return costs.DaemonSet
		case c.follow() != nil:
			return costs.Homeless // the profile is valid, so that this does not happen
		}
		home, known := c.homes[victim.Pod]
		if !known {
			home = c.elsewhere(victim)
			c.homes[victim.Pod] = home
		}
		if home {
			return 0
		}
		return costs.Homeless
	}
}

// elsewhere reports whether another node takes the victim when it is made again.
func (c *Comeback) elsewhere(victim preemption.Placed) bool {
	mark := c.fork.Mark()
	defer c.fork.Rollback(mark)
	if c.fork.Remove(victim.Pod) != nil {
		return false
	}
	a := c.placer.Prepare(again(victim.Pod))
	if a.Rejected() {
		return false
	}
	for _, i := range a.Candidates() {
		if i != victim.Slot && !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool { return p.Check(i) != 0 }) {
			return true
		}
	}
	return false
}

// again returns the pod as its controller would make it again, under the same name.
func again(pod *v1.Pod) *v1.Pod {
	p := *pod
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = nil, nil
	p.Spec.NodeName = ""
	p.Status = v1.PodStatus{}
	return &p
}

// Fate is what becomes of a victim.
type Fate string

// The fates.
const (
	// Moves: a node has room for the victim.
	Moves Fate = "moves"
	// Preempts: the victim preempts other pods when it is made again.
	Preempts Fate = "preempts"
	// Starves: no node takes the victim. The victim waits until other pods leave.
	Starves Fate = "starves"
	// Lost: the victim has no controller, and nobody makes it again.
	Lost Fate = "lost"
)

// Return says what becomes of one victim.
type Return struct {
	Pod  *v1.Pod
	Fate Fate
	// Node is where the victim goes, for Moves and Preempts.
	Node string
	// By is the pod for which the victim left: the preemptor, or a victim that preempts.
	By *v1.Pod
	// Why is what kube-scheduler would report, for Starves.
	Why string
}

// After decides about the victims of a candidate when the preemptor runs on the candidate's node and controllers make the
// victims again. kube-scheduler's rules decide about all victims together, the highest priority first. A victim may preempt pods of
// still lower priority; these follow in the list. Victims without controller are lost. A victim that [Starves] does not come back. A
// victim that [Preempts] makes other pods leave in its place. o has the budgets and the time; its other fields count
// as well. The errors are those of the snapshot for victims and preemptors that do not belong to it. O(victims) decisions.
func (c *Comeback) After(preemptor *v1.Pod, candidate preemption.Candidate, o placement.PreemptOptions) (_ []Return, err error) {
	defer must.Catch(&err)
	return c.after(preemptor, candidate, o), nil
}

func (c *Comeback) after(preemptor *v1.Pod, candidate preemption.Candidate, o placement.PreemptOptions) (out []Return) {
	must.Do(c.follow())
	mark := c.fork.Mark()
	defer c.fork.Rollback(mark)
	leave := func(victims []preemption.Victim, by *v1.Pod) {
		for _, v := range victims {
			must.Do(c.fork.Remove(v.Pod))
			out = append(out, Return{Pod: v.Pod, By: by, Fate: Lost})
		}
	}
	leave(candidate.Victims, preemptor)
	must.Do(c.fork.Assume(preemptor, candidate.Slot))
	for k := 0; k < len(out); k++ {
		slices.SortStableFunc(out[k:], func(a, b Return) int {
			return cmp.Compare(preemption.Priority(b.Pod), preemption.Priority(a.Pod))
		})
		r := out[k] // leave appends to out
		if metav1.GetControllerOfNoCopy(r.Pod) == nil {
			continue
		}
		victims := c.comeBack(&r, o)
		out[k] = r
		leave(victims, r.Pod)
		if r.Node != "" {
			must.Do(c.fork.Assume(again(r.Pod), c.fork.Slot(r.Node)))
		}
	}
	return out
}

// comeBack decides about one victim and returns its own victims.
func (c *Comeback) comeBack(r *Return, o placement.PreemptOptions) []preemption.Victim {
	pod := again(r.Pod)
	d := c.placer.Decide(pod, placement.Options{})
	if d.Placed() {
		r.Fate, r.Node = Moves, d.Node
		return nil
	}
	must.Do(d.Failure.Err)
	p := c.placer.Preempt(pod, d.Failure, placement.Options{}, o)
	if p.Outcome == preemption.Success {
		r.Fate, r.Node = Preempts, p.Node
		return p.Victims
	}
	must.Do(p.Err)
	r.Fate, r.Why = Starves, d.Failure.Text()
	return nil
}
