package failures

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/preemption"
)

// tally counts what was compared.
type tally struct{ scenarios, attempts, placed, ties, pending, preempted int }

func (n tally) String() string {
	return fmt.Sprintf("%d scenarios, %d attempts: %d placed (%d of them at another of several best nodes), %d rejected, %d preempted", n.scenarios, n.attempts, n.placed, n.ties, n.pending, n.preempted)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kube starts kube-scheduler.
func kube(t *testing.T) *real.Scheduler {
	t.Helper()
	s, err := compare.EveryNode(t.Context())
	must(t, err)
	return s
}

// profile is podberth's.
func profile() placement.Profile {
	p := placement.DefaultProfile()
	p.Sampling = placement.AllNodes()
	return p
}

// play plays the scenarios on both sides and returns what differs.
func play(k *real.Scheduler, in failures.Input, o cluster.Objects, choose func(*failures.Planner) []failures.Scenario, n *tally) (differences []string, err error) {
	s, err := cluster.New(o)
	if err != nil {
		return nil, err
	}
	in.Snapshot, in.Profile, in.Now = s, profile(), gen.Now
	p, err := failures.New(in)
	if err != nil {
		return nil, err
	}
	scenarios := choose(p)
	attempts := make([][]failures.Attempt, len(scenarios))
	results, err := p.Run(scenarios, failures.Options{Observe: func(i int, a failures.Attempt) { attempts[i] = append(attempts[i], a) }})
	if err != nil {
		return nil, err
	}
	for i, x := range scenarios {
		found, err := replay(k, without(o, x.Nodes), attempts[i], &results[i], n)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", x.Name, err)
		}
		for _, d := range found {
			differences = append(differences, "scenario "+x.Name+": "+d)
		}
	}
	return differences, nil
}

// without returns the objects without some nodes and the pods on them.
func without(o cluster.Objects, nodes []string) cluster.Objects {
	o.Nodes = slices.DeleteFunc(slices.Clone(o.Nodes), func(n *v1.Node) bool { return slices.Contains(nodes, n.Name) })
	o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool { return slices.Contains(nodes, p.Spec.NodeName) })
	return o
}

// replay feeds kube-scheduler the attempts of one scenario, and places pods where podberth does. A plan that is made of what is
// left decides too: it has no work of other scenarios.
func replay(k *real.Scheduler, o cluster.Objects, attempts []failures.Attempt, result *failures.Result, n *tally) (differences []string, err error) {
	n.scenarios++
	if err := k.Load(compare.Copy(&gen.Cluster{Objects: o})); err != nil {
		return nil, err
	}
	s, err := cluster.New(o)
	if err != nil {
		return nil, err
	}
	fresh, err := placement.NewPlacer(s, profile())
	if err != nil {
		return nil, err
	}
	differ := func(a failures.Attempt, format string, args ...any) {
		differences = append(differences, fmt.Sprintf("pod %s/%s: %s", a.Pod.Namespace, a.Pod.Name, fmt.Sprintf(format, args...)))
	}
	pending := map[string]bool{} // by the last attempt of each name
	for _, a := range attempts {
		n.attempts++
		pod, name := a.Pod.DeepCopy(), a.Pod.Namespace+"/"+a.Pod.Name
		if err := k.Know(pod); err != nil {
			return nil, err
		}
		theirs, err := k.Attempt(pod)
		if err != nil {
			return nil, err
		}
		d := fresh.Decide(a.Pod, placement.Options{})
		cut := d.Failure != nil && d.Failure.Err != nil // by an error: which nodes come before the error depends on the scan order
		if d.Placed() != a.Decision.Placed() || d.Total != a.Decision.Total || d.Feasible != a.Decision.Feasible && !cut {
			differ(a, "%s with %d of %d; a plan of what is left says %s with %d of %d", a.Decision.Node, a.Decision.Total, a.Decision.Feasible, d.Node, d.Total, d.Feasible)
			return differences, nil
		}
		if a.Decision.Placed() {
			if d.Node != a.Decision.Node { // zones have another order when the first node of one is gone
				if text := tied(fresh, a.Pod, d, a.Decision.Node); text != "" {
					differ(a, "%s", text)
				}
				d.Node, d.Slot = a.Decision.Node, s.Slot(a.Decision.Node)
				d.Volumes = fresh.Prepare(a.Pod).Volumes(d.Slot)
			}
			n.placed++
			pending[name] = false
			if theirs.Err != nil {
				differ(a, "kube-scheduler says %v, podberth places it on %s", theirs.Err, d.Node)
				return differences, nil
			}
			if theirs.Result.FeasibleNodes != d.Feasible {
				differ(a, "kube-scheduler finds %d feasible nodes, podberth %d", theirs.Result.FeasibleNodes, d.Feasible)
			}
			if host := theirs.Result.SuggestedHost; host != d.Node {
				n.ties++
				if text := tied(fresh, a.Pod, d, host); text != "" {
					differ(a, "%s", text)
				}
			}
			if err := errors.Join(theirs.Reserve(d.Node), fresh.Assume(a.Pod, d)); err != nil {
				return nil, err
			}
			continue
		}
		pending[name] = true
		if a.Nominated != "" {
			n.preempted++
			if text := preempts(theirs, fresh, a, d); text != "" {
				differ(a, "%s", text)
				return differences, nil
			}
			for _, v := range a.Victims {
				pending[v.Namespace+"/"+v.Name] = false
				if err := errors.Join(k.Remove(v), s.Remove(v)); err != nil {
					return nil, err
				}
			}
			continue
		}
		n.pending++
		switch {
		case errors.Is(theirs.Err, scheduler.ErrNoNodesAvailable):
		case d.Failure.Err != nil && theirs.Err != nil && theirs.Err.Error() == d.Failure.Err.Error():
		case theirs.Fit() == nil:
			differ(a, "kube-scheduler places it on %q (%v), podberth says %s", theirs.Result.SuggestedHost, theirs.Err, d.Failure.Text())
			return differences, nil
		default:
			if full := theirs.PostFilter(); full != a.Decision.Failure.Text() {
				differ(a, "message: kube-scheduler %q, podberth %q", full, a.Decision.Failure.Text())
			}
		}
	}
	for _, x := range result.Pods {
		if x.Instead != "" && pending[x.Instead] {
			differences = append(differences, fmt.Sprintf("pod %s: podberth says that %s runs in its place, and kube-scheduler leaves that pending", x.Pod.Name, x.Instead))
		}
		if x.Instead != "" {
			continue
		}
		stays := x.Fate == failures.Pending && result.Groups[x.Group].Cause != failures.Refused && result.Groups[x.Group].Cause != failures.Gates
		if name := x.Pod.Namespace + "/" + x.Pod.Name; pending[name] != stays {
			differences = append(differences, fmt.Sprintf("pod %s: kube-scheduler leaves it pending: %t, podberth: %t", name, pending[name], stays))
		}
	}
	return differences, nil
}

// tied returns why kube-scheduler's node is not as good as podberth's, "" when it is.
func tied(plan *placement.Placer, pod *v1.Pod, d placement.Decision, host string) string {
	a := plan.Prepare(pod)
	feasible := a.Search(placement.Options{}).Feasible
	_, totals, err := a.Scores(feasible)
	if err != nil {
		return err.Error()
	}
	slot, _ := plan.Slot(host)
	at := slices.Index(feasible, slot)
	if at < 0 || totals[at] != slices.Max(totals) || totals[at] != d.Total {
		return fmt.Sprintf("%s was taken, a plan of what is left takes %s with %d, and they are not equally good", host, d.Node, d.Total)
	}
	return ""
}

// preempts returns how kube-scheduler's preemption differs from podberth's, "" when it does not. The last criterion, which kube-scheduler
// leaves to chance, is podberth's.
func preempts(theirs *real.Attempt, plan *placement.Placer, a failures.Attempt, d placement.Decision) string {
	if theirs.Fit() == nil {
		return fmt.Sprintf("kube-scheduler says %q %v, podberth preempts", theirs.Result.SuggestedHost, theirs.Err)
	}
	found, err := theirs.PreemptFrom(0, config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100})
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, v := range a.Victims {
		names = append(names, v.Namespace+"/"+v.Name)
	}
	at := slices.IndexFunc(found.Candidates, func(v real.Victims) bool { return v.Node == a.Nominated })
	if at < 0 || !slices.Equal(found.Candidates[at].Pods, names) {
		return fmt.Sprintf("podberth takes %s with %v, kube-scheduler's candidates are %v", a.Nominated, names, found.Candidates)
	}
	again := plan.Preempt(a.Pod, d.Failure, placement.Options{}, placement.PreemptOptions{Now: gen.Now})
	if again.Node != a.Nominated || found.Chosen != a.Nominated && again.Criterion != preemption.SmallestName {
		return fmt.Sprintf("kube-scheduler chooses %s, podberth %s, a plan of what is left %s by %s", found.Chosen, a.Nominated, again.Node, again.Criterion)
	}
	return ""
}

// owned gives pods without a controller one that is not among the objects, so that they come back as they were.
func owned(pods []*v1.Pod) {
	for _, p := range pods {
		if p.UID == "" {
			p.UID = types.UID(p.Namespace + "/" + p.Name)
		}
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Rollout", Name: p.Name, UID: p.UID, Controller: &yes}}
	}
}

// nodesAndZones returns the scenarios of at most so many nodes, evenly taken, and of each zone.
func nodesAndZones(most int) func(p *failures.Planner) []failures.Scenario {
	return func(p *failures.Planner) []failures.Scenario {
		all := p.Nodes()
		var out []failures.Scenario
		for i := range min(most, len(all)) {
			out = append(out, all[i*len(all)/min(most, len(all))])
		}
		return append(out, p.By(v1.LabelTopologyZone)...)
	}
}

func report(t *testing.T, differences []string, n *tally) {
	t.Helper()
	if len(differences) > 0 {
		t.Errorf("%d differences, the first:\n%s", len(differences), strings.Join(differences[:min(5, len(differences))], "\n"))
	}
	if n.attempts == 0 {
		t.Error("nothing was compared")
	}
	t.Log(n)
}
