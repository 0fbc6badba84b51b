package failures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/explain"
	"github.com/podberth/podberth/tools/report"
)

// waiting is pods of one workload that no node takes before any failure.
type waiting struct {
	Workload string          `json:"workload"`      // kind and NAMESPACE/NAME of the controller; without one of the group, or of the pod
	Pods     int             `json:"pods"`          // how many of its pods wait
	Of       int             `json:"of"`            // how many pods it has
	Cause    string          `json:"cause"`         // why the first of them waits
	Why      *diagnose.Cause `json:"why,omitempty"` // the cause that "why" gives; absent when the API server refuses the pods
}

// before lets the scheduler place the pods that wait, when place says so: those of workloads that were never made. It returns the pods
// that still have no node, and says why no node takes them, and why the API server refuses pods that workloads make. Without place
// nothing is placed, and pods that have room now are returned and not reported.
func (in *input) before(pending []*v1.Pod, refused []dump.Refusal, profile placement.Profile, place bool) (still []*v1.Pod, err error) {
	slices.SortStableFunc(pending, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	s := in.snapshot
	if !place {
		s = s.Fork()
	}
	placer, err := placement.NewPlacer(s, profile)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, p := range in.objects.Pods {
		count[in.workloadOf(p)]++
	}
	for _, r := range refused {
		count[in.workloadOf(r.Pod)]++
	}
	at := map[string]int{}
	wait := func(pod *v1.Pod, cause func() (string, *diagnose.Cause)) {
		name := in.workloadOf(pod)
		k, ok := at[name]
		if !ok {
			k = len(in.waits)
			at[name] = k
			text, why := cause()
			in.waits = append(in.waits, waiting{Workload: name, Of: count[name], Cause: text, Why: why})
		}
		in.waits[k].Pods++
	}
	for _, r := range refused {
		wait(r.Pod, func() (string, *diagnose.Cause) { return "the API server refuses them: " + r.Text, nil })
	}
	o := placement.GroupOptions{}
	if in.groups != nil {
		o.Gates = *in.groups
	}
	for _, e := range placement.Entries(s, pending, in.groups) {
		members := placer.DecideEntry(e, o)
		for _, m := range members {
			if m.Placed() {
				if !place {
					still = append(still, m.Pod)
				} else if err := placer.Assume(m.Pod, m.Decision); err != nil {
					return nil, fmt.Errorf("pod %s/%s: %w", m.Pod.Namespace, m.Pod.Name, err)
				}
				continue
			}
			still = append(still, m.Pod)
			wait(m.Pod, func() (string, *diagnose.Cause) {
				if e.Grouped {
					return cmp.Or(explain.Stuck(members), m.Text), nil
				}
				return causeOf(placer, s, m.Pod, m.Decision, pending)
			})
		}
	}
	slices.SortStableFunc(in.waits, func(a, b waiting) int { return cmp.Compare(b.Pods, a.Pods) })
	return still, nil
}

func causeOf(placer *placement.Placer, s *cluster.Snapshot, pod *v1.Pod, d placement.Decision, pending []*v1.Pod) (string, *diagnose.Cause) {
	if c := diagnose.CauseOf(placer.Plan, s, pod, pending...); c != nil {
		return c.Text, c
	}
	return d.Failure.Text(), nil
}

func priority(p *v1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// workloadOf names the controller of a pod, or what stands in its place.
func (in *input) workloadOf(p *v1.Pod) string {
	if c := metav1.GetControllerOf(p); c != nil {
		return fmt.Sprintf("%s %s/%s", c.Kind, p.Namespace, c.Name)
	}
	if group, member := podgroup.Of(p); member && in.groups != nil {
		return fmt.Sprintf("PodGroup %s/%s", p.Namespace, group)
	}
	return fmt.Sprintf("Pod %s/%s", p.Namespace, p.Name)
}

// saysBefore writes which pods wait before any failure.
func (a *failureReport) saysBefore(out *strings.Builder, l report.Layout) {
	const most = 3
	for _, w := range a.Before[:min(most, len(a.Before))] {
		text := fmt.Sprintf("Before any failure %d of %s of %s wait: %s", w.Pods, report.Count(w.Of, "pod"), w.Workload, w.Cause)
		if w.Pods == 1 {
			text = strings.Replace(text, " wait: ", " waits: ", 1)
		}
		out.WriteString(l.Text("", text))
	}
	if more := len(a.Before) - most; more > 0 {
		report.Textf(out, "and pods of %s; they count in no scenario\n", report.Count(more, "more workload"))
	}
}
