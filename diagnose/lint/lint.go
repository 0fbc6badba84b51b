package lint

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// Input is the manifests to check, and what is known of the cluster. Every field may be nil.
type Input struct {
	Pods                   []*v1.Pod // pending pods without a controller
	Deployments            []*appsv1.Deployment
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
	DaemonSets             []*appsv1.DaemonSet
	Jobs                   []*batchv1.Job
	CronJobs               []*batchv1.CronJob // the next run of each
	ReplicationControllers []*v1.ReplicationController
	Autoscalers            []*autoscalingv2.HorizontalPodAutoscaler // they hold the replicas of their targets within bounds
	Budgets                []*policyv1.PodDisruptionBudget
	PriorityClasses        []*schedulingv1.PriorityClass
	RuntimeClasses         []*nodev1.RuntimeClass
	LimitRanges            []*v1.LimitRange
	Quotas                 []*v1.ResourceQuota
	StorageClasses         []*storagev1.StorageClass
	Claims                 []*v1.PersistentVolumeClaim
	Groups                 []*podgroup.Group // with their namespaces and priorities, as the API server stores them
	Composites             []*podgroup.Composite
	// Refused is what the API server refuses of objects whose type here has not all their fields, by name: "PodGroup shop/train".
	Refused map[string]field.ErrorList
	// GroupPriorities has what each group and composite group that is created says of its priority, by name as in Refused. The classes of the
	// manifests and of the cluster say which priority such a group gets. A group that is not here has the priority that Groups says.
	GroupPriorities map[string]admission.GroupPriority
	// Compiler compiles the selectors of devices. nil: a selector is an error of the pod that uses it.
	Compiler devices.SelectorCompiler
	// Now is the time at which quotas are charged. Deleted pods whose time is over are not counted.
	Now time.Time
	// Live is what the cluster has under the names of the manifests, and maybe more: the rules about updates compare the two.
	Live []metav1.Object
	// Plugins has the arguments of the plugins where feature gates change them; scheduler/groups.FeatureGates.Args makes it. Compiler counts
	// in the place of Plugins.Devices.Compiler. The zero value is every gate's default.
	Plugins placement.PluginArgs
	// Descheduler adds the rules about a descheduler that evicts without end (Rule.Descheduler).
	Descheduler bool
	// Stop is asked before each manifest is checked by the rules, and ends Check with ErrStopped when it reports true. nil: nothing does.
	Stop func() bool
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
	Rule        string   `json:"rule"`        // id of the rule (docs/fidelity/diagnose.md)
	Severity    Severity `json:"severity"`    // "error", "warning" or "info"
	Object      string   `json:"object"`      // "Deployment default/web"
	Path        string   `json:"path"`        // of the field in the object
	Explanation string   `json:"explanation"` // what is wrong
	Fix         string   `json:"fix"`         // what would mend it
}

// Rule is one thing that [Check] looks for.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"` // the worst that the rule reports
	Summary  string   `json:"summary"`
	Cluster  bool     `json:"cluster"` // the rule needs nodes
	// Descheduler rules are checked with Input.Descheduler alone.
	Descheduler bool `json:"descheduler,omitempty"`

	work   func(c *checker, w *work)
	budget func(c *checker, b *policyv1.PodDisruptionBudget)
	whole  func(c *checker) // looks at all manifests, and names the object of a finding
	update func(c *checker, object, old metav1.Object)
}

// Rules returns the rules in the order in which they are checked.
func Rules() []Rule {
	var out []Rule
	for _, list := range [][]Rule{admissionRules, classRules, nodeRules, affinityRules, spreadRules, resourceRules, volumeRules, podRules, groupRules, rolloutRules, updateRules, budgetRules, wishRules, restRules} {
		out = append(out, list...)
	}
	return out
}

// ErrStopped is the error of a Check that [Input.Stop] has ended.
var ErrStopped = errors.New("stopped before all manifests were checked")

// Check returns the findings about the manifests. The error names a nil manifest, is that of [cluster.New] for the cluster, or [ErrStopped].
func Check(in Input) (_ []Finding, err error) {
	return check(&checker{in: in})
}

func check(c *checker) (_ []Finding, err error) {
	defer must.Catch(&err)
	c.out, c.recheck = []Finding{}, check
	if err := c.read(); err != nil {
		return nil, err
	}
	rules := slices.DeleteFunc(Rules(), func(r Rule) bool { return r.Cluster && len(c.nodes) == 0 || r.Descheduler && !c.in.Descheduler })
	for _, w := range c.works {
		if c.in.Stop != nil && c.in.Stop() {
			return nil, ErrStopped
		}
		w.first = len(c.out)
		for i := range rules {
			if r := &rules[i]; r.work != nil {
				c.rule, c.object = r, w.object
				r.work(c, w)
			}
		}
	}
	for _, b := range c.in.Budgets {
		for i := range rules {
			if r := &rules[i]; r.budget != nil {
				c.rule, c.object = r, fmt.Sprintf("PodDisruptionBudget %s/%s", namespace(b.Namespace), b.Name)
				r.budget(c, b)
			}
		}
	}
	for i := range rules {
		if c.in.Stop != nil && c.in.Stop() {
			return nil, ErrStopped
		}
		if r := &rules[i]; r.whole != nil {
			c.rule = r
			r.whole(c)
		}
	}
	c.eachUpdate(func(name string, object, old metav1.Object) {
		for i := range rules {
			if r := &rules[i]; r.update != nil {
				c.rule, c.object = r, name
				r.update(c, object, old)
			}
		}
	})
	slices.SortStableFunc(c.out, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return c.out, nil
}

// rank is the order of findings.
var rank = map[Severity]int{Error: 0, Warning: 1, Info: 2}

// report adds a finding of the rule that is being checked.
func (c *checker) report(path, fix, explanation string, args ...any) {
	c.out = append(c.out, Finding{c.rule.ID, c.rule.Severity, c.object, path, fmt.Sprintf(explanation, args...), fix})
}

// prove adds a finding of severity error when the replicas of the workload do not get nodes, and of severity warning when they do. It is
// an info about pods that no scheduler of the cluster looks at yet.
func (c *checker) prove(w *work, path, fix, explanation string, args ...any) {
	c.report(path, fix, explanation, args...)
	switch {
	case w.waits() != "":
		c.out[len(c.out)-1].Severity = Info
	case c.fits(w):
		c.out[len(c.out)-1].Severity = Warning
	}
}

func namespace(name string) string {
	if name == "" {
		return "default"
	}
	return name
}
