package rollout

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/explain"
)

// own gives the answer the owners of its pods, and says for each owner why its pods have no node before the rollout and in the end: what
// the scheduler says about the first of them now.
func (in *input) own(a *rolloutPlan) error {
	pods := map[string]*v1.Pod{}
	for _, p := range in.objects.Pods {
		pods[dump.Name(p)] = p
	}
	a.owners = map[string]string{}
	for _, d := range a.Blocked {
		for _, name := range d.Pods {
			if p := pods[name]; p != nil {
				a.owners[name] = dump.Owner(p)
			}
		}
	}
	if len(a.Waiting) == 0 {
		return nil
	}
	placer, err := placement.NewPlacer(in.snapshot.Fork(), in.profile)
	if err != nil {
		return err
	}
	at := map[string]int{} // by namespace and owner; pods without an owner stand alone
	for _, name := range a.Waiting {
		p := pods[name]
		if p == nil {
			continue
		}
		owner := dump.Owner(p)
		if group, member := podgroup.Of(p); owner == "" && member && in.groups != nil {
			owner = "PodGroup " + group
		}
		key := p.Namespace + "/" + owner
		if owner == "" {
			key = name
		}
		if k, ok := at[key]; ok {
			a.waits[k].pods = append(a.waits[k].pods, name)
			continue
		}
		at[key] = len(a.waits)
		w := waiting{owner: owner, pods: []string{name}}
		if d, stuck := in.decided(placer, p); d.Failure != nil {
			w.cause = cmp.Or(stuck, d.Failure.Text())
		} else {
			w.cause = "it would fit on " + d.Node + " now, and other pods take the place"
		}
		a.waits = append(a.waits, w)
	}
	return nil
}

// decided is what the scheduler would say about a pod now, with the pods of its group that wait. stuck says which of these has no node.
func (in *input) decided(placer *placement.Placer, pod *v1.Pod) (d placement.Decision, stuck string) {
	o := placement.GroupOptions{}
	if in.groups != nil {
		o.Gates = *in.groups
	}
	waiting := []*v1.Pod{pod}
	if group, member := podgroup.Of(pod); member {
		for _, p := range in.objects.Pods {
			if other, _ := podgroup.Of(p); p != pod && dump.Pending(p) && other == group && p.Namespace == pod.Namespace {
				waiting = append(waiting, p)
			}
		}
	}
	e := placement.Entries(in.snapshot, waiting, in.groups)[0]
	members := placer.DecideEntry(e, o)
	if e.Grouped {
		stuck = explain.Stuck(members)
	}
	members[0].Decision.Failure = members[0].Why()
	return members[0].Decision, stuck
}
