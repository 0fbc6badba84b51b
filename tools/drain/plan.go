package drain

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// plan is the answer, in the form in which it is printed.
type plan struct {
	report.Head
	Nodes   []string  `json:"nodes"`
	Waves   []wave    `json:"waves"`
	Blocked []blocked `json:"blocked"`
	Skipped []skipped `json:"skipped"`
	Budgets []budget  `json:"budgets"`
	Errors  []string  `json:"errors"` // with which kubectl drain would refuse to begin on a node
	// Untried are the pods that -steps or -time left out: nobody was asked where they go, and they count as placed.
	Untried int `json:"untried,omitempty"`
}

type wave struct {
	Evictions []eviction `json:"evictions"`
}

type eviction struct {
	podRef
	Budgets []string `json:"budgets"`
	// Bypass is the reason why no budget was asked although a budget may exist. Replacement is the node of the new pod,
	// empty without a new pod or when no node takes it; Note has the reason.
	Bypass      string `json:"bypass"`
	Replacement string `json:"replacement"`
	Note        string `json:"note"`
	// Homeless reports that a controller makes a new pod and no node takes it. Note is the reason.
	Homeless bool `json:"homeless"`
	// Why is the cause that "why" gives for such a pod, nil when the scheduler was not asked.
	Why *diagnose.Cause `json:"why,omitempty"`
	// Unit is the group with disruption mode All that the pod leaves with; empty for a pod that leaves alone.
	Unit string `json:"unit,omitempty"`
}

type blocked struct {
	podRef
	Budget       string   `json:"budget"` // several: joined by ", "
	Cause        string   `json:"cause"`
	WaitingHelps bool     `json:"waitingHelps"`
	Remedy       string   `json:"remedy"`
	Behind       bool     `json:"behind"`         // other pods keep the drain of the node from its beginning
	Unit         string   `json:"unit,omitempty"` // the group that the pod leaves with
	Proof        string   `json:"proof"`          // that no pod of the budget can ever leave
	Budgets      []string `json:"budgets"`
	// Replacement is the node of the new pod once the pod may leave, after the waves and the pods before it. It is empty without a new pod
	// and when no node takes the pod; Note then has the reason, and Why the cause that "why" gives.
	Replacement string          `json:"replacement"`
	Note        string          `json:"note"`
	Why         *diagnose.Cause `json:"why,omitempty"`
}

type skipped struct {
	podRef
	Reason string `json:"reason"`
}

// podRef names a pod and its node.
type podRef struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"`
	Owner     string `json:"owner"` // "Kind name" of the controller, "" without one
}

func refTo(p *v1.Pod) podRef {
	return podRef{dump.Name(p), p.Namespace, p.Name, p.Spec.NodeName, dump.Owner(p)}
}

// plan drains the nodes on paper.
func (in *input) plan(ctx context.Context, o options) (*plan, error) {
	r, err := newReplacer(in, in.nodes)
	if err != nil {
		return nil, err
	}
	o.drain.DaemonSetExists = in.objects.DaemonSetExists()
	r.ended = func() error { return program.Interrupted(ctx) }
	r.steps, r.stop = o.steps, program.Stop(ctx, o.limit)
	made := disruption.MakePlan(disruption.PlanInput{
		Nodes: in.nodes, Pods: in.objects.Pods, Budgets: in.budgets, Scale: in.scale, Options: o.drain, Now: o.at, Replace: r.replaceAll,
		Unit: in.unit,
	})
	if r.err != nil {
		return nil, r.err
	}
	for _, text := range append(made.Warnings, r.warnings...) {
		in.warnings.Add(text)
	}
	p := &plan{Head: report.HeadOf("DrainPlan"), Nodes: in.nodes, Waves: []wave{}, Blocked: []blocked{}, Skipped: []skipped{}, Errors: orEmpty(made.Errors)}
	covering := map[string]bool{}
	cover := func(budgets []string) []string {
		for _, b := range budgets {
			covering[b] = true
		}
		return orEmpty(budgets)
	}
	for _, w := range made.Waves {
		out := wave{Evictions: []eviction{}}
		for _, e := range w {
			out.Evictions = append(out.Evictions, eviction{
				podRef: refTo(e.Pod), Budgets: cover(e.Budgets), Bypass: e.Decision.Bypass, Replacement: e.Replacement, Note: r.note(e),
				Homeless: r.failures[e.Pod] != "", Why: r.why[e.Pod], Unit: in.unit(e.Pod),
			})
		}
		p.Waves = append(p.Waves, out)
	}
	prospects := newProspects(in, r, made.Waves, o.at)
	helps := map[[3]string]string{}
	for _, b := range made.Blocked {
		if b.WaitingHelps {
			if r, err := prospects.instead(b.Budgets); err != nil {
				return nil, err
			} else if r.Text != "" {
				b.WaitingHelps, b.Remedies = false, []disruption.Remedy{r}
			}
		}
		p.Blocked = append(p.Blocked, blocked{
			podRef: refTo(b.Pod), Budget: strings.Join(b.Budgets, ", "), Budgets: cover(b.Budgets),
			Cause: b.Cause, WaitingHelps: b.WaitingHelps, Remedy: in.helps(b, o.at, helps), Proof: b.Proof, Behind: b.Behind, Unit: b.Unit,
		})
	}
	r.later(made.Blocked, p.Blocked)
	if r.err != nil {
		return nil, r.err
	}
	for _, s := range made.Skipped {
		p.Skipped = append(p.Skipped, skipped{refTo(s.Pod), skipReason(s)})
	}
	p.Budgets, p.Untried = in.shown(o, covering), r.untried
	return p, nil
}

// only leaves out the pods of other namespaces than that of -n, and waves without pods.
func (p *plan) only(t *program.Tables) {
	kept := []wave{}
	for _, w := range p.Waves {
		w.Evictions = slices.DeleteFunc(w.Evictions, func(e eviction) bool { return !t.Shows(e.Namespace) })
		kept = append(kept, w)
	}
	p.Waves = kept
	p.Blocked = slices.DeleteFunc(p.Blocked, func(b blocked) bool { return !t.Shows(b.Namespace) })
	p.Skipped = slices.DeleteFunc(p.Skipped, func(s skipped) bool { return !t.Shows(s.Namespace) })
}

// skipReason is kubectl's, or what it skips without a word.
func skipReason(t disruption.Treated) string {
	switch _, mirror := t.Pod.Annotations[v1.MirrorPodAnnotationKey]; {
	case t.Reason != "":
		return t.Reason
	case mirror:
		return "mirror pod of a static pod: the kubelet runs it as long as its manifest is there"
	}
	return "terminating for longer than -skip-wait-for-delete-timeout"
}

// note returns the reason why an evicted pod has no replacement, "" when it has a replacement.
func (r *replacer) note(e disruption.Planned) string {
	switch phase := e.Pod.Status.Phase; {
	case r.leftOut[e.Pod]:
		return "left out by -steps or -time"
	case e.Replaced && e.Replacement == "":
		return "placed by scheduler " + e.Pod.Spec.SchedulerName
	case e.Replaced:
		return ""
	case phase == v1.PodSucceeded || phase == v1.PodFailed:
		return "it has finished"
	case e.Pod.DeletionTimestamp != nil:
		return "it is being deleted already"
	case metav1.GetControllerOf(e.Pod) == nil:
		return "no controller creates it again"
	}
	return r.failures[e.Pod]
}

// reason says why no node takes a new pod.
func (e eviction) reason() string { return sentence(e.Why, e.Note) }

// reason is that of eviction.
func (b blocked) reason() string { return sentence(b.Why, b.Note) }

// sentence returns the cause in words, or a note where the scheduler gives none.
func sentence(c *diagnose.Cause, note string) string {
	if c == nil {
		return note
	}
	return c.Text
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
