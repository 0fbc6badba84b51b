package disruption

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/same"
)

// deletionTimeout is how long an evicted pod counts as disrupted when it is not deleted.
const deletionTimeout = 2 * time.Minute

// Scale returns the UID and the wanted number of replicas of the object that counts a pod's replicas. owner is the pod's
// controller reference. An error fails the whole budget and becomes the message of the condition. [NewScale] returns a Scale
// for the built-in kinds.
type Scale func(pod *v1.Pod, owner metav1.OwnerReference) (uid types.UID, replicas int32, err error)

// Notice is an event that the disruption controller writes.
type Notice struct {
	Type    string // "Normal" or "Warning"
	Reason  string
	Message string
	Pod     *v1.Pod // the object of the event; nil means the budget
}

// Synced is the result of [Sync].
type Synced struct {
	Status  policyv1.PodDisruptionBudgetStatus
	Notices []Notice
	// Recheck is when an entry of disruptedPods expires. The zero time means that only changes of pods change the status.
	Recheck time.Time
	// Err says why the expected number of pods is unknown. No disruption is allowed then.
	Err error
	// Lasting is the first error that more controllers in the input would not end: a pod's controller has no scale. It names the
	// pod. It is nil when Err is nil, and when Err may come from objects that scale does not know.
	Lasting error
}

// Sync returns the status that the disruption controller gives a budget (rules D4.2 to D4.9):
//
//	currentHealthy      matching pods that are Ready, not terminating, not evicted within the last 2 minutes
//	maxUnavailable v    expected S, desired max(0, S - v); a percentage of S is rounded up
//	minAvailable n      expected number of matching pods, desired n
//	minAvailable p%     expected S, desired p% of S, rounded up
//	neither             0, 0
//	disruptionsAllowed  currentHealthy - desiredHealthy, at least 0; 0 when no pod is expected
//
// S is the sum of the replicas that scale returns for the distinct controllers of the matching pods. A pod without a
// controller adds nothing. Matching pods are the pods of the budget's namespace that its selector matches, in any phase: the
// selector {} matches all pods, nil none. pods may be of many namespaces.
//
// On failure only disruptionsAllowed and the condition change. A nil budget gives the zero value, nil pods are ignored, and
// a nil scale finds no controller. O(pods). Source: documentation, "Specifying a Disruption Budget"; API fields of
// PodDisruptionBudgetStatus.
func Sync(b *policyv1.PodDisruptionBudget, pods []*v1.Pod, scale Scale, now time.Time) Synced {
	if b == nil {
		return Synced{}
	}
	matching, err := matchingPods(b, pods)
	return syncMatching(b, matching, err, scale, now)
}

// syncMatching is Sync for the pods that the budget selects. err is the error of its selector.
func syncMatching(b *policyv1.PodDisruptionBudget, matching []*v1.Pod, err error, scale Scale, now time.Time) Synced {
	s := Synced{Status: *b.Status.DeepCopy()}
	var expected, desired int32
	if err == nil {
		if len(matching) == 0 {
			s.notice(v1.EventTypeNormal, "NoPods", "No matching pods found", nil)
		}
		expected, desired, err = s.numbers(b, matching, scale)
	}
	if err != nil {
		s.Err = err
		s.notice(v1.EventTypeWarning, "CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: "+err.Error(), nil)
		s.Status.DisruptionsAllowed = 0
		setCondition(&s.Status, metav1.ConditionFalse, policyv1.SyncFailedReason, err.Error(), nil, now)
		return s
	}
	s.rebuild(b, matching, now)
	s.Status.ExpectedPods, s.Status.DesiredHealthy = expected, desired
	s.Status.CurrentHealthy = healthy(b.Status.DisruptedPods, matching, now)
	s.Status.ObservedGeneration = b.Generation
	settle(&s.Status, b.Generation, now)
	return s
}

func (s *Synced) notice(kind, reason, message string, pod *v1.Pod) {
	s.Notices = append(s.Notices, Notice{kind, reason, message, pod})
}

// settle computes the allowed disruptions and the condition from the counts.
func settle(s *policyv1.PodDisruptionBudgetStatus, generation int64, now time.Time) {
	s.DisruptionsAllowed = max(0, s.CurrentHealthy-s.DesiredHealthy)
	if s.ExpectedPods <= 0 {
		s.DisruptionsAllowed = 0
	}
	if s.DisruptionsAllowed > 0 {
		setCondition(s, metav1.ConditionTrue, policyv1.SufficientPodsReason, "", &generation, now)
	} else {
		setCondition(s, metav1.ConditionFalse, policyv1.InsufficientPodsReason, "", &generation, now)
	}
}

// setCondition sets the condition DisruptionAllowed. The time of the last transition changes only when the status does. A
// nil generation keeps the old generation.
func setCondition(s *policyv1.PodDisruptionBudgetStatus, status metav1.ConditionStatus, reason, message string, generation *int64, now time.Time) {
	s.Conditions = slices.Clone(s.Conditions)
	at := slices.IndexFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == policyv1.DisruptionAllowedCondition })
	if at < 0 {
		at = len(s.Conditions)
		s.Conditions = append(s.Conditions, metav1.Condition{Type: policyv1.DisruptionAllowedCondition})
	}
	c := &s.Conditions[at]
	if c.Status != status {
		c.LastTransitionTime = metav1.NewTime(now)
	}
	c.Status, c.Reason, c.Message = status, reason, message
	if generation != nil {
		c.ObservedGeneration = *generation
	}
}

func matchingPods(b *policyv1.PodDisruptionBudget, pods []*v1.Pod) ([]*v1.Pod, error) {
	selector, err := same.AsSelector(b.Spec.Selector)
	if err != nil {
		return nil, err
	}
	var out []*v1.Pod
	for _, p := range pods {
		if p != nil && p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Labels)) {
			out = append(out, p)
		}
	}
	return out, nil
}

// numbers returns the expected and the desired number of pods. Beside an error they mean nothing.
func (s *Synced) numbers(b *policyv1.PodDisruptionBudget, matching []*v1.Pod, scale Scale) (expected, desired int32, err error) {
	switch {
	case b.Spec.MaxUnavailable != nil:
		expected, v, err := s.scaled(b.Spec.MaxUnavailable, matching, scale)
		return expected, max(0, expected-v), err
	case b.Spec.MinAvailable == nil:
		return 0, 0, nil
	case b.Spec.MinAvailable.Type == intstr.Int:
		return int32(len(matching)), b.Spec.MinAvailable.IntVal, nil
	}
	return s.scaled(b.Spec.MinAvailable, matching, scale)
}

// scaled returns S of Sync and the number that v gives for S.
func (s *Synced) scaled(v *intstr.IntOrString, matching []*v1.Pod, scale Scale) (expected, n int32, err error) {
	expected, err = s.replicas(matching, scale)
	of, wrong := intstr.GetScaledValueFromIntOrPercent(v, int(expected), true)
	return expected, int32(of), cmp.Or(err, wrong)
}

// replicas returns S of Sync. Each controller counts once.
func (s *Synced) replicas(matching []*v1.Pod, scale Scale) (int32, error) {
	counted := map[types.UID]bool{}
	var unmanaged []string
	var failure error
	sum := int32(0)
	for _, p := range matching {
		owner := metav1.GetControllerOf(p)
		if owner == nil {
			unmanaged = append(unmanaged, p.Name)
			continue
		}
		if counted[owner.UID] {
			continue
		}
		counted[owner.UID] = true
		if scale == nil {
			return sum, fmt.Errorf("found no controllers for pod %q", p.Name)
		}
		uid, n, err := scale(p, *owner)
		if err != nil {
			failure = cmp.Or(failure, err)
			if errors.Is(err, errNoScale) {
				s.Lasting = fmt.Errorf("%w (pod %s of %s %s)", err, p.Name, owner.Kind, owner.Name)
				break
			}
			continue
		}
		if uid == owner.UID || !counted[uid] {
			counted[uid] = true
			sum += n
		}
	}
	if failure != nil {
		return sum, failure
	}
	if len(unmanaged) > 0 {
		s.notice(v1.EventTypeWarning, "UnmanagedPods", "Pods selected by this PodDisruptionBudget have no controller: "+strings.Join(unmanaged, ", "), nil)
	}
	return sum, nil
}

func ready(p *v1.Pod) bool {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == v1.PodReady {
			return p.Status.Conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}

func healthy(disrupted map[string]metav1.Time, matching []*v1.Pod, now time.Time) int32 {
	n := int32(0)
	for _, p := range matching {
		at, listed := disrupted[p.Name]
		if p.DeletionTimestamp == nil && ready(p) && !(listed && at.Add(deletionTimeout).After(now)) {
			n++
		}
	}
	return n
}

// rebuild keeps the entries of disruptedPods whose pods still wait for a deletion (rule D4.5).
func (s *Synced) rebuild(b *policyv1.PodDisruptionBudget, matching []*v1.Pod, now time.Time) {
	s.Status.DisruptedPods = nil
	for _, p := range matching {
		at, listed := b.Status.DisruptedPods[p.Name]
		if !listed || p.DeletionTimestamp != nil {
			continue
		}
		until := at.Add(deletionTimeout)
		if until.Before(now) {
			s.notice(v1.EventTypeWarning, "NotDeleted", fmt.Sprintf("Pod was expected by PDB %s/%s to be deleted but it wasn't", b.Namespace, b.Name), p)
			continue
		}
		if s.Status.DisruptedPods == nil {
			s.Status.DisruptedPods = map[string]metav1.Time{}
		}
		s.Status.DisruptedPods[p.Name] = at
		if s.Recheck.IsZero() || until.Before(s.Recheck) {
			s.Recheck = until
		}
	}
}

// StaleTarget reports whether the disruption controller takes a pod's DisruptionTarget condition back (rule D4.10): the
// condition is True for at least 2 minutes, its reason is not the termination by the kubelet, and the pod has neither
// finished nor is it being deleted. A nil pod has no condition.
func StaleTarget(pod *v1.Pod, now time.Time) bool {
	if pod == nil || pod.DeletionTimestamp != nil || podinfo.Finished(pod) {
		return false
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == v1.DisruptionTarget {
			return c.Status == v1.ConditionTrue && c.Reason != v1.PodReasonTerminationByKubelet && !c.LastTransitionTime.Add(deletionTimeout).After(now)
		}
	}
	return false
}
