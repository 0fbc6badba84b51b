package rollout

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/dump"
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
		if d := placer.Decide(p, placement.Options{}); d.Failure != nil {
			w.cause = d.Failure.Text()
		} else {
			w.cause = "it would fit on " + d.Node + " now, and other pods take the place"
		}
		a.waits = append(a.waits, w)
	}
	return nil
}
