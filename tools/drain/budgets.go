package drain

import (
	"fmt"
	"reflect"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
)

// complete settles the status of every budget, for the waves and for -evict alike.
//
// The pods and controllers of the input give the numbers, because the disruption controller counts them again whenever a pod
// changes. A status whose next sync must fail is the status after it. Where controllers are missing, the numbers of expected and needed
// pods are those of the status in the input, and the healthy pods are counted. observedGeneration stays: the Eviction API refuses while it
// is behind.
func (in *input) complete(o options) error {
	in.scale = disruption.NewScale(in.objects.Workloads())
	pdbs := in.objects.PodDisruptionBudgets
	if err := in.objects.CheckBudgets(); err != nil {
		return err
	}
	synced := disruption.NewEvictions(pdbs).Sync(in.objects.Pods, in.scale, o.at)
	needing := make([]*policyv1.PodDisruptionBudget, len(pdbs)) // a fixed number of pods, where the controllers are not known
	for i, b := range pdbs {
		if synced[i].Err != nil && synced[i].Lasting == nil && hasStatus(b) {
			in.scale = nil
			fixed := b.DeepCopy()
			need := intstr.FromInt32(b.Status.DesiredHealthy)
			fixed.Spec.MaxUnavailable, fixed.Spec.MinAvailable = nil, &need
			needing[i] = fixed
		}
	}
	counted := disruption.NewEvictions(needing).Sync(in.objects.Pods, nil, o.at)
	for i, b := range pdbs {
		s := synced[i]
		switch {
		case s.Lasting != nil:
			in.fails(b, s.Lasting)
		case !hasStatus(b):
			if s.Err != nil {
				in.warnings.Group("how many pods %d PodDisruptionBudgets expect is not known", in.note(b, fmt.Sprintf("how many pods it expects is not known: %v", s.Err)))
			}
		case s.Err != nil && failedSync(b):
			s.Status = b.Status
		case s.Err != nil:
			in.warnings.Group("how many pods %d PodDisruptionBudgets expect is taken from their statuses", in.note(b, fmt.Sprintf("how many pods it expects is taken from its status: %v", s.Err)))
			s.Status = counted[i].Status
			if s.Status.ExpectedPods = b.Status.ExpectedPods; s.Status.ExpectedPods <= 0 {
				s.Status.DisruptionsAllowed = 0
			}
		}
		if slices.ContainsFunc(s.Notices, func(n disruption.Notice) bool { return n.Reason == "NoPods" }) {
			in.warnings.Aside("%d PodDisruptionBudgets match no pod of the input", in.note(b, "matches no pod of the input"))
		}
		if hasStatus(b) {
			if s.Lasting == nil {
				in.compare(b, &s.Status)
			}
			s.Status.ObservedGeneration = b.Status.ObservedGeneration
		}
		b = b.DeepCopy()
		b.Status = s.Status
		in.budgets = append(in.budgets, b)
	}
	return nil
}

// fails says of a budget that its next sync fails, and all after it.
func (in *input) fails(b *policyv1.PodDisruptionBudget, err error) {
	was := "it has no status yet"
	if hasStatus(b) {
		was = fmt.Sprintf("its status allows %d", b.Status.DisruptionsAllowed)
	}
	if failedSync(b) {
		was = "its last sync failed"
	}
	text := fmt.Sprintf("%s, and every next sync fails: %v; from then on nothing leaves", was, err)
	if in.failing == nil {
		in.failing = map[string]string{}
	}
	in.failing[budgetName(b)] = text
	in.warnings.Group("the sync of %d PodDisruptionBudgets fails, now and for ever", in.note(b, text))
}

// compare returns where the status in the input differs from the computed status.
func (in *input) compare(b *policyv1.PodDisruptionBudget, taken *policyv1.PodDisruptionBudgetStatus) {
	given := &b.Status
	if given.DisruptionsAllowed != taken.DisruptionsAllowed || given.CurrentHealthy != taken.CurrentHealthy ||
		given.DesiredHealthy != taken.DesiredHealthy || given.ExpectedPods != taken.ExpectedPods {
		in.warnings.Group("the status of %d PodDisruptionBudgets is not what the pods of the input give; the pods count, because the disruption controller counts them again",
			in.note(b, fmt.Sprintf("its status says %s, and the pods of the input give %s; the pods count, because the disruption controller counts them again", numbers(given), numbers(taken))))
	}
	if given.ObservedGeneration < b.Generation {
		in.warnings.Group("the statuses of %d PodDisruptionBudgets are older than their specs; the Eviction API refuses until the disruption controller has seen them", in.note(b, fmt.Sprintf("its status is of generation %d, its spec of generation %d; the Eviction API refuses until the disruption controller has seen the spec, and the waves begin after that", given.ObservedGeneration, b.Generation)))
	}
}

// note keeps what is said about a budget and returns it as a warning.
func (in *input) note(b *policyv1.PodDisruptionBudget, text string) string {
	if in.notes == nil {
		in.notes = map[string][]string{}
	}
	in.notes[budgetName(b)] = append(in.notes[budgetName(b)], text)
	return fmt.Sprintf("PodDisruptionBudget %s: %s", budgetName(b), text)
}

func numbers(s *policyv1.PodDisruptionBudgetStatus) string {
	return fmt.Sprintf("%d of %d pods healthy, %d needed, %d may leave", s.CurrentHealthy, s.ExpectedPods, s.DesiredHealthy, s.DisruptionsAllowed)
}

func hasStatus(b *policyv1.PodDisruptionBudget) bool {
	return !reflect.DeepEqual(b.Status, policyv1.PodDisruptionBudgetStatus{})
}

func failedSync(b *policyv1.PodDisruptionBudget) bool {
	return slices.ContainsFunc(b.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == policyv1.DisruptionAllowedCondition && c.Reason == policyv1.SyncFailedReason
	})
}

func budgetName(b *policyv1.PodDisruptionBudget) string { return b.Namespace + "/" + b.Name }

// budget is a PodDisruptionBudget with the numbers that decide.
type budget struct {
	Budget             string `json:"budget"` // NAMESPACE/NAME
	Namespace          string `json:"namespace"`
	Name               string `json:"name"`
	ExpectedPods       int32  `json:"expectedPods"`       // how many pods there should be
	DesiredHealthy     int32  `json:"desiredHealthy"`     // how many pods must be healthy
	CurrentHealthy     int32  `json:"currentHealthy"`     // how many pods are healthy
	DisruptionsAllowed int32  `json:"disruptionsAllowed"` // how many pods may leave
	// Texts: the sync of the budget fails, the status in the input differs from the computed status, the budget matches no pod, or a
	// number is not known.
	Notes []string `json:"notes"`
}

// shown returns the budgets to print. Each is in a printed namespace, and covers a pod of the answer or has notes.
func (in *input) shown(o options, covering map[string]bool) []budget {
	out := []budget{}
	for _, b := range in.budgets {
		name := budgetName(b)
		if !o.Tables.Shows(b.Namespace) || !covering[name] && len(in.notes[name]) == 0 {
			continue
		}
		s := &b.Status
		out = append(out, budget{name, b.Namespace, b.Name, s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.DisruptionsAllowed, orEmpty(in.notes[name])})
	}
	return out
}
