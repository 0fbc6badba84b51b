package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
)

// edit is a changed budget, and the words for the change.
type edit struct {
	text string
	spec policyv1.PodDisruptionBudgetSpec
}

// mended puts the edits of the budget with which the pod may leave in the place of the remedies that say the same in general. Each edit is
// proven: the budget is synced with it, and the Eviction API's answer is 201. What mends the pods stays first.
func (in *input) mended(b *policyv1.PodDisruptionBudget, pod *v1.Pod, at time.Time, remedies []disruption.Remedy) []disruption.Remedy {
	if who := disruption.BudgetAgent(pod); who != "" {
		return append([]disruption.Remedy{{Text: who}}, without(remedies, disruption.RaiseReplicas, disruption.AllowOne)...)
	}
	var proven []disruption.Remedy
	scale := disruption.NewScale(in.objects.Workloads())
	for _, e := range in.edits(b) {
		changed := b.DeepCopy()
		changed.Spec = e.spec
		s := disruption.Sync(changed, in.objects.Pods, scale, at)
		if changed.Status = s.Status; s.Err != nil {
			continue
		}
		if d := disruption.Decide(pod, []*policyv1.PodDisruptionBudget{changed}, disruption.Request{}, at); d.Allowed() {
			proven = append(proven, disruption.Remedy{Text: fmt.Sprintf("budget %s: %s: answer %d", b.Name, e.text, d.Code)})
		}
	}
	if len(proven) == 0 {
		return remedies
	}
	var first []disruption.Remedy
	rest := without(remedies, disruption.MendSync, disruption.AllowOne, disruption.AllowUnhealthy)
	if len(rest) > 0 && rest[0].Kind == mendPods {
		first, rest = rest[:1:1], rest[1:]
	}
	return slices.Concat(first, proven, rest)
}

// mendPods is the kind of the remedy that names the pods of a budget that do not become ready.
const mendPods disruption.RemedyKind = "MendPods"

// without returns the remedies that are of none of some kinds.
func without(remedies []disruption.Remedy, kinds ...disruption.RemedyKind) []disruption.Remedy {
	return slices.DeleteFunc(slices.Clone(remedies), func(r disruption.Remedy) bool { return slices.Contains(kinds, r.Kind) })
}

// lines returns the texts of remedies.
func lines(remedies []disruption.Remedy) []string {
	out := []string{}
	for _, r := range remedies {
		out = append(out, r.Text)
	}
	return out
}

func texts(remedies []disruption.Remedy, separator string) string {
	return strings.Join(lines(remedies), separator)
}

// helps returns what must be done so that a pod that a drain leaves may leave: with the proven edits of its budget, where one covers the
// pod. remembered has those of pods alike.
func (in *input) helps(b disruption.Blocked, at time.Time, remembered map[[3]string]string) string {
	const then = "; then "
	if len(b.Budgets) != 1 || b.Behind || b.WaitingHelps || b.Unit != "" {
		return texts(b.Remedies, then)
	}
	key := [3]string{b.Budgets[0], texts(b.Remedies, then), fmt.Sprint(isReady(b.Pod), disruption.BudgetAgent(b.Pod))}
	if _, known := remembered[key]; !known {
		steps := b.Remedies
		for _, x := range in.budgets {
			if budgetName(x) == b.Budgets[0] { // the first step is about the budget
				steps = append([]disruption.Remedy{{Text: texts(in.mended(x, b.Pod, at, steps[:1]), "; or ")}}, steps[1:]...)
			}
		}
		remembered[key] = texts(steps, then)
	}
	return remembered[key]
}

// edits returns the changes of a budget to try.
func (in *input) edits(b *policyv1.PodDisruptionBudget) (out []edit) {
	add := func(text string, change func(s *policyv1.PodDisruptionBudgetSpec)) {
		s := b.DeepCopy().Spec
		change(&s)
		out = append(out, edit{text, s})
	}
	pods := in.selected(b)
	if in.failing[budgetName(b)] != "" {
		for _, l := range narrowing(pods) {
			add(fmt.Sprintf("selector: add %s=%s, which the pods without scale lack", l[0], l[1]), func(s *policyv1.PodDisruptionBudgetSpec) {
				if s.Selector.MatchLabels == nil {
					s.Selector.MatchLabels = map[string]string{}
				}
				s.Selector.MatchLabels[l[0]] = l[1]
			})
		}
		if n := len(pods) - 1; n > 0 || len(pods) == 1 {
			follows := ""
			if slices.ContainsFunc(pods, func(p *v1.Pod) bool { c := metav1.GetControllerOf(p); return c != nil && c.Kind == "DaemonSet" }) {
				follows = ", which must follow the number of nodes"
			}
			add(fmt.Sprintf("minAvailable %d in place of a share or maxUnavailable%s", n, follows), func(s *policyv1.PodDisruptionBudgetSpec) {
				least := intstr.FromInt32(int32(n))
				s.MaxUnavailable, s.MinAvailable = nil, &least
			})
		}
		return out
	}
	if slices.ContainsFunc(pods, func(p *v1.Pod) bool { return !isReady(p) }) {
		add("unhealthyPodEvictionPolicy: AlwaysAllow", func(s *policyv1.PodDisruptionBudgetSpec) {
			always := policyv1.AlwaysAllow
			s.UnhealthyPodEvictionPolicy = &always
		})
	}
	if v := b.Spec.MaxUnavailable; v != nil && (*v == intstr.FromInt32(0) || *v == intstr.FromString("0%")) {
		add(fmt.Sprintf("maxUnavailable: 1 (%s refuses every eviction, at any number of replicas)", v), func(s *policyv1.PodDisruptionBudgetSpec) { one := intstr.FromInt32(1); s.MaxUnavailable = &one })
	}
	return out
}

func isReady(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

func (in *input) selected(b *policyv1.PodDisruptionBudget) (out []*v1.Pod) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil // CheckBudgets has refused it
	}
	for _, p := range in.objects.Pods {
		if p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Labels)) {
			out = append(out, p)
		}
	}
	return out
}

// narrowing returns the labels that all pods with a scale have, and no pod without, by key.
func narrowing(pods []*v1.Pod) (out [][2]string) {
	var common map[string]string
	var without []*v1.Pod
	for _, p := range pods {
		c := metav1.GetControllerOf(p)
		if c != nil && (c.Kind == "Job" || c.Kind == "DaemonSet") {
			without = append(without, p)
			continue
		}
		if common == nil {
			common = maps.Clone(p.Labels)
		}
		maps.DeleteFunc(common, func(k, v string) bool { return p.Labels[k] != v })
	}
	for _, k := range slices.Sorted(maps.Keys(common)) {
		if k == appsv1.DefaultDeploymentUniqueLabelKey { // changes with every new template
			continue
		}
		if !slices.ContainsFunc(without, func(p *v1.Pod) bool { return p.Labels[k] == common[k] }) {
			out = append(out, [2]string{k, common[k]})
		}
	}
	return out
}
