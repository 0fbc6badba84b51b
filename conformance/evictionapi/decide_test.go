package evictionapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/disruption"
)

// TestDecide asks a kube-apiserver to evict random pods under random budgets, and compares the answer, what it books, and what
// becomes of the pod with podberth's decision.
func TestDecide(t *testing.T) {
	s := start(t)
	trial.Run(t, 1000, 90, func(source *trial.Source) error {
		c := &request{Source: source}
		c.draw()
		return c.compare(s)
	}, "201", "400", "403", "404", "409", "422", "429", "500", "charged", "the last unit", "dry run", "bypass Pending", "bypass Succeeded", "bypass Failed", "bypass Terminating", "bypass Unhealthy",
		"still processed", "failed sync", "needs healthy pods", "a message", "no reason", "negative", "overfull", "two budgets", "no budget", "another grace", "removed at once", "deleted later", "v1beta1")
}

// request is one case: a pod, the budgets of its namespace, and what is posted.
type request struct {
	*trial.Source
	pod     *v1.Pod // nil: it is not there
	budgets []*policyv1.PodDisruptionBudget
	query   string
	post    policyv1.Eviction
	wrong   bool // a resource version that is not the pod's
	right   bool // the pod's own
}

const names = 3 // of budgets: b0, b1, b2

func (c *request) draw() {
	if c.N(24) < 23 {
		c.pod = c.drawPod()
	}
	for i := range trial.Pick(c.Source, 0, 1, 1, 1, 1, 1, 1, 2, 3) {
		c.budgets = append(c.budgets, c.drawBudget(fmt.Sprint("b", i)))
	}
	c.drawRequest()
}

func (c *request) drawPod() *v1.Pod {
	one, two := map[string]string{"l": "1"}, map[string]string{"l": "2"}
	p := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1",
		CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second)), Labels: trial.Pick(c.Source, one, one, one, one, one, two, nil)}}
	p.Spec.Containers = []v1.Container{{Name: "c", Image: "i"}}
	p.Spec.NodeName = trial.Pick(c.Source, "node", "node", "node", "")
	if c.Once(3) {
		grace := trial.Pick(c.Source, int64(0), 1, 5, 100)
		p.Spec.TerminationGracePeriodSeconds = &grace
	}
	if c.Once(4) {
		p.Finalizers = []string{"example.com/stay"}
	}
	p.Status.Phase = v1.PodRunning
	if c.Once(5) {
		p.Status.Phase = trial.Pick(c.Source, v1.PodPending, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown, "")
	}
	for _, kind := range trial.Pick(c.Source, []v1.PodConditionType{v1.PodReady}, []v1.PodConditionType{v1.PodReady}, []v1.PodConditionType{v1.PodReady}, nil, []v1.PodConditionType{v1.PodScheduled, v1.PodReady}, []v1.PodConditionType{v1.ContainersReady}) {
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: kind, Status: trial.Pick(c.Source, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown)})
	}
	if c.Once(10) {
		grace := trial.Pick(c.Source, int64(30), 5)
		if len(p.Finalizers) > 0 { // without one it would be gone at 0
			grace = trial.Pick(c.Source, int64(30), 0)
		}
		at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second).Truncate(time.Second))
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
	}
	c.Note("pod labels %v node %q phase %q conditions %v finalizers %v grace %v deleted %v within %v", p.Labels, p.Spec.NodeName, p.Status.Phase, conditions(p), p.Finalizers, str(p.Spec.TerminationGracePeriodSeconds),
		p.DeletionTimestamp != nil, str(p.DeletionGracePeriodSeconds))
	return p
}

func conditions(p *v1.Pod) (out []string) {
	for _, c := range p.Status.Conditions {
		out = append(out, string(c.Type)+"="+string(c.Status))
	}
	return out
}

func str[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

func (c *request) drawBudget(name string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Generation: 2,
		CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))}}
	all, exists := &metav1.LabelSelector{}, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "l", Operator: metav1.LabelSelectorOpExists}}}
	one := &metav1.LabelSelector{MatchLabels: map[string]string{"l": "1"}}
	without := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "l", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"2"}}}}
	unreadable := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "l", Operator: "Bad"}}}
	old := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", Operator: metav1.LabelSelectorOpExists}}}
	b.Spec.Selector = trial.Pick(c.Source, one, one, one, one, one, all, all, exists, exists, without, nil, unreadable, old)
	policy := func(p policyv1.UnhealthyPodEvictionPolicyType) *policyv1.UnhealthyPodEvictionPolicyType { return &p }
	b.Spec.UnhealthyPodEvictionPolicy = trial.Pick(c.Source, nil, nil, policy(policyv1.IfHealthyBudget), policy(policyv1.AlwaysAllow), policy("Odd"))
	s := &b.Status
	s.ObservedGeneration = trial.Pick(c.Source, int64(2), 2, 2, 2, 2, 2, 2, 1, 3)
	s.DisruptionsAllowed = trial.Pick(c.Source, int32(1), 0, 0, 0, 0, 1, 1, 2, 5, -1)
	s.DesiredHealthy, s.CurrentHealthy, s.ExpectedPods = int32(c.N(4)), int32(c.N(6)), int32(c.N(4))
	for range c.N(3) {
		c.disrupted(s, trial.Pick(c.Source, "q", "r", "p"))
	}
	if c.Once(10) {
		n := trial.Pick(c.Source, 2000, 2001, 1999, 2100) - len(s.DisruptedPods)
		for i := range n {
			c.disrupted(s, fmt.Sprint("x", i))
		}
	}
	switch c.N(7) {
	case 1, 6:
		c.condition(s, metav1.ConditionFalse, policyv1.SyncFailedReason, trial.Pick(c.Source, "it broke", "it broke", ""))
	case 2, 3:
		c.condition(s, metav1.ConditionFalse, policyv1.InsufficientPodsReason, trial.Pick(c.Source, "too few", "", "too few"))
	case 4:
		c.condition(s, metav1.ConditionTrue, policyv1.SufficientPodsReason, trial.Pick(c.Source, "", "enough"))
	case 5:
		s.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionFalse, Reason: "Other", Message: "another", LastTransitionTime: b.CreationTimestamp}}
	}
	c.Note("budget %s selector %v policy %v observed %d allowed %d desired %d current %d expected %d disrupted %d conditions %v", name, b.Spec.Selector, str(b.Spec.UnhealthyPodEvictionPolicy), s.ObservedGeneration,
		s.DisruptionsAllowed, s.DesiredHealthy, s.CurrentHealthy, s.ExpectedPods, len(s.DisruptedPods), s.Conditions)
	return b
}

func (c *request) disrupted(s *policyv1.PodDisruptionBudgetStatus, pod string) {
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]metav1.Time{}
	}
	s.DisruptedPods[pod] = metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
}

func (c *request) condition(s *policyv1.PodDisruptionBudgetStatus, status metav1.ConditionStatus, reason, message string) {
	s.Conditions = append(s.Conditions, metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: status, Reason: reason, Message: message, ObservedGeneration: int64(c.N(3)),
		LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))})
}

func (c *request) drawRequest() {
	e := &c.post
	e.TypeMeta = metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}
	if c.Once(8) {
		e.APIVersion = "policy/v1beta1"
		c.Count("v1beta1")
	}
	e.Name = "p"
	if c.Once(10) {
		e.Name = trial.Pick(c.Source, "", "other")
	}
	e.Namespace = trial.Pick(c.Source, namespace, "")
	if c.Once(24) {
		e.Namespace = "m"
	}
	if c.Once(10) {
		c.query = "?dryRun=All"
	}
	if c.Once(2) {
		o := &metav1.DeleteOptions{}
		e.DeleteOptions = o
		if c.Once(3) {
			grace := trial.Pick(c.Source, int64(0), 1, 10, 60)
			o.GracePeriodSeconds = &grace
		}
		if c.Once(3) {
			o.Preconditions = &metav1.Preconditions{}
			if c.Once(2) {
				uid := trial.Pick[types.UID](c.Source, "u1", "zzz")
				o.Preconditions.UID = &uid
			}
			switch c.N(3) {
			case 1:
				c.right = true
			case 2:
				c.wrong = true
			}
		}
		if c.Once(10) {
			o.DryRun = trial.Pick(c.Source, []string{"All"}, []string{"Other"}, []string{"All", "All"})
		}
		if c.Once(24) {
			ignore := trial.Pick(c.Source, true, false)
			o.IgnoreStoreReadErrorWithClusterBreakingPotential = &ignore
		}
	}
	c.Note("post %s%s name %s/%q options %+v right version %v wrong version %v", e.APIVersion, c.query, e.Namespace, e.Name, e.DeleteOptions, c.right, c.wrong)
}

// compare asks both.
func (c *request) compare(s server) error {
	objects := map[string]any{podKey("p"): nil}
	if c.pod != nil {
		objects[podKey("p")] = c.pod
	}
	for i := range names {
		objects[budgetKey(fmt.Sprint("b", i))] = nil
	}
	for _, b := range c.budgets {
		objects[budgetKey(b.Name)] = b
	}
	version, err := s.store(objects)
	if err != nil {
		return err
	}
	if c.right || c.wrong {
		v := version
		if c.wrong {
			v = "1"
		}
		c.post.DeleteOptions.Preconditions.ResourceVersion = &v
	}
	if c.pod != nil {
		c.pod.ResourceVersion = version
	}
	r := disruption.Request{Namespace: namespace, Name: "p", Eviction: &c.post, Release: trial.Linked}
	if c.query != "" {
		r.DryRun = []string{"All"}
	}
	before := time.Now().Truncate(time.Second)
	d := disruption.Decide(c.pod, c.budgets, r, before)
	got, err := s.post("/api/v1/namespaces/"+namespace+"/pods/p/eviction"+c.query, c.post)
	if err != nil {
		return err
	}
	c.count(d)
	if err := c.answered(d, got); err != nil {
		return err
	}
	if err := c.booked(s, d, before); err != nil {
		return err
	}
	return c.done(s, d)
}

// answered compares the answer.
func (c *request) answered(d disruption.Decision, got answer) error {
	real := metav1.Status{}
	if err := json.Unmarshal(got.body, &real); err != nil {
		return fmt.Errorf("%d %s: %w", got.code, got.body, err)
	}
	mine := d.StatusObject()
	real.TypeMeta, real.ListMeta = mine.TypeMeta, metav1.ListMeta{} // of the encoding
	if a, b := text(real), text(mine); a != b || int32(got.code) != d.Code {
		return fmt.Errorf("real     %d %s\npodberth %d %s", got.code, a, d.Code, b)
	}
	header := ""
	if d.RetryAfterSeconds > 0 {
		header = strconv.Itoa(int(d.RetryAfterSeconds))
	}
	if got.retryAfter != header {
		return fmt.Errorf("Retry-After: real %q, podberth %q", got.retryAfter, header)
	}
	if a, b := disruption.BudgetRefuses(&real), disruption.BudgetRefuses(&mine); a != b {
		return fmt.Errorf("a budget refuses: real %v, podberth %v", a, b)
	}
	return nil
}

// booked compares the budgets afterwards. The times that the server writes must be those of the request.
func (c *request) booked(s server, d disruption.Decision, before time.Time) error {
	after := time.Now()
	for _, b := range c.budgets {
		want := b.Status
		for _, charge := range d.Charges {
			if charge.Budget == b {
				want = *charge.Status
			}
		}
		object, err := s.load(budgetKey(b.Name))
		if err != nil {
			return err
		}
		stored, ok := object.(*policyv1.PodDisruptionBudget)
		if !ok {
			return fmt.Errorf("budget %s: %T", b.Name, object)
		}
		real := stored.Status
		written := func(t *metav1.Time) {
			if !t.Time.Before(before) && !t.After(after) {
				*t = metav1.NewTime(before)
			}
		}
		for name, t := range real.DisruptedPods {
			written(&t)
			real.DisruptedPods[name] = t
		}
		for i := range real.Conditions {
			written(&real.Conditions[i].LastTransitionTime)
		}
		if x, y := text(real), text(want); x != y {
			return fmt.Errorf("status of %s\nreal     %.2000s\npodberth %.2000s", b.Name, x, y)
		}
	}
	return nil
}

func text(object any) string {
	out, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// done compares what has become of the pod: removed, terminating, or as it was.
func (c *request) done(s server, d disruption.Decision) error {
	object, err := s.load(podKey("p"))
	if err != nil || c.pod == nil {
		return err
	}
	real, _ := object.(*v1.Pod)
	if !d.Allowed() || d.DryRun {
		if real == nil {
			return errors.New("the pod is gone")
		}
		if x, y := str(real.DeletionGracePeriodSeconds), str(c.pod.DeletionGracePeriodSeconds); x != y {
			return fmt.Errorf("the pod is terminating within %s, was within %s", x, y)
		}
		return nil
	}
	if real == nil {
		c.Count("removed at once")
		if object, err = s.last(podKey("p")); err != nil {
			return err
		}
		if d.GraceSeconds != 0 {
			return fmt.Errorf("the pod went at once, podberth gives it %d seconds", d.GraceSeconds)
		}
		return hasCondition(object.(*v1.Pod), d)
	}
	c.Count("deleted later")
	if real.DeletionTimestamp == nil {
		return errors.New("the pod is not terminating")
	}
	if got := *real.DeletionGracePeriodSeconds; got != d.GraceSeconds {
		return fmt.Errorf("grace: real %d, podberth %d", got, d.GraceSeconds)
	}
	return hasCondition(real, d)
}

// hasCondition checks that the pod has the condition that podberth adds.
func hasCondition(real *v1.Pod, d disruption.Decision) error {
	for _, have := range real.Status.Conditions {
		if w := d.Condition; w != nil && have.Type == w.Type && have.Status == w.Status && have.Reason == w.Reason && have.Message == w.Message {
			return nil
		}
	}
	return fmt.Errorf("conditions: real %v, podberth adds %v", real.Status.Conditions, d.Condition)
}

func (c *request) count(d disruption.Decision) {
	c.Count(strconv.Itoa(int(d.Code)))
	if d.Bypass != "" {
		c.Count("bypass " + d.Bypass)
	}
	if d.DryRun {
		c.Count("dry run")
	}
	if len(d.Charges) > 0 {
		c.Count("charged")
		if d.Charges[0].Status.DisruptionsAllowed == 0 {
			c.Count("the last unit")
		}
	}
	switch len(d.Budgets) {
	case 0:
		if d.Allowed() {
			c.Count("no budget")
		}
	case 2:
		c.Count("two budgets")
	}
	if d.Allowed() && c.post.DeleteOptions != nil && c.post.DeleteOptions.GracePeriodSeconds != nil {
		c.Count("another grace")
	}
	for part, name := range map[string]string{"still being processed": "still processed", "failed sync": "failed sync", "healthy pods and has": "needs healthy pods", "currently (": "a message", "is negative": "negative", "too big": "overfull"} {
		if strings.Contains(d.Cause+d.Message, part) {
			c.Count(name)
		}
	}
	if strings.HasSuffix(d.Cause, "evicting pods currently") {
		c.Count("no reason")
	}
}
