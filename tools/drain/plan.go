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
	Nodes   []string  `json:"nodes"`   // the nodes that are drained together
	Waves   []wave    `json:"waves"`   // the waves in order; the pods of a wave can leave at the same time
	Blocked []blocked `json:"blocked"` // the pods that do not leave
	Skipped []skipped `json:"skipped"` // the pods that stay, as "kubectl drain" leaves them
	// The budgets that cover a pod of "waves" or "blocked", and those with notes, as they are before the drain.
	Budgets []budget `json:"budgets"`
	Errors  []string `json:"errors"` // the lines with which "kubectl drain" refuses to begin on a node
	// Pods that --steps or --time left out: where they go is not known, and they count as placed; absent for 0.
	Untried int `json:"untried,omitempty"`
}

type wave struct {
	Evictions []eviction `json:"evictions"` // the pods that leave
}

type eviction struct {
	podRef
	Budgets     []string        `json:"budgets"`       // the budgets that cover the pod, as NAMESPACE/NAME
	Bypass      string          `json:"bypass"`        // why no budget is asked, such as Succeeded
	Replacement string          `json:"replacement"`   // the node of the pod that takes its place
	Note        string          `json:"note"`          // why there is no such pod, or no node for it
	Homeless    bool            `json:"homeless"`      // whether a controller makes a new pod and no node takes it
	Why         *diagnose.Cause `json:"why,omitempty"` // the cause that "why" gives for such a pod; absent when the scheduler was not asked
	// The group with disruption mode All that the pod leaves with, also when it stands on a node that is not drained; left out for a
	// pod that leaves alone.
	Unit string `json:"unit,omitempty"`
}

type blocked struct {
	podRef
	Budget       string `json:"budget"`       // "budgets" as one text, parted by commas
	Cause        string `json:"cause"`        // the cause in the answer of the Eviction API, or kubectl's text
	WaitingHelps bool   `json:"waitingHelps"` // whether the pod may leave later although nobody changes anything
	Remedy       string `json:"remedy"`       // what to do; empty for a pod that is behind others
	Behind       bool   `json:"behind"`       // whether the drain of the node does not begin because of other pods
	// The group with disruption mode All that leaves whole or not at all; left out for a pod that leaves alone.
	Unit        string          `json:"unit,omitempty"`
	Proof       string          `json:"proof"`         // in numbers, why the budget can never let the pod leave
	Budgets     []string        `json:"budgets"`       // the budgets that cover the pod, as NAMESPACE/NAME
	Replacement string          `json:"replacement"`   // the node of the pod that takes its place once it may leave
	Note        string          `json:"note"`          // why no node takes that pod
	Why         *diagnose.Cause `json:"why,omitempty"` // the cause that "why" gives for no node
}

type skipped struct {
	podRef
	Reason string `json:"reason"` // why the pod stays
}

// podRef names a pod and its node.
type podRef struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"`  // the node of the pod
	Owner     string `json:"owner"` // kind and name of the controller, empty without one
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
	r.steps, r.stop = o.Steps, o.Stop(ctx)
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
