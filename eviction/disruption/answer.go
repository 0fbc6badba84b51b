package disruption

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/resources"

	"github.com/podberth/podberth/internal/podinfo"
)

// StatusObject returns the [metav1.Status] that a client sees.
func (d *Decision) StatusObject() metav1.Status {
	s := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: d.Code, Reason: d.Reason, Message: d.Message, Status: metav1.StatusFailure}
	if d.Allowed() {
		s.Status = metav1.StatusSuccess
	}
	details := d.about
	details.RetryAfterSeconds = d.RetryAfterSeconds
	if d.Cause != "" {
		details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: d.Cause}}
	}
	if details.Kind != "" || details.Causes != nil {
		s.Details = &details
	}
	return s
}

// The values of [Decision.Outlook].
const (
	outlookNow    = "now"
	outlookNotNow = "not now"
	outlookNever  = "never"
)

// Outlook returns when the eviction can succeed (rule D2.3):
//
//   - "now": the request is accepted
//   - "not now": the same request can succeed later
//   - "never": somebody has to change something first; see Remedies
func (d *Decision) Outlook() string {
	switch {
	case d.Allowed():
		return outlookNow
	case d.Waiting:
		return outlookNotNow
	}
	return outlookNever
}

// Remedy is what somebody can do so that a pod may leave.
type Remedy struct {
	Kind RemedyKind // "" for advice that no program tells from other advice
	Text string
}

// RemedyKind is what a remedy changes.
type RemedyKind string

// The kinds of remedies.
const (
	WaitForPods    RemedyKind = "WaitForPods"    // more pods become ready
	MendSync       RemedyKind = "MendSync"       // the disruption controller can count the pods of the budget
	AllowOne       RemedyKind = "AllowOne"       // the budget refuses every eviction, at any number of replicas
	RaiseReplicas  RemedyKind = "RaiseReplicas"  // more replicas than the budget demands, or a budget that demands less
	AllowUnhealthy RemedyKind = "AllowUnhealthy" // unhealthyPodEvictionPolicy AlwaysAllow
)

// Remedies returns what the user can do about a refused eviction, the best remedy first; empty for an accepted eviction.
// The last remedy is from the documentation, "Troubleshooting stuck evictions". Its other advice, to delete the pod directly, is left
// out: that takes from the application what the budget promises.
func (d *Decision) Remedies() []Remedy {
	var out []Remedy
	add := func(kind RemedyKind, text string) { out = append(out, Remedy{kind, text}) }
	switch d.kind {
	case accepted:
		return nil
	case badRequest, notFound:
		return []Remedy{{Text: "correct the request"}}
	case conflict:
		return []Remedy{{Text: "read the pod again and repeat the request without, or with its present, preconditions"}}
	case several:
		add("", "let one PodDisruptionBudget select the pod: remove or narrow the others")
	case processing:
		if d.by != nil && failed(d.by) {
			return []Remedy{{MendSync, mendSync}}
		}
		return []Remedy{{Text: "wait until the disruption controller has seen the budget, then repeat the request"}}
	case tooMany:
		add("", "wait until the disruption controller has confirmed the evictions")
	case negative:
		add("", "let the disruption controller compute the status of the budget again")
	case failedSync:
		add(MendSync, mendSync)
	case exhausted:
		s := &d.by.Status
		switch {
		case s.ExpectedPods <= 0:
			add("", "the budget expects no pods: minAvailable as a number covers pods without a controller")
		case s.DesiredHealthy >= s.ExpectedPods:
			add(wantsEvery(d.by))
		default:
			add(WaitForPods, "wait until more pods are ready")
		}
		if p := d.by.Spec.UnhealthyPodEvictionPolicy; (p == nil || *p != policyv1.AlwaysAllow) && s.CurrentHealthy < s.DesiredHealthy {
			add(AllowUnhealthy, "unhealthyPodEvictionPolicy AlwaysAllow lets pods go that are not ready")
		}
	}
	add("", "pause the automation that evicts and look into the application")
	return out
}

const mendSync = "correct the selector, or give every selected pod a controller with a scale; minAvailable as a number needs none"

// wantsEvery returns the remedy for a budget that needs every pod that it expects. Replicas are a remedy only where more of them let
// one go.
func wantsEvery(b *policyv1.PodDisruptionBudget) (RemedyKind, string) {
	const anyNumber = "set maxUnavailable 1: %s %s refuses every eviction, at any number of replicas"
	if v := b.Spec.MaxUnavailable; v != nil && (*v == intstr.FromInt32(0) || *v == intstr.FromString("0%")) {
		return AllowOne, fmt.Sprintf(anyNumber, "maxUnavailable", v)
	}
	if v := b.Spec.MinAvailable; v != nil && v.Type == intstr.String {
		switch percent, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%")); {
		case err == nil && percent >= 100:
			return AllowOne, fmt.Sprintf(anyNumber, "minAvailable", v)
		case err == nil:
			return RaiseReplicas, fmt.Sprintf("raise the replicas to %d or more, or lower minAvailable: %s of %d, rounded up, is every pod", (199-percent)/(100-percent), v, b.Status.ExpectedPods)
		}
	}
	return RaiseReplicas, "raise the replicas above what the budget demands, or lower what it demands: it wants every pod"
}

// BudgetRefuses reports whether the Eviction API answered 429 because of a disruption budget: the status has a cause of
// type DisruptionBudget. A 429 without that cause means that the API server is busy (rule D2.4). A nil status has no cause.
func BudgetRefuses(s *metav1.Status) bool {
	if s == nil || s.Code != codeTooMany && s.Reason != metav1.StatusReasonTooManyRequests || s.Details == nil {
		return false
	}
	return slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == policyv1.DisruptionBudgetCause })
}

// Step is a step of a pod's deletion.
type Step struct {
	// After is the time from the accepted request to the step. Until is the end of the step; it equals After for a step
	// without a length.
	After, Until time.Duration
	Actor        string
	Does         string
}

// Steps returns the steps that follow an accepted eviction, in order (rule D2.2). It returns nil for a refused eviction, in
// a dry run and for a nil pod. Source: documentation, "How API-initiated eviction works".
func (d *Decision) Steps(pod *v1.Pod) []Step {
	if pod == nil || !d.Allowed() || d.DryRun {
		return nil
	}
	g := resources.Seconds(d.GraceSeconds)
	return []Step{
		{0, 0, "API server", "sets the deletion timestamp of pod " + podinfo.Name(pod) + " and its grace period"},
		{0, g, "kubelet", "notices that the pod terminates and shuts it down gracefully"},
		{0, g, "control plane", "removes the pod from Endpoints and EndpointSlices"},
		{g, g, "kubelet", "kills what still runs, the grace period being over"},
		{g, g, "kubelet", "asks the API server to remove the pod"},
		{g, g, "API server", "removes the pod"},
	}
}
