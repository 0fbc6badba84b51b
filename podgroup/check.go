package podgroup

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Check reports the first member that disagrees with its root: queued are the queued members, leaf by leaf, each leaf in the order of
// [CompareMembers]; scheduled are the members on nodes. Both are members of all leaves of the tree. The error has kube-scheduler's text.
//
//  1. All members have the scheduler of the first queued member.
//  2. All members have the priority of the root.
//  3. All members have the preemption policy of the first queued member; with the gate PreemptionPolicy, the policy of the root.
//
// Priorities of groups between the root and the pods do not count. Without queued members there is no error.
func Check(root *Spec, queued, scheduled []*v1.Pod, g Gates) error {
	if len(queued) == 0 {
		return nil
	}
	first := queued[0]
	for _, list := range [...][]*v1.Pod{queued, scheduled} {
		for _, p := range list {
			if err := checkMember(p, first, root, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkMember(p, first *v1.Pod, root *Spec, g Gates) error {
	if have, want := podinfo.SchedulerName(p), podinfo.SchedulerName(first); have != want {
		return fmt.Errorf("all pods in a single pod group should have the same .spec.schedulerName set, got: %q and %q", have, want)
	}
	if have, want := podinfo.Priority(p), root.EffectivePriority(); have != want {
		return fmt.Errorf("all pods in a single pod group should have the same priority as the pod group's priority, got %d and %d", have, want)
	}
	have := policy(p.Spec.PreemptionPolicy)
	if g.PreemptionPolicy {
		if want := policy(root.PreemptionPolicy); have != want {
			return fmt.Errorf("all pods in a single pod group should have the same preemption policy as the pod group's preemption policy, got %s and %s", have, want)
		}
		return nil
	}
	if want := policy(first.Spec.PreemptionPolicy); have != want {
		return fmt.Errorf("all pods in a single pod group should have the same preemption policy, got %s and %s", have, want)
	}
	return nil
}
