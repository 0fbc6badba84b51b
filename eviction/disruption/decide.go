package disruption

import (
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
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

// Decision is the answer of the Eviction API to one request, and what the API server does then.
type Decision struct {
	// Code is the HTTP status: 201 accepted; 429 not now; 500 several budgets; 400, 403, 404, 409, 422.
	Code   int32
	Reason metav1.StatusReason // empty when the request is accepted
	// Message is the message of the status object. Cause is the cause of type DisruptionBudget in the status; only a 429
	// from a budget has one, and in v1.37 also a 403.
	Message, Cause string
	// RetryAfterSeconds is the Retry-After header in seconds; 0 when the answer has no such header.
	RetryAfterSeconds int32
	// Budgets are the names of the budgets that cover the pod, in list order. Budgets that were not looked at are missing.
	Budgets []string
	// Bypass is why no budget was asked: the pod's phase ("Succeeded", "Failed", "Pending"), "Terminating", or "Unhealthy"
	// (the budget lets unhealthy pods leave). It is "" when a budget was asked or no budget covers the pod.
	Bypass string
	// Charges are the budgets that lost a unit: at most one without Request.EveryBudget. A request that fails after the
	// charge (409) does not give the unit back.
	Charges []Charge
	// The deletion that follows an accepted request.
	DryRun        bool
	Preconditions *metav1.Preconditions
	GraceSeconds  int64
	// Condition is written to the pod before the deletion; nil in a dry run.
	Condition *v1.PodCondition
	// Waiting reports whether a refused request can succeed later although nobody changes a specification. It is false for
	// an accepted request.
	Waiting bool

	covering []*policyv1.PodDisruptionBudget
	by       *policyv1.PodDisruptionBudget // the budget that was asked last; if the answer is its refusal, the budget that refuses
	yielding *policyv1.PodDisruptionBudget // the budget lets the pod leave, but only the version of the pod that was read
	kind     refusal
	dryRun   []string // the dry-run options of the request
	release  release.Version
	about    metav1.StatusDetails // name and kind of the refused object, and causes other than a budget
}

// Charge is a budget that lost a unit, and the status of the budget after the charge.
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

// Allowed reports whether the pod is deleted, or would be without a dry run.
func (d *Decision) Allowed() bool { return d.kind == accepted }

// Decide returns the answer of the Eviction API to a request to evict pod, and the budgets that the request charges (rules
// D1.1 to D1.9). pdbs are budgets of any namespace, with their status. A nil pod means that the pod does not exist. The
// first rule that applies decides:
//
//  1. The request contradicts itself: 400 or 422, and 500 for different dry-run options.
//  2. The pod does not exist: 404.
//  3. The pod has finished, is pending or is terminating: deleted, whatever the budgets say.
//  4. No budget selects the pod: deleted. Selectors have the meaning of policy/v1: {} selects all pods, nil no pod.
//  5. Several budgets select the pod: 500. With [Request.EveryBudget] each budget is asked by the rules below, and the first
//     refusal counts.
//  6. The pod is not Ready and its budget lets such pods leave: deleted, no budget is charged. AlwaysAllow always lets them
//     leave; IfHealthyBudget does when currentHealthy >= desiredHealthy > 0.
//  7. The budget refuses: 429 when its status is not up to date, 403 when it is negative or has too many unconfirmed
//     evictions, 429 with the cause when it is exhausted.
//  8. Otherwise the budget is charged one unit and the pod is deleted.
//
// The deletion checks the request's preconditions: 409. Source: documentation, "API-initiated Eviction" and "Unhealthy Pod
// Eviction Policy". O(budgets of the namespace); type Evictions has an index.
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
	d := Decision{Code: codeCreated, DryRun: len(dryRun) > 0, dryRun: dryRun, Preconditions: o.Preconditions.DeepCopy(), GraceSeconds: grace(pod, o), covering: covering, release: r.Release}
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
	if len(asked) < len(covering) { // the pod may have become ready in the meantime; the version that the caller demands is replaced
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

// pin makes the deletion demand the version of the pod that was read.
func (d *Decision) pin(pod *v1.Pod) {
	if d.Preconditions == nil {
		d.Preconditions = &metav1.Preconditions{}
	}
	version := pod.ResourceVersion
	d.Preconditions.ResourceVersion = &version
}

// grace returns the grace period in seconds (rule D2.1). A pod that no kubelet runs has 0. For a terminating pod the grace
// can only become shorter.
func grace(pod *v1.Pod, o *metav1.DeleteOptions) int64 {
	own := int64(v1.DefaultTerminationGracePeriodSeconds)
	switch {
	case pod.DeletionGracePeriodSeconds != nil: // the pod is terminating
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

// allows applies the rules of a budget and reports whether the budget allows the eviction. If not, d is the refusal.
func (d *Decision) allows(b *policyv1.PodDisruptionBudget) bool {
	s := &b.Status
	d.by = b
	version := d.release
	forbidden := func(kind refusal, why, cause string) {
		*d = d.refuse(kind, codeForbidden, metav1.StatusReasonForbidden, fmt.Sprintf("poddisruptionbudget.policy %q is forbidden: %s", b.Name, why))
		d.about = metav1.StatusDetails{Name: b.Name, Group: policyv1.GroupName, Kind: "poddisruptionbudget"}
		d.Cause = causeOfForbidden(version, b.Name, cause)
	}
	switch {
	case s.ObservedGeneration < b.Generation:
		*d = d.notNow(processing, retrySeconds, stillProcessed(b))
	case s.DisruptionsAllowed < 0:
		forbidden(negative, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
	case len(s.DisruptedPods) > maxDisrupted:
		forbidden(tooMany, "DisruptedPods map too big - too many evictions not confirmed by PDB controller", "too many pending evictions not confirmed by PDB controller")
	case s.DisruptionsAllowed == 0:
		kind, cause := whyExhausted(b)
		if oneCause(version) {
			cause = needsHealthy(b)
		}
		*d = d.notNow(kind, 0, cause)
	default:
		return true
	}
	return false
}

// charge takes one unit from the budget.
func (d *Decision) charge(b *policyv1.PodDisruptionBudget, pod *v1.Pod, now time.Time) {
	if d.DryRun {
		return
	}
	d.Charges = append(d.Charges, Charge{b, charged(b, pod.Name, now)})
}

// charged returns the status of the budget after one more disruption (rule D1.8).
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

func needsHealthy(b *policyv1.PodDisruptionBudget) string {
	return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy)
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
		return exhausted, needsHealthy(b)
	case c.Status == metav1.ConditionFalse && c.Message != "":
		return exhausted, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, c.Reason, c.Message)
	}
	return exhausted, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
}

func refuse(kind refusal, code int32, reason metav1.StatusReason, message string) Decision {
	return Decision{Code: code, Reason: reason, Message: message, kind: kind}
}

// invalid refuses a request because of one field of the posted object.
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

// waitingHelps reports whether a refusal can end although nobody changes a specification: a status becomes up to date,
// unconfirmed evictions expire, and pods become ready. A status whose sync fails never becomes up to date. A budget that needs every pod
// it covers never allows an eviction, and several budgets remain several.
func waitingHelps(kind refusal, by *policyv1.PodDisruptionBudget) bool {
	switch kind {
	case processing:
		return by == nil || !failed(by)
	case tooMany:
		return true
	case exhausted:
		return by.Status.DesiredHealthy < by.Status.ExpectedPods
	}
	return false
}

// delete ends an accepted request. It checks the preconditions (rule D1.9).
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
