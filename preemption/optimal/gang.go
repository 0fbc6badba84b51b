package optimal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// Gang is a set of pods that must come together. Snapshot and Pods are required.
type Gang struct {
	// Snapshot has the nodes, the pods on them, and the disruption budgets. PlaceGang forks it.
	Snapshot *cluster.Snapshot
	// Profile decides; without filters and scores it is placement.DefaultProfile. Its Volumes and Devices must be nil.
	Profile placement.Profile
	// Pods are the pods of the gang. None of them runs. No pod of the gang is a victim of another.
	Pods []*v1.Pod
	// Now is the start time of pods without a start time.
	Now time.Time
}

// GangPlan says where the pods of a gang go and which pods leave for them.
type GangPlan struct {
	// Placed is true if all pods of the gang have a node. Otherwise Nodes and Victims are empty, and Message says why the first pod
	// that finds no place does not.
	Placed  bool
	Message string
	// Nodes has the node of each pod, in the order of Gang.Pods.
	Nodes []string
	// Victims are the pods that leave, most important first. Violations of them break a disruption budget.
	Victims    []preemption.Victim
	Violations int
	// Minimal is true if no victim can stay: with any one of the victims in its place, a decision about the gang, with Nodes as
	// nominations, leaves a pod of the gang without a node.
	Minimal bool
}

// PlaceGang places all pods of a gang or none, with victims of lower priority than the pods of the gang:
//
//  1. It decides about the pods one after the other: the highest priority first, and pods of equal priority in the order of
//     [Gang.Pods]. For a pod without a place it searches the best victims ([New]). Budgets and quorums count the victims of the pods
//     before.
//  2. If that fails, all pods that may be victims leave: first only those on the nodes where the gang then goes. With a pod that must
//     not preempt (preemptionPolicy Never) no pod leaves here.
//  3. Victims come back if the gang still finds places without them leaving. Victims that break a budget are tried first, then
//     the others. In both groups the more important pod is tried first.
//
// The victims of each pod are the best; the victims of all pods together need not be the best of all sets. If the decisions find no
// place for the gang in a cluster without any pod of lower priority, the gang has no place; for pods of different size on nodes of
// different size another order of the pods may find one. Of the options, Steps also bounds the
// decisions of step 3. The errors are those of New and Profile.Validate, and errors for a nil snapshot, a nil pod, a pod that the
// list has twice or that runs already, and a profile that has Volumes or Devices.
func PlaceGang(g Gang, o Options) (_ GangPlan, err error) {
	defer must.Catch(&err)
	p := must.Get(newGang(g, o))
	if len(g.Pods) == 0 {
		return GangPlan{Placed: true, Minimal: true}, nil
	}
	victims, nodes := p.oneByOne()
	if nodes != nil {
		nodes, _ = p.try(victims, nodes)
	}
	if nodes == nil {
		message := ""
		if victims, nodes, message = p.all(); nodes == nil {
			return GangPlan{Message: message}, nil
		}
	}
	out := GangPlan{Placed: true}
	out.Minimal = p.reprieve(&victims, &nodes)
	if out.Victims = p.drawn(victims); !p.allowed(victims) {
		return GangPlan{Message: refusedVictims}, nil
	}
	for _, v := range out.Victims {
		if v.Violates {
			out.Violations++
		}
	}
	out.Nodes = make([]string, len(g.Pods))
	for k, at := range p.order {
		out.Nodes[at] = nodes[k]
	}
	return out, nil
}

const refusedVictims = "no acceptable preemption victims"

// gang is the work on one gang.
type gang struct {
	Gang
	o       Options
	search  *Search
	order   []int // positions in Gang.Pods, the highest priority first
	lowest  int32 // priority in the gang
	never   bool  // a pod of the gang must not preempt
	budgets []*policyv1.PodDisruptionBudget
	taken   map[string]int // by workload: pods that leave
	steps   int            // left
}

func newGang(g Gang, o Options) (*gang, error) {
	if g.Snapshot == nil {
		return nil, errNoSnapshot
	}
	p := &gang{Gang: g, o: o, taken: map[string]int{}, lowest: math.MaxInt32, steps: cmp.Or(o.Steps, defaultSteps)}
	names := map[string]bool{}
	for k, pod := range g.Pods {
		if pod == nil {
			return nil, fmt.Errorf("optimal: pods[%d]: Required value: must not be nil", k)
		}
		name := podinfo.Name(pod)
		if names[name] || g.Snapshot.Pod(pod.Namespace, pod.Name) != nil {
			return nil, fmt.Errorf("optimal: pods[%d]: Duplicate value: %q", k, name)
		}
		names[name] = true
		p.order = append(p.order, k)
		p.never = p.never || pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == v1.PreemptNever
		p.lowest = min(p.lowest, preemption.Priority(pod))
	}
	slices.SortStableFunc(p.order, func(a, b int) int {
		return cmp.Compare(preemption.Priority(g.Pods[b]), preemption.Priority(g.Pods[a]))
	})
	p.budgets = slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](g.Snapshot).All())
	var err error
	if p.Profile, err = decider.Profile("optimal", "the search", g.Profile); err != nil {
		return nil, err
	}
	if o.Quorum != nil {
		o.Quorum = func(pod *v1.Pod) (string, int) {
			name, leave := p.o.Quorum(pod)
			return name, leave - p.taken[name]
		}
	}
	p.search, err = New(o)
	return p, err
}

// oneByOne decides about the pods in order. nodes is nil if a pod finds no place.
func (p *gang) oneByOne() (victims []preemption.Placed, nodes []string) {
	s := p.Snapshot.Fork()
	placer := must.Get(placement.NewPlacer(s, p.Profile))
	budgets := p.budgets
	for _, k := range p.order {
		pod := p.Pods[k]
		d := placer.Decide(pod, placement.Options{})
		if d.Placed() {
			must.Do(placer.Assume(pod, d))
			nodes = append(nodes, d.Node)
			continue
		}
		must.Do(d.Failure.Err)
		r := placer.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{
			Budgets: disruption.NewBudgets(budgets, disruption.BudgetOptions{}), Now: p.Now, Options: p.search.Options(preemption.Options{
				Eligible: p.outside(),
			}),
		})
		if r.Outcome != preemption.Success {
			must.Do(r.Err)
			return nil, nil
		}
		for _, v := range r.Victims {
			must.Do(s.Remove(v.Pod))
			victims = append(victims, v.Placed)
			if p.o.Quorum != nil {
				name, _ := p.o.Quorum(v.Pod)
				p.taken[name]++
			}
		}
		budgets = charged(p.budgets, victims)
		must.Do(s.Assume(pod, r.Slot))
		nodes = append(nodes, r.Node)
	}
	return victims, nodes
}

// outside returns nil, or what keeps the pods of the gang from being victims if their priorities differ from the lowest.
func (p *gang) outside() func(i int, victim, preemptor *v1.Pod) bool {
	if p.lowest == preemption.Priority(p.Pods[p.order[0]]) {
		return nil
	}
	return func(_ int, victim, _ *v1.Pod) bool { return preemption.Priority(victim) < p.lowest }
}

// charged returns the budgets after some pods have left.
func charged(budgets []*policyv1.PodDisruptionBudget, victims []preemption.Placed) (out []*policyv1.PodDisruptionBudget) {
	all := disruption.NewBudgets(budgets, disruption.BudgetOptions{})
	used := make([]int32, len(budgets))
	for _, v := range victims {
		for _, b := range all.AppendMatches(nil, v.Pod.Namespace, v.Pod.Labels) {
			if _, granted := budgets[b].Status.DisruptedPods[v.Pod.Name]; !granted {
				used[b]++
			}
		}
	}
	for k, b := range budgets {
		b = b.DeepCopy()
		b.Status.DisruptionsAllowed -= used[k]
		out = append(out, b)
	}
	return out
}

// try decides about the gang in a cluster without the victims. Each pod is nominated to its node; nodes may be nil. The result is
// nil if a pod finds no place, and message says why.
func (p *gang) try(victims []preemption.Placed, nodes []string) (found []string, message string) {
	p.steps--
	s := p.Snapshot.Fork()
	for _, v := range victims {
		must.Do(s.Remove(v.Pod))
	}
	placer := must.Get(placement.NewPlacer(s, p.Profile))
	var pods []*v1.Pod
	for at, k := range p.order {
		pod := p.Pods[k]
		if nodes != nil {
			nominated := *pod
			nominated.Status.NominatedNodeName = nodes[at]
			pod = &nominated
		}
		pods = append(pods, pod)
	}
	decisions, err := placer.PlaceAll(pods, placement.Options{})
	if none := (*placement.NoPlaceError)(nil); errors.As(err, &none) && none.Failure.Err == nil {
		return nil, none.Failure.Text()
	}
	must.Do(err)
	for _, d := range decisions {
		found = append(found, d.Node)
	}
	return found, ""
}

// all finds places for the gang when all pods that may be victims leave. If the pods on the gang's nodes are enough, the victims are
// these.
func (p *gang) all() (victims []preemption.Placed, nodes []string, message string) {
	s := p.Snapshot
	for i := range s.Len() {
		if s.Node(i) == nil || p.never {
			continue
		}
		for q := range s.Pods(i) {
			if preemption.Priority(q) < p.lowest {
				victims = append(victims, preemption.Placed{Pod: q, Slot: i})
			}
		}
	}
	if nodes, message = p.try(victims, nil); nodes == nil {
		return nil, nil, message
	}
	near := slices.DeleteFunc(slices.Clone(victims), func(v preemption.Placed) bool {
		return !slices.Contains(nodes, s.Node(v.Slot).Name)
	})
	if found, _ := p.try(near, nodes); found != nil {
		victims, nodes = near, found
	}
	return victims, nodes, ""
}

// reprieve lets victims come back, and reports whether every victim that is left was tried.
func (p *gang) reprieve(victims *[]preemption.Placed, nodes *[]string) (minimal bool) {
	for _, violating := range [...]bool{true, false} {
		for _, v := range p.drawn(*victims) {
			if v.Violates != violating {
				continue
			}
			if p.steps <= 0 || p.o.Stop != nil && p.o.Stop() {
				return false
			}
			rest := slices.DeleteFunc(slices.Clone(*victims), func(q preemption.Placed) bool { return q.Pod == v.Pod })
			if found, _ := p.try(rest, *nodes); found != nil {
				*victims, *nodes = rest, found
			}
		}
	}
	return p.settled(*victims, *nodes)
}

// settled reports whether no victim can stay. A pod that could not come back may be able to when another pod is back.
func (p *gang) settled(victims []preemption.Placed, nodes []string) bool {
	for k := range victims {
		if p.steps <= 0 {
			return false
		}
		if found, _ := p.try(slices.Delete(slices.Clone(victims), k, k+1), nodes); found != nil {
			return false
		}
	}
	return true
}

// drawn returns the victims, most important first, and whether they break a budget.
func (p *gang) drawn(victims []preemption.Placed) (out []preemption.Victim) {
	for _, v := range victims {
		out = append(out, preemption.Victim{Placed: v})
	}
	slices.SortStableFunc(out, func(a, b preemption.Victim) int { return podinfo.CompareImportance(a.Pod, b.Pod, p.Now) })
	budgets := disruption.NewBudgets(p.budgets, disruption.BudgetOptions{})
	ledger := budgets.Ledger()
	for k := range out {
		pod := out[k].Pod
		out[k].Violates = ledger.Take(budgets.AppendMatches(nil, pod.Namespace, pod.Labels), pod.Name)
	}
	return out
}

// allowed reports whether the options allow the victims together.
func (p *gang) allowed(victims []preemption.Placed) bool {
	if p.o.NeverViolate && slices.ContainsFunc(p.drawn(victims), func(v preemption.Victim) bool { return v.Violates }) {
		return false
	}
	left := map[string]int{}
	for _, v := range victims {
		if p.o.Quorum == nil {
			break
		}
		name, leave := p.o.Quorum(v.Pod)
		if left[name]++; name != "" && left[name] > leave {
			return false
		}
	}
	return true
}
