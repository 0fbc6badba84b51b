package lint

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	place   map[*policyv1.PodDisruptionBudget]int // in the input
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
	c.covers = &coverage{map[*policyv1.PodDisruptionBudget][]*work{}, map[*work][]*policyv1.PodDisruptionBudget{}, map[*policyv1.PodDisruptionBudget]int{}}
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

var budgetRules = []Rule{
	{ID: "budget-never-allows", Severity: Warning, Summary: "a disruption budget never allows an eviction", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		objects, n := c.covered(b)
		if n == 0 {
			return
		}
		path, healthy := "spec.minAvailable", 0
		var err error
		switch {
		case b.Spec.MaxUnavailable != nil:
			path = "spec.maxUnavailable"
			var may int
			may, err = intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, n, true)
			healthy = n - may
		case b.Spec.MinAvailable != nil:
			healthy, err = intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, n, true)
		}
		if err == nil && healthy >= n {
			if b.Spec.MaxUnavailable != nil { // 0 of any number of replicas is 0
				c.report(path, "maxUnavailable: 1", "maxUnavailable %s refuses every eviction of pods of %s, at any number of replicas", b.Spec.MaxUnavailable, strings.Join(objects, ", "))
				return
			}
			c.report(path, "allow one, or add a replica", "%d of %d pods of %s must be healthy: no node of theirs can be drained", healthy, n, strings.Join(objects, ", "))
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
			c.report("spec.selector", "select one workload", "%s", fmt.Sprintf("the pods of %d workloads share one allowance", len(objects)))
		}
	}},
	{ID: "budget-unhealthy", Severity: Info, Summary: "pods that never become ready block a drain", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		if _, n := c.covered(b); n > 0 && b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.IfHealthyBudget && b.Spec.MinAvailable != nil {
			c.report("spec.unhealthyPodEvictionPolicy", "AlwaysAllow", "running pods that are not ready cannot be evicted while too few are healthy")
		}
	}},
}
