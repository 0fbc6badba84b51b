package lint

import (
	"fmt"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// covered returns the workloads of a budget and their replicas.
func (c *checker) covered(b *policyv1.PodDisruptionBudget) (objects []string, replicas int) {
	for _, w := range c.works {
		if w.pod.Namespace == namespace(b.Namespace) && selects(b.Spec.Selector, w.pod.Labels) {
			objects = append(objects, w.object)
			replicas += max(w.replicas, 0)
		}
	}
	return objects, replicas
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
			fix := "allow one, or add a replica"
			if b.Spec.MaxUnavailable != nil {
				fix = "maxUnavailable: 1" // 0 of any number of replicas is 0
			}
			c.report(path, fix, "%d of %d pods of %s must be healthy: no node of theirs can be drained", healthy, n, strings.Join(objects, ", "))
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
		if c.in.Cluster != nil {
			for _, p := range c.in.Cluster.Pods {
				if p.Namespace == namespace(b.Namespace) && selects(b.Spec.Selector, p.Labels) {
					return
				}
			}
		}
		c.report("spec.selector", "mend the selector or the namespace", "no pod in namespace %s matches", namespace(b.Namespace))
	}},
	{ID: "budget-overlap", Severity: Warning, Summary: "two disruption budgets select one pod, so that the Eviction API refuses it", budget: func(c *checker, b *policyv1.PodDisruptionBudget) {
		for _, o := range c.in.Budgets {
			if o == b {
				return // the later budget reports
			}
			if namespace(o.Namespace) != namespace(b.Namespace) {
				continue
			}
			for _, w := range c.works {
				if w.pod.Namespace == namespace(b.Namespace) && selects(b.Spec.Selector, w.pod.Labels) && selects(o.Spec.Selector, w.pod.Labels) {
					c.report("spec.selector", "one budget for each workload", "%s selects pods of %s too", o.Name, w.object)
					return
				}
			}
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
