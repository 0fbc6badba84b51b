package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/tools/report"
)

// answered is what the Eviction API says about one pod.
type answered struct {
	report.Head
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Allowed   bool   `json:"allowed"` // whether the Eviction API accepts the request
	Code      int32  `json:"code"`    // the HTTP status
	Reason    string `json:"reason"`  // the reason in the answer, such as TooManyRequests
	Message   string `json:"message"` // the message in the answer
	Cause     string `json:"cause"`   // the cause in the details of the answer
	// Why the next sync of the budget fails, and every one after it; empty when it does not.
	Sync string `json:"sync"`
	// After how many seconds the client may ask again; 0 when the answer does not say.
	RetryAfterSeconds int32 `json:"retryAfterSeconds"`
	// "now", "not now" (waiting can be enough) or "never" (somebody has to change something).
	Outlook string   `json:"outlook"`
	Budgets []string `json:"budgets"` // the budgets that cover the pod, as NAMESPACE/NAME
	// The group of disruption mode All with which the pod leaves in a drain; the Eviction API knows no groups.
	Group        string   `json:"group,omitempty"`
	Bypass       string   `json:"bypass"`                       // why no budget is asked, such as Succeeded
	Proof        string   `json:"proof"`                        // in numbers, why the budgets can never let the pod leave
	Remedies     []string `json:"remedies"`                     // what to do, the best first
	GraceSeconds *int64   `json:"gracePeriodSeconds,omitempty"` // how long the pod has to shut down; not there when the request is refused
	Steps        []string `json:"steps"`                        // what happens after an accepted request
	Drain        string   `json:"drain"`                        // what "kubectl drain" does after this answer
	Prints       string   `json:"prints"`                       // the line that "kubectl drain" prints then
}

// evict asks about one pod, with the Eviction object of the input for it if there is one.
func (in *input) evict(o options) (*answered, error) {
	pod := in.pod(o.evict)
	var r disruption.Request
	for _, e := range in.objects.Evictions {
		if e.Namespace+"/"+e.Name == o.evict {
			r.Eviction = e
		}
	}
	d := disruption.Decide(pod, in.budgets, r, o.at)
	a := &answered{
		Head: report.HeadOf("EvictionAnswer"), Pod: o.evict, Allowed: d.Allowed(), Code: d.Code, Reason: string(d.Reason), Message: d.Message,
		Cause: d.Cause, RetryAfterSeconds: d.RetryAfterSeconds, Outlook: d.Outlook(), Bypass: d.Bypass, Remedies: lines(d.Remedies()),
		Budgets: []string{}, Steps: []string{},
	}
	a.Namespace, a.Name, _ = strings.Cut(o.evict, "/")
	if pod == nil {
		a.Message = fmt.Sprintf("pods %q not found", a.Name)
		return a, nil
	}
	a.Group = in.unit(pod)
	var covering []*policyv1.PodDisruptionBudget
	for _, b := range in.budgets {
		if b.Namespace == pod.Namespace && slices.Contains(d.Budgets, b.Name) {
			covering = append(covering, b)
			a.Budgets = append(a.Budgets, budgetName(b))
			a.Sync = cmp.Or(a.Sync, in.failing[budgetName(b)])
		}
	}
	status := d.StatusObject()
	a.Drain, a.Prints = disruption.React(&status, pod)
	if !a.Allowed {
		a.Proof = disruption.Proof(covering)
		remedies, err := in.lookAhead(a, &d, o.at)
		if err != nil {
			return nil, err
		}
		if len(covering) == 1 {
			remedies = in.mended(covering[0], pod, o.at, remedies)
		}
		a.Remedies = lines(remedies)
		return a, nil
	}
	a.GraceSeconds = &d.GraceSeconds
	for _, s := range d.Steps(pod) {
		when := fmt.Sprintf("after %v", s.After)
		if s.Until != s.After {
			when = fmt.Sprintf("%v to %v", s.After, s.Until)
		}
		a.Steps = append(a.Steps, fmt.Sprintf("%s: %s %s", when, s.Actor, s.Does))
	}
	return a, nil
}

// lookAhead turns "not now" into "never" where more healthy pods would help and no more pods can be healthy. It returns what helps.
func (in *input) lookAhead(a *answered, d *disruption.Decision, at time.Time) ([]disruption.Remedy, error) {
	if !d.Waiting || d.Cause == "" || d.RetryAfterSeconds > 0 {
		return d.Remedies(), nil
	}
	r, err := newReplacer(in, nil)
	if err != nil {
		return nil, err
	}
	first, err := newProspects(in, r, nil, at).instead(a.Budgets)
	if first.Text == "" {
		return d.Remedies(), err
	}
	a.Outlook = "never"
	return append([]disruption.Remedy{first}, without(d.Remedies(), disruption.WaitForPods)...), err
}
