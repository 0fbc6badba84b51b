package place

import (
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/internal/must"
)

// mostCauses is how many different rows of a table have causes. The others have the scheduler's messages.
const mostCauses = 100

// causes fills in why the pods wait that the cluster as it is now has no node for. Pods of one controller with one message share a cause,
// but pods with claims of their own do not. A pod for which there is room now, such as one that backs off, keeps the message of its last
// attempt.
func (x *simulation) causes(pods []podState) (err error) {
	defer must.Catch(&err)
	known := map[alike]string{}
	plans := map[string]*placement.Plan{}
	x.w.s.View(func(c *cluster.Snapshot) {
		for i := range pods {
			s := &pods[i]
			pod := x.w.pods[s.Pod]
			if s.Outcome != outcomeUnschedulable && s.Outcome != outcomeGated && s.Outcome != outcomeError || pod == nil {
				continue
			}
			k := s.kind()
			if s.owner == "" || len(pod.Spec.Volumes) > 0 || len(pod.Spec.ResourceClaims) > 0 {
				k.owner = s.Pod
			}
			text, ok := known[k]
			if !ok && len(known) < mostCauses {
				plan := plans[s.SchedulerName]
				if plan == nil {
					plan = must.Get(placement.New(c, x.profile(pod)))
					plans[s.SchedulerName] = plan
				}
				if cause := diagnose.CauseOf(plan, c, pod, x.w.beside(pod)...); cause != nil {
					text = cause.Text
				}
				known[k] = text
			}
			s.cause = text
		}
	})
	return nil
}

// alike is what pods of one row have in common.
type alike struct {
	namespace, owner, outcome, message, cause string
	priority                                  int32
}

func (s podState) kind() alike {
	return alike{s.Namespace, s.owner, s.Outcome, s.Message, s.cause, s.Priority}
}
