package upgrade

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/internal/must"
)

// mix says which release each part of a decision follows.
type mix struct {
	profile, fit, balance, spread, affinity, volumes, rows, victims, message release.Version
}

func all(v release.Version) mix { return mix{v, v, v, v, v, v, v, v, v} }

// scheduler is the default profile of a mix of releases over the cluster.
type scheduler struct {
	mix      mix
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	budgets  *disruption.Budgets
	held     *placement.Nominations // of pending pods
}

// newScheduler makes a scheduler of a mix of releases, over arguments that feature gates give.
func newScheduler(m *dump.Objects, args placement.PluginArgs, x mix) *scheduler {
	objects := m.Cluster()
	objects.Release = x.rows
	s := must.Get(cluster.New(objects))
	args.Release, args.Devices.Compiler = x.profile, cel.NewCompiler()
	args.NodeResourcesFit.Fit.Release, args.BalancedAllocation.Release, args.PodTopologySpread.Release = x.fit, x.balance, x.spread
	args.InterPodAffinity.Release, args.Volumes.Release = x.affinity, x.volumes
	profile := args.Profile()
	profile.Sampling = placement.AllNodes()
	p := must.Get(placement.NewPlacer(s, profile))
	waiting := slices.DeleteFunc(slices.Clone(m.Pods), func(pod *v1.Pod) bool {
		return !dump.Pending(pod) || cluster.Finished(pod) || !profile.Schedules(pod)
	})
	return &scheduler{x, s, p, disruption.NewBudgets(m.PodDisruptionBudgets, disruption.BudgetOptions{}), placement.NewNominations(s, waiting)}
}

// ask returns what happens to a pending pod: each pod is asked about alone, on the cluster as the dump has it. Other
// pending pods hold room on the nodes that they are nominated to.
func (s *scheduler) ask(pod *v1.Pod) verdict {
	if message, gated := filter.Gated(pod); gated {
		return verdict{Outcome: "Gated", Message: message}
	}
	nominated := s.held.Options(pod, 0)
	d := s.placer.Decide(pod, nominated)
	if d.Placed() {
		return verdict{Outcome: "Scheduled", Node: d.Node}
	}
	if d.Failure.Err != nil {
		return verdict{Outcome: "Error", Message: d.Failure.Text()}
	}
	o := preemption.PostFilterOutcome{Stopped: d.Failure.Code == filter.UnschedulableAndUnresolvable, Devices: s.devices(d.Failure)}
	r := s.placer.Preempt(pod, d.Failure, nominated, placement.PreemptOptions{Budgets: s.budgets, Options: preemption.Options{Release: s.mix.victims}})
	o.Preemption = r.Message
	if r.Outcome == preemption.Success {
		o.Node, o.Victims = r.Node, len(r.Victims)
	}
	message := d.Failure.Message
	message.PostFilter = preemption.PostFilterText(s.mix.message, o)
	text := message.String()
	if d.Failure.Message.Nodes == 0 {
		text = d.Failure.Text()
	}
	return verdict{Outcome: "Unschedulable", NominatedNode: o.Node, Message: text}
}

// devices returns the text of DynamicResources about a pod that no node can take.
func (s *scheduler) devices(f *placement.Failure) string {
	if a := s.placer.Failed(f); a != nil {
		for _, p := range a.Predicates {
			if r, ok := p.(interface{ Freed() devices.Freed }); ok {
				return r.Freed().Reason
			}
		}
	}
	return ""
}

// readmit returns why the node of a running pod would not take the pod if the pod came now; nil when the node would.
func (s *scheduler) readmit(pod *v1.Pod) (reasons []string) {
	slot := s.snapshot.Slot(pod.Spec.NodeName)
	if slot < 0 {
		return nil
	}
	must.Do(s.snapshot.Remove(pod))
	fresh := pod.DeepCopy()
	fresh.Spec.NodeName = ""
	a := s.placer.Prepare(fresh)
	switch {
	case a.Pre.Err != nil:
		reasons = []string{a.Pre.Err.Error()}
	case a.Rejected():
		reasons = []string{a.Pre.Message}
	case !slices.Contains(a.Candidates(), slot):
		reasons = []string{"the node is not among those that the plugins name"}
	default:
		if v := a.Predicates.First(slot); v.Verdict != 0 {
			reasons = a.Predicates.Reasons(v, slot)
		}
	}
	must.Do(s.snapshot.Set(pod))
	return reasons
}
