package disruption

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// target is the running and ready pod "p" with the label app=x.
func target() *v1.Pod {
	p := healthyPod("p", "")
	p.ResourceVersion, p.UID, p.Spec.NodeName = "1", "u1", "n"
	return p
}

// counted returns budget x for pods with app=x and with these numbers.
func counted(allowed, current, desired, expected int32) *policyv1.PodDisruptionBudget {
	b := pdb("x", "app=x", allowed)
	b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.ExpectedPods = current, desired, expected
	return b
}

func with(b *policyv1.PodDisruptionBudget, change func(b *policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	change(b)
	return b
}

func always(b *policyv1.PodDisruptionBudget) {
	b.Spec.UnhealthyPodEvictionPolicy = ptr(policyv1.AlwaysAllow)
}

func condition(status metav1.ConditionStatus, reason, message string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status.Conditions = []metav1.Condition{{Type: "DisruptionAllowed", Status: status, Reason: reason, Message: message}}
	}
}

func stale(b *policyv1.PodDisruptionBudget) { b.Generation, b.Status.ObservedGeneration = 2, 1 }

func disrupted(n int) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{}
		for i := range n {
			b.Status.DisruptedPods[fmt.Sprint(i)] = metav1.NewTime(now)
		}
	}
}

func phase(ph v1.PodPhase) *v1.Pod {
	p := target()
	p.Status.Phase = ph
	return p
}

const violates = "Cannot evict pod as it would violate the pod's disruption budget."

func TestDecide(t *testing.T) {
	terminating := target()
	terminating.DeletionTimestamp = &metav1.Time{Time: now}
	bareUnready := target()
	bareUnready.Status.Conditions = nil
	list := func(b ...*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget { return b }
	two := list(pdb("a", "app=x", 5), pdb("b", "app=x", 5))
	type test struct {
		name    string
		pod     *v1.Pod
		pdbs    []*policyv1.PodDisruptionBudget
		code    int32
		message string
		cause   string
		retry   int32
		bypass  string
		pinned  bool
		charged bool
		outlook string
	}
	testkit.Run(t, []test{
		{name: "B4.1 no budget", pod: target(), code: 201},
		{name: "B4.2 exhausted", pod: target(), pdbs: list(counted(0, 2, 2, 3)), code: 429, message: violates, cause: "The disruption budget x needs 2 healthy pods and has 2 currently", outlook: outlookNotNow},
		{name: "B4.3 two budgets", pod: target(), pdbs: two, code: 500, message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", outlook: outlookNever},
		{name: "B4.4 allowed 1", pod: target(), pdbs: list(counted(1, 3, 2, 3)), code: 201, charged: true},
		{name: "B4.5 generation", pod: target(), pdbs: list(with(counted(5, 3, 2, 3), stale)), code: 429, message: violates, cause: "The disruption budget x is still being processed by the server.", retry: 10, outlook: outlookNotNow},
		{name: "B4.6 no reason", pod: target(), pdbs: list(counted(0, 3, 2, 3)), code: 429, message: violates, cause: "The disruption budget x does not allow evicting pods currently", outlook: outlookNotNow},
		{name: "B4.7 pending and two budgets", pod: phase(v1.PodPending), pdbs: two, code: 201, bypass: "Pending", pinned: true},
		{name: "B4.8 unready and healthy budget", pod: unready(target()), pdbs: list(counted(0, 2, 2, 3)), code: 201, bypass: "Unhealthy", pinned: true},
		{name: "B4.9 unready and unhealthy budget", pod: unready(target()), pdbs: list(counted(0, 1, 2, 3)), code: 429, message: violates, cause: "The disruption budget x needs 2 healthy pods and has 1 currently", outlook: outlookNotNow},
		{name: "B4.10 unready and nothing desired", pod: unready(target()), pdbs: list(counted(0, 0, 0, 0)), code: 429, message: violates, cause: "The disruption budget x needs 0 healthy pods and has 0 currently", outlook: outlookNever},
		{name: "B4.11 unready and always and stale", pod: unready(target()), pdbs: list(with(with(counted(0, 0, 2, 3), stale), always)), code: 201, bypass: "Unhealthy", pinned: true},
		{name: "B4.12 overfull", pod: target(), pdbs: list(with(counted(5, 3, 2, 3), disrupted(2001))), code: 403, message: `poddisruptionbudget.policy "x" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller`, cause: "The disruption budget x does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller", outlook: outlookNotNow},
		{name: "B4.14 no phase", pod: phase(""), pdbs: list(counted(0, 2, 2, 3)), code: 429, message: violates, cause: "The disruption budget x needs 2 healthy pods and has 2 currently", outlook: outlookNotNow},
		{name: "2000 are fine", pod: target(), pdbs: list(with(counted(5, 3, 2, 3), disrupted(2000))), code: 201, charged: true},
		{name: "unknown phase", pod: phase(v1.PodUnknown), pdbs: list(counted(0, 2, 2, 3)), code: 429, message: violates, cause: "The disruption budget x needs 2 healthy pods and has 2 currently", outlook: outlookNotNow},
		{name: "succeeded", pod: phase(v1.PodSucceeded), pdbs: two, code: 201, bypass: "Succeeded"},
		{name: "failed", pod: phase(v1.PodFailed), pdbs: two, code: 201, bypass: "Failed"},
		{name: "terminating", pod: terminating, pdbs: two, code: 201, bypass: "Terminating"},
		{name: "no pod", code: 404, message: `pods "" not found`, outlook: outlookNever},
		{name: "no ready condition", pod: bareUnready, pdbs: list(counted(0, 2, 2, 3)), code: 201, bypass: "Unhealthy", pinned: true},
		{name: "unknown policy is IfHealthyBudget", pod: unready(target()), pdbs: list(with(counted(0, 1, 2, 3), func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = ptr(policyv1.UnhealthyPodEvictionPolicyType("?"))
		})), code: 429, message: violates, cause: "The disruption budget x needs 2 healthy pods and has 1 currently", outlook: outlookNotNow},
		{name: "ready and always", pod: target(), pdbs: list(with(counted(0, 2, 2, 3), always)), code: 429, message: violates, cause: "The disruption budget x needs 2 healthy pods and has 2 currently", outlook: outlookNotNow},
		{name: "negative", pod: target(), pdbs: list(counted(-1, 3, 2, 3)), code: 403, message: `poddisruptionbudget.policy "x" is forbidden: pdb disruptions allowed is negative`, cause: "The disruption budget x does not allow evicting pods currently: pdb disruptions allowed is negative", outlook: outlookNever},
		{name: "failed sync", pod: target(), pdbs: list(with(counted(0, 1, 2, 3), condition("False", "SyncFailed", "M"))), code: 429, message: violates, cause: "The disruption budget x does not allow evicting pods currently because it failed sync: M", outlook: outlookNever},
		{name: "failed sync without a message", pod: target(), pdbs: list(with(counted(0, 3, 2, 3), condition("False", "SyncFailed", ""))), code: 429, message: violates, cause: "The disruption budget x does not allow evicting pods currently", outlook: outlookNotNow},
		{name: "condition with a message", pod: target(), pdbs: list(with(counted(0, 3, 2, 3), condition("False", "R", "M"))), code: 429, message: violates, cause: "The disruption budget x does not allow evicting pods currently (R): M", outlook: outlookNotNow},
		{name: "true condition with a message", pod: target(), pdbs: list(with(counted(0, 3, 2, 3), condition("True", "R", "M"))), code: 429, message: violates, cause: "The disruption budget x does not allow evicting pods currently", outlook: outlookNotNow},
		{name: "empty selector covers", pod: target(), pdbs: list(with(pdb("all", "{}", 0), func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods, b.Status.DesiredHealthy = 3, 2 })), code: 429, message: violates, cause: "The disruption budget all needs 2 healthy pods and has 0 currently", outlook: outlookNotNow},
		{name: "nil selector covers nobody", pod: target(), pdbs: list(pdb("none", "", 0)), code: 201},
		{name: "unreadable selector is skipped", pod: target(), pdbs: list(with(pdb("bad", "", 0), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = expression("app", "Bad") })), code: 201},
		{name: "another namespace", pod: target(), pdbs: list(with(pdb("far", "app=x", 0), func(b *policyv1.PodDisruptionBudget) { b.Namespace = "far" })), code: 201},
		{name: "one is enough and lets unready pods go", pod: unready(target()), pdbs: list(counted(0, 1, 1, 3)), code: 201, bypass: "Unhealthy", pinned: true},
		{name: "the first condition of the type counts", pod: target(), pdbs: list(with(counted(0, 3, 2, 3), func(b *policyv1.PodDisruptionBudget) {
			b.Status.Conditions = []metav1.Condition{{Type: "Other", Status: "False", Reason: "R1", Message: "M1"}, {Type: "DisruptionAllowed", Status: "False", Reason: "R2", Message: "M2"}, {Type: "DisruptionAllowed", Status: "False", Reason: "R3", Message: "M3"}}
		})), code: 429, message: violates, cause: "The disruption budget x does not allow evicting pods currently (R2): M2", outlook: outlookNotNow},
		{name: "demands every pod", pod: target(), pdbs: list(counted(0, 3, 3, 3)), code: 429, message: violates, cause: "The disruption budget x needs 3 healthy pods and has 3 currently", outlook: outlookNever},
	}, func(t *testing.T, c test) {
		var d Decision
		testkit.Unchanged(t, func() { d = Decide(c.pod, c.pdbs, Request{}, now) }, c.pdbs...)
		require.Equal(t, []any{c.code, c.message, c.cause, c.retry, c.bypass, cmp.Or(c.outlook, outlookNow)}, []any{d.Code, d.Message, d.Cause, d.RetryAfterSeconds, d.Bypass, d.Outlook()})
		require.Equal(t, c.charged, len(d.Charges) == 1)
		require.Equal(t, c.code == 201, d.Allowed())
		require.Equal(t, c.code == 201, len(d.Remedies()) == 0)
		if c.pinned {
			require.Equal(t, "1", *d.Preconditions.ResourceVersion)
		} else {
			require.Nil(t, d.Preconditions)
		}
		s := d.StatusObject()
		require.Equal(t, c.code, s.Code)
		if c.code == 429 {
			require.Equal(t, metav1.StatusReasonTooManyRequests, s.Reason)
			require.Equal(t, []metav1.StatusCause{{Type: "DisruptionBudget", Message: c.cause}}, s.Details.Causes)
			require.Equal(t, c.retry, s.Details.RetryAfterSeconds)
			require.True(t, BudgetRefuses(&s))
		}
		if d.Allowed() {
			require.Equal(t, []any{v1.DisruptionTarget, v1.ConditionTrue, "EvictionByEvictionAPI", "Eviction API: evicting"}, []any{d.Condition.Type, d.Condition.Status, d.Condition.Reason, d.Condition.Message})
			require.Len(t, d.Steps(c.pod), 6)
		} else {
			require.Empty(t, d.Steps(c.pod))
		}
	})
}

func TestCharge(t *testing.T) {
	b := counted(1, 3, 2, 3)
	d := Decide(target(), []*policyv1.PodDisruptionBudget{b}, Request{}, now)
	require.EqualValues(t, 0, d.Charges[0].Status.DisruptionsAllowed)
	require.Equal(t, map[string]metav1.Time{"p": metav1.NewTime(now)}, d.Charges[0].Status.DisruptedPods)
	require.Equal(t, []any{metav1.ConditionFalse, "InsufficientPods"}, []any{d.Charges[0].Status.Conditions[0].Status, d.Charges[0].Status.Conditions[0].Reason})
	d = Decide(target(), []*policyv1.PodDisruptionBudget{counted(2, 4, 2, 4)}, Request{}, now)
	require.Empty(t, d.Charges[0].Status.Conditions, "one is left")
	b = with(counted(1, 3, 2, 3), condition("True", "SufficientPods", ""))
	testkit.Unchanged(t, func() { d = Decide(target(), []*policyv1.PodDisruptionBudget{b}, Request{}, now) }, b)
	require.Equal(t, metav1.ConditionFalse, d.Charges[0].Status.Conditions[0].Status)
	require.Equal(t, []string{"x"}, d.Budgets)
}

func TestRequests(t *testing.T) {
	one := []*policyv1.PodDisruptionBudget{counted(1, 3, 2, 3)}
	options := func(o metav1.DeleteOptions) Request {
		return Request{Eviction: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}, DeleteOptions: &o}}
	}
	t.Run("B4.13 dry run", func(t *testing.T) {
		for _, r := range []Request{{DryRun: []string{"All"}}, options(metav1.DeleteOptions{DryRun: []string{"All"}})} {
			d := Decide(target(), one, r, now)
			require.True(t, d.Allowed() && d.DryRun)
			require.Empty(t, d.Charges)
			require.Nil(t, d.Condition)
			require.Empty(t, d.Steps(target()))
		}
	})
	t.Run("dry run given twice", func(t *testing.T) {
		r := options(metav1.DeleteOptions{DryRun: []string{"Other"}})
		r.DryRun = []string{"All"}
		d := Decide(target(), one, r, now)
		require.Equal(t, "Non-matching dry-run options in request and content: [All] and [Other]", d.Message)
		require.EqualValues(t, 500, d.Code)
		r.Eviction.DeleteOptions.DryRun = r.DryRun
		d = Decide(target(), one, r, now)
		require.True(t, d.Allowed())
	})
	t.Run("another name", func(t *testing.T) {
		r := Request{Eviction: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "q"}}}
		d := Decide(target(), one, r, now)
		require.Equal(t, []any{int32(400), "name in URL does not match name in Eviction object"}, []any{d.Code, d.Message})
		r.Eviction.Namespace = "elsewhere"
		d = Decide(target(), one, r, now)
		require.Equal(t, []any{int32(400), "the namespace of the provided object does not match the namespace sent on the request"}, []any{d.Code, d.Message})
		r.Eviction.Namespace = "default"
		r.Eviction.Name = ""
		d = Decide(target(), one, r, now)
		require.EqualValues(t, 400, d.Code, "an empty name is another name, too")
		r.Eviction.Name = "p"
		d = Decide(target(), one, r, now)
		require.True(t, d.Allowed())
		d = Decide(nil, nil, Request{Name: "other", Eviction: r.Eviction}, now)
		require.EqualValues(t, 400, d.Code, "the name is looked at before the pod")
		d = Decide(nil, nil, Request{Eviction: &policyv1.Eviction{}}, now)
		require.EqualValues(t, 400, d.Code, "no name at all")
		d = Decide(nil, nil, Request{Name: "p", Eviction: r.Eviction}, now)
		require.Equal(t, []any{int32(404), `pods "p" not found`}, []any{d.Code, d.Message})
	})
	t.Run("dry run that is none", func(t *testing.T) {
		r := options(metav1.DeleteOptions{DryRun: []string{"Other"}})
		d := Decide(target(), one, r, now)
		require.Equal(t, []any{int32(422), `DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Other"]: supported values: "All"`}, []any{d.Code, d.Message})
		require.Equal(t, []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueNotSupported, Field: "dryRun", Message: `Unsupported value: ["Other"]: supported values: "All"`}}, d.StatusObject().Details.Causes)
		d = Decide(target(), []*policyv1.PodDisruptionBudget{counted(0, 2, 2, 3)}, r, now)
		require.EqualValues(t, 429, d.Code, "the budget is asked before")
		r.Eviction.DeleteOptions.Preconditions = &metav1.Preconditions{UID: ptr(types.UID("zzz"))}
		d = Decide(unready(target()), []*policyv1.PodDisruptionBudget{counted(0, 2, 2, 3)}, r, now)
		require.EqualValues(t, 422, d.Code, "the preconditions are checked after")
	})
	t.Run("store read errors", func(t *testing.T) {
		d := Decide(target(), one, options(metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr(true)}), now)
		require.EqualValues(t, 422, d.Code)
		require.Equal(t, `Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option`, d.Message)
		require.Equal(t, &metav1.StatusDetails{Name: "p", Group: "policy", Kind: "Eviction", Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential",
			Message: "Invalid value: true: can not be set for pod eviction, try after removing the option"}}}, d.StatusObject().Details)
		d = Decide(target(), one, options(metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr(false)}), now)
		require.True(t, d.Allowed())
	})
	t.Run("preconditions", func(t *testing.T) {
		d := Decide(target(), one, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr("9")}}), now)
		require.Equal(t, `Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition (9) does not match the ResourceVersion in record (1). The object might have been modified`, d.Message)
		require.EqualValues(t, 409, d.Code)
		require.Len(t, d.Charges, 1, "the unit is used all the same")
		d = Decide(target(), one, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr(types.UID("zzz"))}}), now)
		require.Equal(t, `Operation cannot be fulfilled on Pod "p": the UID in the precondition (zzz) does not match the UID in record (u1). The object might have been deleted and then recreated`, d.Message)
		d = Decide(target(), one, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr(types.UID("u1")), ResourceVersion: ptr("1")}}), now)
		require.True(t, d.Allowed())
		d = Decide(phase(v1.PodPending), nil, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr("9")}}), now)
		require.EqualValues(t, 409, d.Code, "the caller's version is not replaced")
		d = Decide(phase(v1.PodPending), nil, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr(types.UID("u1"))}}), now)
		require.Equal(t, &metav1.Preconditions{UID: ptr(types.UID("u1")), ResourceVersion: ptr("1")}, d.Preconditions)
		d = Decide(unready(target()), []*policyv1.PodDisruptionBudget{counted(0, 2, 2, 3)}, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr("9")}}), now)
		require.True(t, d.Allowed(), "a pod that may leave because it is not ready is deleted in the version that was read, whatever version the caller demands")
		require.Equal(t, "1", *d.Preconditions.ResourceVersion)
		d = Decide(unready(target()), []*policyv1.PodDisruptionBudget{counted(0, 2, 2, 3)}, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr(types.UID("zzz"))}}), now)
		require.Equal(t, []any{int32(429), int32(10)}, []any{d.Code, d.RetryAfterSeconds})
		d = Decide(unready(target()), []*policyv1.PodDisruptionBudget{counted(0, 2, 2, 3)}, options(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr(types.UID("zzz")), ResourceVersion: ptr("1")}}), now)
		require.EqualValues(t, 409, d.Code)
	})
	t.Run("grace", func(t *testing.T) {
		g := func(p *v1.Pod, r Request) int64 { d := Decide(p, nil, r, now); return d.GraceSeconds }
		require.EqualValues(t, 30, g(target(), Request{}))
		own := target()
		own.Spec.TerminationGracePeriodSeconds = ptr(int64(7))
		require.EqualValues(t, 7, g(own, Request{}))
		require.EqualValues(t, 3, g(own, options(metav1.DeleteOptions{GracePeriodSeconds: ptr(int64(3))})))
		own.DeletionTimestamp, own.DeletionGracePeriodSeconds = &metav1.Time{Time: now}, ptr(int64(20))
		require.EqualValues(t, 5, g(own, options(metav1.DeleteOptions{GracePeriodSeconds: ptr(int64(5))})), "a smaller one shortens")
		require.EqualValues(t, 20, g(own, options(metav1.DeleteOptions{GracePeriodSeconds: ptr(int64(50))})))
		require.EqualValues(t, 20, g(own, Request{}))
		unscheduled := target()
		unscheduled.Spec.NodeName = ""
		require.EqualValues(t, 0, g(unscheduled, options(metav1.DeleteOptions{GracePeriodSeconds: ptr(int64(5))})), "no kubelet has it")
		require.EqualValues(t, 0, g(phase(v1.PodFailed), Request{}), "it has ended")
	})
}

func TestTraps(t *testing.T) {
	t.Run("evicting a pod twice takes two units", func(t *testing.T) {
		e := NewEvictions([]*policyv1.PodDisruptionBudget{counted(2, 4, 2, 4)})
		for left := int32(1); left >= 0; left-- {
			d := e.Evict(target(), Request{}, now)
			require.True(t, d.Allowed())
			require.Equal(t, left, e.Budgets()[0].Status.DisruptionsAllowed)
		}
	})
	t.Run("a failed deletion gives the unit back after two minutes", func(t *testing.T) {
		b := with(counted(1, 3, 2, 3), func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = amount("2") })
		all := append(replicate(2, ""), target())
		e := NewEvictions([]*policyv1.PodDisruptionBudget{b})
		e.Evict(target(), Request{}, now)
		e.Sync(all, nil, now.Add(time.Minute))
		require.EqualValues(t, 0, e.Budgets()[0].Status.DisruptionsAllowed)
		e.Sync(all, nil, now.Add(2*time.Minute))
		require.EqualValues(t, 1, e.Budgets()[0].Status.DisruptionsAllowed)
	})
	t.Run("unready pods cost nothing", func(t *testing.T) {
		e := NewEvictions([]*policyv1.PodDisruptionBudget{counted(0, 2, 2, 5)})
		for range 3 {
			d := e.Evict(unready(target()), Request{}, now)
			require.True(t, d.Allowed())
		}
		require.Empty(t, e.Budgets()[0].Status.DisruptedPods)
	})
}

func TestEvictions(t *testing.T) {
	b := counted(2, 4, 2, 4)
	e := NewEvictions([]*policyv1.PodDisruptionBudget{b})
	other := target()
	other.Name = "q"
	for _, p := range []*v1.Pod{target(), other} {
		d := e.Evict(p, Request{}, now)
		require.True(t, d.Allowed())
	}
	d := e.Evict(healthyPod("r", ""), Request{}, now)
	require.EqualValues(t, 429, d.Code)
	require.Equal(t, map[string]metav1.Time{"p": metav1.NewTime(now), "q": metav1.NewTime(now)}, e.Budgets()[0].Status.DisruptedPods)
	require.Equal(t, counted(2, 4, 2, 4), b, "the caller's budget stays as it is")
	d = e.Evict(nil, Request{}, now)
	require.EqualValues(t, 404, d.Code)
}

// The cases of the documentation chapter "API-initiated Eviction".
func TestDocumentedEviction(t *testing.T) {
	quux := healthyPod("quux", "")
	quux.Spec.NodeName = "n"
	t.Run("objects of v1 and v1beta1", func(t *testing.T) {
		for _, version := range []string{"policy/v1", "policy/v1beta1"} {
			e := &policyv1.Eviction{}
			require.NoError(t, json.Unmarshal([]byte(`{"apiVersion": "`+version+`", "kind": "Eviction", "metadata": {"name": "quux", "namespace": "default"}}`), e))
			d := Decide(quux, nil, Request{Eviction: e}, now)
			require.True(t, d.Allowed())
		}
	})
	t.Run("a pod without a budget is always evicted", func(t *testing.T) {
		d := Decide(quux, []*policyv1.PodDisruptionBudget{pdb("other", "app=other", 0)}, Request{}, now)
		require.True(t, d.Allowed())
	})
	t.Run("the three answers", func(t *testing.T) {
		for want, pdbs := range map[int32][]*policyv1.PodDisruptionBudget{
			201: nil, 429: {counted(0, 2, 2, 3)}, 500: {pdb("a", "app=x", 1), pdb("b", "app=x", 1)},
		} {
			d := Decide(quux, pdbs, Request{}, now)
			s := d.StatusObject()
			require.Equal(t, want, s.Code)
			require.Equal(t, want == 429, BudgetRefuses(&s))
		}
		for name, s := range map[string]metav1.Status{
			"no cause: the API server is busy": {Code: 429, Status: metav1.StatusFailure, Reason: metav1.StatusReasonTooManyRequests},
			"another cause":                    {Code: 429, Status: metav1.StatusFailure, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "Other"}}}},
			"another code":                     {Code: 403, Status: metav1.StatusFailure, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "DisruptionBudget"}}}},
		} {
			require.False(t, BudgetRefuses(&s), name)
		}
		details := &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "DisruptionBudget"}}}
		require.True(t, BudgetRefuses(&metav1.Status{Code: 429, Details: details}), "the code is enough")
		require.True(t, BudgetRefuses(&metav1.Status{Reason: metav1.StatusReasonTooManyRequests, Details: details}), "the reason is enough")
	})
	t.Run("the six steps", func(t *testing.T) {
		d := Decide(quux, nil, Request{}, now)
		steps := d.Steps(quux)
		var out []string
		for _, s := range steps {
			out = append(out, fmt.Sprintf("%s to %s: %s", s.After, s.Until, s.Actor))
		}
		require.Equal(t, []string{"0s to 0s: API server", "0s to 30s: kubelet", "0s to 30s: control plane", "30s to 30s: kubelet", "30s to 30s: kubelet", "30s to 30s: API server"}, out)
		require.Nil(t, d.Steps(nil))
	})
	t.Run("troubleshooting", func(t *testing.T) {
		for _, pdbs := range [][]*policyv1.PodDisruptionBudget{{counted(0, 1, 2, 3)}, {pdb("a", "app=x", 1), pdb("b", "app=x", 1)}, {counted(-1, 3, 2, 3)},
			{with(counted(5, 3, 2, 3), disrupted(2001))}, {with(counted(0, 1, 2, 3), condition("False", "SyncFailed", "M"))}, {counted(0, 0, 0, 0)}, {counted(0, 3, 3, 3)}} {
			d := Decide(quux, pdbs, Request{}, now)
			r := d.Remedies()
			require.Equal(t, "pause the automation that evicts and look into the application", r[len(r)-1].Text)
			require.Greater(t, len(r), 1)
		}
	})
}

// The details of a status name the object that was refused, and have the causes and the time to wait of a budget.
func TestStatusObject(t *testing.T) {
	causes := func(message string) []metav1.StatusCause {
		return []metav1.StatusCause{{Type: "DisruptionBudget", Message: message}}
	}
	type test struct {
		name    string
		pod     *v1.Pod
		pdbs    []*policyv1.PodDisruptionBudget
		r       Request
		status  string
		details *metav1.StatusDetails
	}
	testkit.Run(t, []test{
		{"accepted", target(), nil, Request{}, "Success", nil},
		{"no pod", nil, nil, Request{Name: "p"}, "Failure", &metav1.StatusDetails{Name: "p", Kind: "pods"}},
		{"several budgets", target(), []*policyv1.PodDisruptionBudget{pdb("a", "app=x", 5), pdb("b", "app=x", 5)}, Request{}, "Failure", nil},
		{"exhausted", target(), []*policyv1.PodDisruptionBudget{counted(0, 2, 2, 3)}, Request{}, "Failure", &metav1.StatusDetails{Causes: causes("The disruption budget x needs 2 healthy pods and has 2 currently")}},
		{"stale", target(), []*policyv1.PodDisruptionBudget{with(counted(5, 3, 2, 3), stale)}, Request{}, "Failure",
			&metav1.StatusDetails{Causes: causes("The disruption budget x is still being processed by the server."), RetryAfterSeconds: 10}},
		{"negative", target(), []*policyv1.PodDisruptionBudget{counted(-1, 3, 2, 3)}, Request{}, "Failure", &metav1.StatusDetails{Name: "x", Group: "policy", Kind: "poddisruptionbudget", Causes: causes("The disruption budget x does not allow evicting pods currently: pdb disruptions allowed is negative")}},
		{"conflict", target(), nil, Request{Eviction: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}, DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr("9")}}}},
			"Failure", &metav1.StatusDetails{Name: "p", Kind: "Pod"}},
	}, func(t *testing.T, c test) {
		d := Decide(c.pod, c.pdbs, c.r, now)
		require.Equal(t, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: c.status, Code: d.Code, Reason: d.Reason, Message: d.Message, Details: c.details}, d.StatusObject())
	})
}
