package disruption

import (
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Texts of the Eviction API.
const (
	messageSeveral  = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
	messageViolates = "Cannot evict pod as it would violate the pod's disruption budget."
	maxDisrupted    = 2000
	retrySeconds    = 10
)

// HTTP status codes.
const (
	codeCreated       = 201
	codeBadRequest    = 400
	codeForbidden     = 403
	codeNotFound      = 404
	codeConflict      = 409
	codeUnprocessable = 422
	codeTooMany       = 429
	codeInternal      = 500
)

// Decision is the answer of the Eviction API to one request, and what it does.
type Decision struct {
	// Code is the HTTP status: 201 accepted; 429 not now; 500 several budgets; 400, 403, 404, 409, 422.
	Code   int32
	Reason metav1.StatusReason // of a refusal
	// Message is the message of the status object. Cause is the status's cause of type DisruptionBudget; only a 429 by a
	// budget has a cause.
	Message, Cause string
	// RetryAfterSeconds is 0 where the answer has no Retry-After header.
	RetryAfterSeconds int32
	// Budgets are the names of the budgets that cover the pod, as far as they were looked at, in list order.
	Budgets []string
	// Bypass says why no budget was asked: "Succeeded", "Failed", "Pending" (the phase), "Terminating", "Unhealthy" (the
	// budget lets unhealthy pods go); "" when it was asked or there is none.
	Bypass string
	// Charges are the budgets that lost a unit: at most one without Request.EveryBudget. A request that fails after that
	// (409) has used the unit all the same.
	Charges []Charge
	// The deletion that follows; of an accepted request only.
	DryRun        bool
	Preconditions *metav1.Preconditions
	GraceSeconds  int64
	// Condition is what is written to the pod before; nil in a dry run.
	Condition *v1.PodCondition
	// Waiting reports whether the same request can succeed later without a change of a specification. It is set in refusals
	// only.
	Waiting bool

	covering []*policyv1.PodDisruptionBudget
	by       *policyv1.PodDisruptionBudget // that refuses
	yielding *policyv1.PodDisruptionBudget // that lets the pod go as long as it is as it was read
	kind     refusal
	dryRun   []string             // as it was asked for
	about    metav1.StatusDetails // name and kind of what is wrong, and causes other than a budget
}

// Charge is a budget that lost a unit, and its status after that.
type Charge struct {
	Budget *policyv1.PodDisruptionBudget
	Status *policyv1.PodDisruptionBudgetStatus
}

type refusal uint8

const (
	accepted refusal = iota
	badRequest
	notFound
	several
	processing
	negative
	tooMany
	exhausted
	failedSync
	conflict
)

// Allowed reports whether the pod is deleted (or would be, in a dry run).
func (d *Decision) Allowed() bool { return d.kind == accepted }

// Decide returns the answer of the Eviction API to a request to evict pod, and the budgets that the request charges. pdbs
// are budgets of any namespace, with their status. A nil pod is a pod that does not exist. The first rule that applies
// decides:
//
//  1. a request that contradicts itself: 400, 422, and 500 for dry runs that differ
//  2. no pod: 404
//  3. a pod that has finished, is pending or terminating: deleted, whatever the budgets say
//  4. no budget selects it: deleted. Selectors are those of policy/v1: {} selects all, nil none
//  5. several do: 500 (with Request.EveryBudget each is asked by what follows, and the first refusal counts)
//  6. the pod is not Ready and its budget lets such pods go: deleted, nothing booked. AlwaysAllow always does, otherwise
//     (IfHealthyBudget) when currentHealthy >= desiredHealthy > 0
//  7. the budget: status not up to date 429, negative or overfull 403, exhausted 429 with the cause
//  8. otherwise a unit is booked and the pod is deleted
//
// Preconditions of the request are checked by the deletion at the end: 409. Source: documentation, "API-initiated
// Eviction" and "Unhealthy Pod Eviction Policy". O(budgets of the namespace); Evictions has an index.
func Decide(pod *v1.Pod, pdbs []*policyv1.PodDisruptionBudget, r Request, now time.Time) Decision {
	if pod == nil {
		return decide(nil, nil, r, now)
	}
	b := NewBudgets(pdbs, BudgetOptions{EmptySelectorMatchesAll: true})
	var covering []*policyv1.PodDisruptionBudget
	for _, i := range b.AppendMatches(nil, pod.Namespace, pod.Labels) {
		covering = append(covering, pdbs[i])
	}
	return decide(pod, covering, r, now)
}

func decide(pod *v1.Pod, covering []*policyv1.PodDisruptionBudget, r Request, now time.Time) Decision {
	if r.Eviction != nil && r.Eviction.Namespace != "" && r.Eviction.Namespace != r.namespace(pod) {
		return refuse(badRequest, codeBadRequest, metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request")
	}
	if r.Eviction != nil && (r.Eviction.Name == "" || r.Eviction.Name != r.name(pod)) {
		return refuse(badRequest, codeBadRequest, metav1.StatusReasonBadRequest, "name in URL does not match name in Eviction object")
	}
	o := r.options()
	if o.IgnoreStoreReadErrorWithClusterBreakingPotential != nil && *o.IgnoreStoreReadErrorWithClusterBreakingPotential {
		return invalid(metav1.StatusDetails{Name: r.name(pod), Group: policyv1.GroupName, Kind: "Eviction"}, metav1.CauseTypeFieldValueInvalid,
			"deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential", "Invalid value: true: can not be set for pod eviction, try after removing the option")
	}
	dryRun, err := r.dryRun()
	if err != nil {
		return refuse(badRequest, codeInternal, metav1.StatusReasonUnknown, err.Error())
	}
	if pod == nil {
		d := refuse(notFound, codeNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("pods %q not found", r.name(pod)))
		d.about = metav1.StatusDetails{Name: r.name(pod), Kind: "pods"}
		return d
	}
	d := Decision{Code: codeCreated, DryRun: len(dryRun) > 0, dryRun: dryRun, Preconditions: o.Preconditions.DeepCopy(), GraceSeconds: grace(pod, o), covering: covering}
	for _, b := range covering {
		d.Budgets = append(d.Budgets, b.Name)
	}
	if why := bypasses(pod); why != "" {
		d.Bypass, d.Budgets = why, nil
		if why == string(v1.PodPending) && (d.Preconditions == nil || d.Preconditions.ResourceVersion == nil) {
			d.pin(pod)
		}
		return d.delete(pod, now)
	}
	if len(covering) > 1 && !r.EveryBudget {
		return d.refuse(several, codeInternal, metav1.StatusReasonUnknown, messageSeveral)
	}
	var asked []*policyv1.PodDisruptionBudget
	for _, b := range covering {
		if ready(pod) || !letsUnhealthyGo(b) {
			asked = append(asked, b)
		}
	}
	if len(asked) < len(covering) { // the pod must not have become ready meanwhile; what version the caller demanded is forgotten
		demanded := d.Preconditions != nil && d.Preconditions.ResourceVersion != nil
		d.pin(pod)
		if !demanded {
			d.yielding = covering[0]
		}
		if len(asked) == 0 {
			d.Bypass = "Unhealthy"
		}
	}
	for _, b := range asked {
		if !d.allows(b) {
			return d
		}
	}
	for _, b := range asked {
		d.charge(b, pod, now)
	}
	return d.delete(pod, now)
}

func bypasses(pod *v1.Pod) string {
	switch {
	case podinfo.Finished(pod), pod.Status.Phase == v1.PodPending:
		return string(pod.Status.Phase)
	case pod.DeletionTimestamp != nil:
		return "Terminating"
	}
	return ""
}

func letsUnhealthyGo(b *policyv1.PodDisruptionBudget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// pin makes the deletion depend on the pod being as it was read.
func (d *Decision) pin(pod *v1.Pod) {
	if d.Preconditions == nil {
		d.Preconditions = &metav1.Preconditions{}
	}
	version := pod.ResourceVersion
	d.Preconditions.ResourceVersion = &version
}

// grace returns the grace period in seconds. A pod that no kubelet runs has 0. A grace that runs already can only become
// shorter.
func grace(pod *v1.Pod, o *metav1.DeleteOptions) int64 {
	own := int64(v1.DefaultTerminationGracePeriodSeconds)
	switch {
	case pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil:
		own = *pod.DeletionGracePeriodSeconds
		if o.GracePeriodSeconds != nil {
			own = min(own, *o.GracePeriodSeconds)
		}
		return own
	case pod.Spec.NodeName == "", podinfo.Finished(pod):
		return 0
	case o.GracePeriodSeconds != nil:
		return *o.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return own
}

// allows applies the budget's rules; if they refuse, d is the refusal.
func (d *Decision) allows(b *policyv1.PodDisruptionBudget) bool {
	s := &b.Status
	d.by = b
	forbidden := func(kind refusal, why string) {
		*d = d.refuse(kind, codeForbidden, metav1.StatusReasonForbidden, fmt.Sprintf("poddisruptionbudget.policy %q is forbidden: %s", b.Name, why))
		d.about = metav1.StatusDetails{Name: b.Name, Group: policyv1.GroupName, Kind: "poddisruptionbudget"}
	}
	switch {
	case s.ObservedGeneration < b.Generation:
		*d = d.notNow(processing, retrySeconds, stillProcessed(b))
	case s.DisruptionsAllowed < 0:
		forbidden(negative, "pdb disruptions allowed is negative")
	case len(s.DisruptedPods) > maxDisrupted:
		forbidden(tooMany, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case s.DisruptionsAllowed == 0:
		kind, cause := whyExhausted(b)
		*d = d.notNow(kind, 0, cause)
	default:
		d.by = nil
		return true
	}
	return false
}

// charge takes a unit from the budget.
func (d *Decision) charge(b *policyv1.PodDisruptionBudget, pod *v1.Pod, now time.Time) {
	if d.DryRun {
		return
	}
	d.Charges = append(d.Charges, Charge{b, charged(b, pod.Name, now)})
}

// charged returns the status after one more disruption.
func charged(b *policyv1.PodDisruptionBudget, podName string, now time.Time) *policyv1.PodDisruptionBudgetStatus {
	s := b.Status
	s.DisruptedPods = maps.Clone(s.DisruptedPods)
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]metav1.Time{}
	}
	s.DisruptedPods[podName] = metav1.NewTime(now)
	s.DisruptionsAllowed--
	if s.DisruptionsAllowed == 0 {
		setCondition(&s, metav1.ConditionFalse, policyv1.InsufficientPodsReason, "", &s.ObservedGeneration, now)
	}
	return &s
}

func stillProcessed(b *policyv1.PodDisruptionBudget) string {
	return fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name)
}

func whyExhausted(b *policyv1.PodDisruptionBudget) (refusal, string) {
	s := &b.Status
	var c metav1.Condition
	for _, have := range s.Conditions {
		if have.Type == policyv1.DisruptionAllowedCondition {
			c = have
			break
		}
	}
	switch {
	case c.Reason == policyv1.SyncFailedReason && c.Message != "":
		return failedSync, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", b.Name, c.Message)
	case s.CurrentHealthy <= s.DesiredHealthy:
		return exhausted, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, s.DesiredHealthy, s.CurrentHealthy)
	case c.Status == metav1.ConditionFalse && c.Message != "":
		return exhausted, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, c.Reason, c.Message)
	}
	return exhausted, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
}

func refuse(kind refusal, code int32, reason metav1.StatusReason, message string) Decision {
	return Decision{Code: code, Reason: reason, Message: message, kind: kind}
}

// invalid refuses a request for one field of what it posts.
func invalid(about metav1.StatusDetails, cause metav1.CauseType, field, why string) Decision {
	d := refuse(badRequest, codeUnprocessable, metav1.StatusReasonInvalid, fmt.Sprintf("%s.%s %q is invalid: %s: %s", about.Kind, about.Group, about.Name, field, why))
	about.Causes = []metav1.StatusCause{{Type: cause, Field: field, Message: why}}
	d.about = about
	return d
}

// refuse returns a refusal with the budgets and charges of d.
func (d *Decision) refuse(kind refusal, code int32, reason metav1.StatusReason, message string) Decision {
	r := refuse(kind, code, reason, message)
	r.Budgets, r.covering, r.by, r.DryRun = d.Budgets, d.covering, d.by, d.DryRun
	r.Charges = d.Charges
	r.Waiting = waitingHelps(kind, d.by)
	return r
}

func (d *Decision) notNow(kind refusal, retryAfter int32, cause string) Decision {
	r := d.refuse(kind, codeTooMany, metav1.StatusReasonTooManyRequests, messageViolates)
	r.Cause, r.RetryAfterSeconds = cause, retryAfter
	return r
}

// waitingHelps: a status that is not up to date will be, evictions that are not confirmed run out, unready pods become
// ready; but a budget that wants every pod it covers never lets one go, and several budgets stay several.
func waitingHelps(kind refusal, by *policyv1.PodDisruptionBudget) bool {
	switch kind {
	case processing, tooMany:
		return true
	case exhausted:
		return by.Status.DesiredHealthy < by.Status.ExpectedPods
	}
	return false
}

// delete is the end of an accepted request, where the preconditions are checked.
func (d *Decision) delete(pod *v1.Pod, now time.Time) Decision {
	for _, v := range d.dryRun {
		if v != metav1.DryRunAll {
			return invalid(metav1.StatusDetails{Group: metav1.GroupName, Kind: "DeleteOptions"}, metav1.CauseTypeFieldValueNotSupported, "dryRun", fmt.Sprintf("Unsupported value: %q: supported values: %q", d.dryRun, metav1.DryRunAll))
		}
	}
	text := mismatch(d.Preconditions, pod)
	if text != "" && d.yielding != nil {
		d.by = d.yielding
		return d.notNow(processing, retrySeconds, stillProcessed(d.by))
	}
	if text != "" {
		c := d.refuse(conflict, codeConflict, metav1.StatusReasonConflict, fmt.Sprintf("Operation cannot be fulfilled on Pod %q: %s", pod.Name, text))
		c.about = metav1.StatusDetails{Name: pod.Name, Kind: "Pod"}
		return c
	}
	if !d.DryRun {
		d.Condition = &v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, ObservedGeneration: pod.Generation,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting", LastTransitionTime: metav1.NewTime(now)}
	}
	return *d
}

func mismatch(p *metav1.Preconditions, pod *v1.Pod) string {
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != pod.UID:
		return fmt.Sprintf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, pod.UID)
	case p.ResourceVersion != nil && *p.ResourceVersion != pod.ResourceVersion:
		return fmt.Sprintf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, pod.ResourceVersion)
	}
	return ""
}
