package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
)

// covered returns the workloads of a budget and their replicas.
func (c *checker) covered(b *policyv1.PodDisruptionBudget) (objects []string, replicas int) {
	for _, w := range c.coverage().works[b] {
		objects = append(objects, w.object)
		replicas += max(w.replicas, 0)
	}
	return objects, replicas
}

// coverage says which budgets select which workloads. Both lists have the order of the input.
type coverage struct {
	works   map[*policyv1.PodDisruptionBudget][]*work
	budgets map[*work][]*policyv1.PodDisruptionBudget
	place   map[*policyv1.PodDisruptionBudget]int    // in the input
	owned   map[*policyv1.PodDisruptionBudget]bool   // a pod of the cluster has a controller; nil: not known yet
	bare    map[*policyv1.PodDisruptionBudget]string // a pod of the cluster that has none
}

// coverage compares every budget with the workloads of its namespace, once.
func (c *checker) coverage() *coverage {
	if c.covers != nil {
		return c.covers
	}
	in := map[string][]*work{}
	for _, w := range c.works {
		in[w.pod.Namespace] = append(in[w.pod.Namespace], w)
	}
	c.covers = &coverage{works: map[*policyv1.PodDisruptionBudget][]*work{}, budgets: map[*work][]*policyv1.PodDisruptionBudget{}, place: map[*policyv1.PodDisruptionBudget]int{}}
	for k, b := range c.in.Budgets {
		if _, known := c.covers.place[b]; known {
			continue
		}
		c.covers.place[b] = k
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue
		}
		for _, w := range in[namespace(b.Namespace)] {
			if selector.Matches(labels.Set(w.pod.Labels)) {
				c.covers.works[b], c.covers.budgets[w] = append(c.covers.works[b], w), append(c.covers.budgets[w], b)
			}
		}
	}
	return c.covers
}

// podOf reports whether the cluster has a pod that a budget selects.
func (c *checker) podOf(b *policyv1.PodDisruptionBudget) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && c.in.Cluster != nil && slices.ContainsFunc(c.in.Cluster.Pods, func(p *v1.Pod) bool {
		return p.Namespace == namespace(b.Namespace) && selector.Matches(labels.Set(p.Labels))
	})
}

// bare returns a pod of a budget of which no pod has a controller; "" for other budgets.
func (c *checker) bare(b *policyv1.PodDisruptionBudget) (pod string) {
	covers := c.coverage()
	if covers.owned == nil {
		c.owners(covers)
	}
	for _, w := range covers.works[b] {
		if w.kind != "Pod" || metav1.GetControllerOfNoCopy(w.pod) != nil {
			return ""
		}
		pod = w.object
	}
	if covers.owned[b] {
		return ""
	}
	return cmp.Or(covers.bare[b], pod)
}

// owners finds the budgets that select pods of the cluster with and without a controller. O(pods + matches).
func (c *checker) owners(covers *coverage) {
	covers.owned, covers.bare = map[*policyv1.PodDisruptionBudget]bool{}, map[*policyv1.PodDisruptionBudget]string{}
	if c.in.Cluster == nil {
		return
	}
	budgets := make([]*policyv1.PodDisruptionBudget, len(c.in.Budgets))
	for k, b := range c.in.Budgets {
		budgets[k] = b.DeepCopy()
		budgets[k].Namespace = namespace(b.Namespace)
	}
	index, matches := disruption.NewBudgets(budgets, disruption.BudgetOptions{EmptySelectorMatchesAll: true}), []int32(nil)
	for _, p := range c.in.Cluster.Pods {
		for _, k := range index.AppendMatches(matches[:0], p.Namespace, p.Labels) {
			if b := c.in.Budgets[k]; metav1.GetControllerOfNoCopy(p) != nil {
				covers.owned[b] = true
			} else {
				covers.bare[b] = "Pod " + podinfo.Name(p)
			}
		}
	}
}

// scaled reports whether an autoscaler sets the replicas of a workload of the budget.
func (c *checker) scaled(b *policyv1.PodDisruptionBudget) bool {
	return slices.ContainsFunc(c.coverage().works[b], func(w *work) bool { return w.scaler != nil })
}

// number returns an amount that is written as a number, 0 for others.
func number(m *intstr.IntOrString) int {
	if m == nil || m.Type != intstr.Int {
		return 0
	}
	return int(m.IntVal)
}

// inPlace says that a field takes the place of the other one.
const inPlace = " in its place"

// looser is the fix of a budget that allows nothing of n pods. A budget over pods without a scale, or without a controller, must have
// minAvailable as a number.
func (c *checker) looser(b *policyv1.PodDisruptionBudget, n int) string {
	if slices.ContainsFunc(c.coverage().works[b], unscaled) || c.bare(b) != "" {
		return fmt.Sprintf("minAvailable: %d", n-1)
	}
	return "maxUnavailable: 1"
}

// moreOf is the part of a fix that asks for so many replicas of the only workload of a budget; "" when they do not all get nodes.
func (c *checker) moreOf(b *policyv1.PodDisruptionBudget, replicas int, format string) string {
	if works := c.coverage().works[b]; len(works) != 1 || !c.takes(works[0], replicas) {
		return ""
	}
	return fmt.Sprintf(format, replicas)
}

// unscaled reports whether the controller of budgets cannot ask a workload for its scale.
func unscaled(w *work) bool { return w.kind == "DaemonSet" || w.runs() }

var budgetRules = []Rule{
	{ID: "budget-zero", Severity: Warning, Summary: "a disruption budget of which no number of replicas allows an eviction", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		objects, n := c.covered(b)
		if n == 0 {
			return
		}
		if m := b.Spec.MaxUnavailable; m != nil && (m.String() == "0" || m.String() == "0%") {
			c.report("spec.maxUnavailable", c.looser(b, n), "maxUnavailable %s refuses every eviction of pods of %s, at any number of replicas", m, strings.Join(objects, ", "))
		}
		if m := b.Spec.MinAvailable; m != nil && m.String() == "100%" {
			c.report("spec.minAvailable", c.looser(b, n)+inPlace, "minAvailable 100%% refuses every eviction of pods of %s, at any number of replicas", strings.Join(objects, ", "))
		}
	}},
	{ID: "budget-hpa", Severity: Warning, Summary: "a disruption budget allows no eviction while an autoscaler holds its smallest number of replicas", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		for _, w := range c.coverage().works[b] {
			if objects, n := c.covered(b); w.scaler != nil && len(objects) == 1 && number(b.Spec.MinAvailable) >= n && n > 0 && int(w.scaler.Spec.MaxReplicas) > n {
				c.report("spec.minAvailable", c.looser(b, n)+inPlace+c.moreOf(b, number(b.Spec.MinAvailable)+1, ", or minReplicas: %d"), "minAvailable %s, and HorizontalPodAutoscaler %s goes down to %d: then no node of theirs can be drained", b.Spec.MinAvailable, w.scaler.Name, n)
			}
		}
	}},
	{ID: "budget-one-replica", Severity: Warning, Summary: "a disruption budget wants the only replica", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		if objects, n := c.covered(b); n == 1 && number(b.Spec.MinAvailable) == 1 && !c.scaled(b) {
			c.report("spec.minAvailable", c.looser(b, n)+inPlace+c.moreOf(b, 2, ", or %d replicas"), "the only pod of %s must be healthy: its node cannot be drained", objects[0])
		}
	}},
	{ID: "budget-never-allows", Severity: Warning, Summary: "a disruption budget never allows an eviction", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		objects, n := c.covered(b)
		if n == 0 || c.scaled(b) {
			return
		}
		path, healthy := "spec.minAvailable", 0
		var err error
		switch m := b.Spec; {
		case m.MaxUnavailable != nil && m.MaxUnavailable.String() != "0" && m.MaxUnavailable.String() != "0%":
			path = "spec.maxUnavailable"
			var may int
			may, err = intstr.GetScaledValueFromIntOrPercent(m.MaxUnavailable, n, true)
			healthy = n - may
		case m.MinAvailable != nil && m.MinAvailable.String() != "100%" && !(n == 1 && number(m.MinAvailable) == 1):
			healthy, err = intstr.GetScaledValueFromIntOrPercent(m.MinAvailable, n, true)
		}
		if err != nil || healthy < n {
			return
		}
		fix := c.looser(b, n) + inPlace
		if number(b.Spec.MinAvailable) > 0 {
			fix += c.moreOf(b, healthy+1, ", or at least %d replicas")
		}
		c.report(path, fix, "%d of %s of %s must be healthy: no node of theirs can be drained", healthy, amount(n, "pod", "pods"), strings.Join(objects, ", "))
	}},
	{ID: "budget-cannot-sync", Severity: Error, Summary: "a disruption budget counts the replicas of a controller that has no scale, or of pods without a controller, and then allows nothing", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		path, amount := "spec.maxUnavailable", b.Spec.MaxUnavailable
		if m := b.Spec.MinAvailable; amount == nil && m != nil && m.Type == intstr.String {
			path, amount = "spec.minAvailable", m
		}
		if amount == nil {
			return
		}
		for _, w := range c.coverage().works[b] {
			if unscaled(w) {
				c.report(path, "a selector that leaves these pods out, or minAvailable as a number", "%s has no scale: the controller of budgets cannot count its pods, and no pod of the budget can be evicted", w.object)
				return
			}
		}
		if pod := c.bare(b); pod != "" {
			c.report(path, "minAvailable as a number", "%s has no controller: the controller of budgets expects no such pods, and no pod of the budget can ever be evicted", pod)
		}
	}},
	{ID: "budget-mixed", Severity: Warning, Summary: "a disruption budget selects pods of a Job beside those of a workload that stays", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		var stays, runs string
		for _, w := range c.coverage().works[b] {
			switch {
			case w.runs():
				runs = w.object
			case w.kind != "Pod":
				stays = w.object
			}
		}
		if stays != "" && runs != "" {
			c.report("spec.selector", "select by a label that "+stays+" alone has", "pods of %s count as healthy pods beside those of %s", runs, stays)
		}
	}},
	{ID: "budget-matches-nobody", Severity: Warning, Summary: "a disruption budget selects no pod", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		if b.Spec.Selector == nil {
			c.report("spec.selector", "write a selector; {} selects every pod of the namespace", "a budget without a selector protects nothing")
			return
		}
		if objects, _ := c.covered(b); len(objects) > 0 {
			return
		}
		if c.podOf(b) {
			return
		}
		c.report("spec.selector", "mend the selector or the namespace", "no pod in namespace %s matches", namespace(b.Namespace))
	}},
	{ID: "budget-overlap", Severity: Warning, Summary: "two disruption budgets select one pod, so that the Eviction API refuses it", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		covers := c.coverage()
		var other *policyv1.PodDisruptionBudget // the first one of the input before b
		var shared *work
		for _, w := range covers.works[b] {
			if o := covers.budgets[w][0]; o != b && (other == nil || covers.place[o] < covers.place[other]) {
				other, shared = o, w
			}
		}
		if other != nil {
			c.report("spec.selector", "one budget for each workload", "%s selects pods of %s too", other.Name, shared.object)
		}
	}},
	{ID: "budget-whole-namespace", Severity: Info, Summary: "a disruption budget selects every pod of its namespace", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		if s := b.Spec.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			objects, _ := c.covered(b)
			c.report("spec.selector", "select one workload", "%s", fmt.Sprintf("the pods of %s share one allowance", amount(len(objects), "workload", "workloads")))
		}
	}},
	{ID: "budget-unhealthy", Severity: Info, Summary: "pods that never become ready block a drain", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		if _, n := c.covered(b); n > 0 && b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.IfHealthyBudget && b.Spec.MinAvailable != nil {
			c.report("spec.unhealthyPodEvictionPolicy", "AlwaysAllow", "running pods that are not ready cannot be evicted while too few are healthy")
		}
	}},
}
