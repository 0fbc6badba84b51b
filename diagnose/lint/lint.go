package lint

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/podberth/podberth/cluster"
)

// Input is the manifests to check, and what is known of the cluster. Every field may be nil.
type Input struct {
	Pods                   []*v1.Pod // pending pods without a controller
	Deployments            []*appsv1.Deployment
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
	DaemonSets             []*appsv1.DaemonSet
	Jobs                   []*batchv1.Job
	ReplicationControllers []*v1.ReplicationController
	Budgets                []*policyv1.PodDisruptionBudget
	PriorityClasses        []*schedulingv1.PriorityClass
	Claims                 []*v1.PersistentVolumeClaim
	// Cluster is a dump: nodes, running pods and what they use. nil, or without nodes: rules that need a cluster find nothing.
	Cluster *cluster.Objects
}

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is one place where a rule fires.
type Finding struct {
	Rule        string   `json:"rule"`
	Severity    Severity `json:"severity"`
	Object      string   `json:"object"` // "Deployment default/web"
	Path        string   `json:"path"`   // of the field in the object
	Explanation string   `json:"explanation"`
	Fix         string   `json:"fix"`
}

// Rule is one thing that Check looks for.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"` // the worst that the rule reports
	Summary  string   `json:"summary"`
	Cluster  bool     `json:"cluster"` // the rule needs nodes

	work   func(c *checker, w *work)
	budget func(c *checker, b *policyv1.PodDisruptionBudget)
}

// Rules returns the rules in the order in which they are checked.
func Rules() []Rule {
	var out []Rule
	for _, list := range [][]Rule{nodeRules, affinityRules, spreadRules, resourceRules, podRules, budgetRules, wishRules} {
		out = append(out, list...)
	}
	return out
}

// Check returns the findings about the manifests. The error names a nil manifest, or is that of cluster.New for the cluster.
func Check(in Input) ([]Finding, error) {
	c := &checker{in: in, out: []Finding{}}
	if err := c.read(); err != nil {
		return nil, err
	}
	rules := Rules()
	for _, w := range c.works {
		for i := range rules {
			if r := &rules[i]; r.work != nil && (!r.Cluster || len(c.nodes) > 0) {
				c.rule, c.object = r, w.object
				r.work(c, w)
			}
		}
	}
	for _, b := range in.Budgets {
		for i := range rules {
			if r := &rules[i]; r.budget != nil {
				c.rule, c.object = r, fmt.Sprintf("PodDisruptionBudget %s/%s", namespace(b.Namespace), b.Name)
				r.budget(c, b)
			}
		}
	}
	return c.out, nil
}

// report adds a finding of the rule that is being checked.
func (c *checker) report(path, fix, explanation string, args ...any) {
	c.out = append(c.out, Finding{c.rule.ID, c.rule.Severity, c.object, path, fmt.Sprintf(explanation, args...), fix})
}

// prove adds a finding of severity error when the workload's replicas do not all get nodes, and of severity warning otherwise.
func (c *checker) prove(w *work, path, fix, explanation string, args ...any) {
	c.report(path, fix, explanation, args...)
	if c.fits(w) {
		c.out[len(c.out)-1].Severity = Warning
	}
}

func namespace(name string) string {
	if name == "" {
		return "default"
	}
	return name
}
