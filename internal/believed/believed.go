// Package believed counts the replicas of controllers that are not in the input. What the input cannot know, the statuses of the disruption
// budgets know: how many pods the disruption controller expected, or that it could not count them.
package believed

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
)

// Controller names a controller, as the reference of a pod does.
type Controller struct{ Namespace, Kind, Name string }

// Of returns the controller of a pod; ok is false when the pod has none.
func Of(pod *v1.Pod) (c Controller, ok bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return Controller{}, false
	}
	return Controller{pod.Namespace, ref.Kind, ref.Name}, true
}

// Scale returns what known says of controllers that are not among the unknown ones. An unknown controller wants the pods that it has, which
// is the number in the map, unless the statuses of budgets say otherwise:
//
//   - A budget over pods of unknown controllers alone expected status.expectedPods. The first of them, in the order of the pods, makes up
//     the difference.
//   - A budget whose last sync failed could not count its pods: an unknown controller of such a pod has the error of its condition.
//
// Budgets that need no scale say nothing: minAvailable as a number. O(pods + matches).
func Scale(known disruption.Scale, unknown map[Controller]int32, budgets []*policyv1.PodDisruptionBudget, pods []*v1.Pod) disruption.Scale {
	wants, fails := map[Controller]int32{}, map[Controller]error{}
	index := disruption.NewBudgets(budgets, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	owners, mixed := make([][]Controller, len(budgets)), make([]bool, len(budgets))
	var at []int32
	for _, pod := range pods {
		c, ok := Of(pod)
		if !ok {
			continue
		}
		_, is := unknown[c]
		at = index.AppendMatches(at[:0], pod.Namespace, pod.Labels)
		for _, k := range at {
			switch {
			case !is:
				mixed[k] = true
			case !slices.Contains(owners[k], c):
				owners[k] = append(owners[k], c)
			}
		}
	}
	for k, b := range budgets {
		if len(owners[k]) == 0 || !needsScale(b) {
			continue
		}
		if err := failure(b); err != nil {
			for _, c := range owners[k] {
				fails[c] = err
			}
			continue
		}
		if mixed[k] || b.Status.ExpectedPods <= 0 {
			continue
		}
		first := b.Status.ExpectedPods
		for _, c := range owners[k][1:] {
			first -= unknown[c]
		}
		wants[owners[k][0]] = max(0, first)
	}
	return func(pod *v1.Pod, owner metav1.OwnerReference) (types.UID, int32, error) {
		c := Controller{pod.Namespace, owner.Kind, owner.Name}
		n, is := unknown[c]
		if !is {
			return known(pod, owner)
		}
		if err := fails[c]; err != nil {
			return "", 0, err
		}
		if w, said := wants[c]; said {
			n = w
		}
		return types.UID(c.Kind + "/" + c.Name), n, nil // a budget covers one namespace
	}
}

// needsScale reports whether the disruption controller asks the controllers of the pods of a budget.
func needsScale(b *policyv1.PodDisruptionBudget) bool {
	return b.Spec.MaxUnavailable != nil || b.Spec.MinAvailable != nil && b.Spec.MinAvailable.Type == intstr.String
}

// failure returns the error of the last sync of a budget, nil when the sync did not fail.
func failure(b *policyv1.PodDisruptionBudget) error {
	for _, c := range b.Status.Conditions {
		if c.Type == policyv1.DisruptionAllowedCondition && c.Reason == policyv1.SyncFailedReason {
			return errors.New(c.Message)
		}
	}
	return nil
}
