package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// ofOthers returns why a pod waits whose scheduler is another one than that of the profile: nobody of that name is known, or a pod of that name
// decides. The remedy is the scheduler of the profile: its name looks alike, or the other scheduler may be needless.
func ofOthers(in Input, pod *v1.Pod) (*Cause, *Remedy, error) {
	profile, err := profileOf(in)
	if err != nil {
		return nil, nil, err
	}
	if profile.Schedules(pod) {
		return nil, nil, nil
	}
	ours, theirs, owner := cmp.Or(profile.SchedulerName, v1.DefaultSchedulerName), pod.Spec.SchedulerName, ownerOf(in.Snapshot, pod)
	cause := &Cause{Type: causeScheduler, Object: owner.String(), Field: owner.path + "spec.schedulerName", Wanted: theirs, Found: ours}
	if decides := runs(in.Snapshot, theirs); decides != "" {
		cause.Found = decides
		cause.Text = fmt.Sprintf("schedulerName is %s: scheduler %s decides about it (pod %s)", theirs, theirs, decides)
		return cause, nil, nil
	}
	alike := near.Value(theirs, ours)
	cause.Text = fmt.Sprintf("schedulerName is %s, and no profile and no pod has this name", theirs)
	c := Change{Kind: Mend, Object: owner.String(), Path: cause.Field, From: theirs, To: ours, Again: owner.again, pod: pod, edit: func(p *v1.Pod, _ int64) { p.Spec.SchedulerName = ours }}
	edited := pod.DeepCopy()
	c.edit(edited, 0)
	d := must.Get(placement.New(in.Snapshot, profile)).Decide(edited, placement.Options{})
	if !d.Placed() {
		return cause, nil, nil
	}
	r := &Remedy{Changes: []Change{c}, Node: d.Node, Run: 1, Of: 1}
	if alike {
		cause.Text += "; near: " + ours
		r.Text = fmt.Sprintf("%s: then it goes to %s", c.Text(), d.Node)
	} else {
		r.Text = fmt.Sprintf("start %s, or %s: %s: %s: then it goes to %s", theirs, c.object(), c.Path, ours, d.Node)
	}
	return cause, r, nil
}

// runs returns a running pod that is a scheduler of a name: its own name, or a label of it, has the name. "" for none.
func runs(s *cluster.Snapshot, scheduler string) string {
	for _, i := range s.Order() {
		for p := range s.Pods(int(i)) {
			named := slices.ContainsFunc([]string{"app", "component", "k8s-app", "app.kubernetes.io/name", "app.kubernetes.io/component"}, func(key string) bool { return p.Labels[key] == scheduler })
			if named || p.Name == scheduler || strings.HasPrefix(p.Name, scheduler+"-") {
				return p.Namespace + "/" + p.Name
			}
		}
	}
	return ""
}
