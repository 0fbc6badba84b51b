package disruption

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// on returns a ready pod of a controller on a node, with the label app=label.
func on(node, name, label, owner string) *v1.Pod {
	p := healthyPod(name, owner)
	p.Labels = map[string]string{"app": label}
	p.Spec.NodeName = node
	return p
}

func budget(name, selector, min, max string) *policyv1.PodDisruptionBudget {
	b := pdb(name, selector, 0)
	b.Spec.MinAvailable, b.Spec.MaxUnavailable = amount(min), amount(max)
	return b
}

// replacing replaces the pods of a wave one after the other.
func replacing(one func(pod *v1.Pod) (node string, ok bool)) func(pods []*v1.Pod) []Replacement {
	return func(pods []*v1.Pod) (out []Replacement) {
		for _, pod := range pods {
			node, ok := one(pod)
			out = append(out, Replacement{node, ok})
		}
		return out
	}
}

// outline returns a plan in short: the waves, then "!" and the blocked pods, then "~" and the skipped pods.
func outline(p Plan) (out []string) {
	for _, w := range p.Waves {
		line := ""
		for _, e := range w {
			line += e.Pod.Name + " "
		}
		out = append(out, line)
	}
	for _, b := range p.Blocked {
		out = append(out, "!"+b.Pod.Name)
	}
	for _, s := range p.Skipped {
		out = append(out, "~"+s.Pod.Name)
	}
	return out
}

func example() PlanInput {
	return PlanInput{
		Nodes:   []string{"n"},
		Pods:    []*v1.Pod{on("n", "a1", "a", "ReplicaSet/a"), on("n", "a2", "a", "ReplicaSet/a"), on("m", "a3", "a", "ReplicaSet/a"), on("n", "b1", "b", "ReplicaSet/b"), on("n", "c1", "c", "")},
		Budgets: []*policyv1.PodDisruptionBudget{budget("a", "app=a", "", "1"), budget("b", "app=b", "1", "")},
		Scale:   NewScale([]Workload{workload("ReplicaSet", "a", ptr(int32(3)), ""), workload("ReplicaSet", "b", ptr(int32(1)), "")}),
		Now:     now,
	}
}

func TestPlan(t *testing.T) {
	t.Run("the example without force", func(t *testing.T) {
		p := MakePlan(example())
		require.Empty(t, p.Waves)
		require.Equal(t, []string{"n: cannot delete Pods that declare no controller (use --force to override): default/c1"}, p.Errors)
		require.Len(t, p.Blocked, 4, "nothing on the node is evicted")
		require.Equal(t, "end the pod when its work is done: no controller creates the pod again", p.Blocked[3].Remedies[0].Text)
		require.Equal(t, "the drain of node n does not begin: cannot delete Pods that declare no controller (use --force to override): default/c1", p.Blocked[0].Cause)
		require.Empty(t, p.Blocked[0].Remedies, "the remedy is that of the pod that is refused")
	})
	t.Run("the example with force", func(t *testing.T) {
		in := example()
		in.Options.Force = true
		var p Plan
		testkit.Unchanged(t, func() { p = MakePlan(in) }, in.Pods...)
		require.Equal(t, []string{"a1 c1 ", "a2 ", "!b1"}, outline(p))
		b := p.Blocked[0]
		require.Equal(t, "The disruption budget b needs 1 healthy pods and has 1 currently", b.Cause)
		require.Equal(t, "raise the replicas above what the budget demands, or lower what it demands: it wants every pod", b.Remedies[0].Text)
		require.False(t, b.WaitingHelps)
		require.Equal(t, []string{"default/b"}, b.Budgets)
		require.Equal(t, "budget default/b demands 1 healthy pods of 1 expected: 1 - 1 leaves none to disrupt", b.Proof)
		require.Equal(t, []string{"n: deleting Pods that declare no controller: default/c1"}, p.Warnings)
		a1 := p.Waves[0][0]
		require.Equal(t, []any{[]string{"default/a"}, true, ""}, []any{a1.Budgets, a1.Replaced, a1.Replacement})
		require.False(t, p.Waves[0][1].Replaced, "nobody creates c1 again")
	})
	t.Run("no room for replacements", func(t *testing.T) {
		in := example()
		in.Options.Force = true
		in.Replace = replacing(func(*v1.Pod) (string, bool) { return "", false })
		p := MakePlan(in)
		require.Equal(t, []string{"a1 c1 ", "!b1", "!a2"}, outline(p))
		require.True(t, p.Blocked[1].WaitingHelps, "a third pod would help")
		require.Equal(t, "wait until more pods are ready", p.Blocked[1].Remedies[0].Text)
		require.Empty(t, p.Blocked[1].Proof)
	})
	t.Run("replacements by the caller", func(t *testing.T) {
		in := example()
		in.Options.Force = true
		var asked []string
		in.Replace = replacing(func(pod *v1.Pod) (string, bool) {
			asked = append(asked, pod.Name)
			return "m", true
		})
		p := MakePlan(in)
		require.Equal(t, []string{"a1", "a2"}, asked)
		require.Equal(t, "m", p.Waves[1][0].Replacement)
	})
	t.Run("without eviction", func(t *testing.T) {
		in := example()
		in.Options.Force, in.Options.DisableEviction = true, true
		slices.Reverse(in.Pods)
		p := MakePlan(in)
		require.Equal(t, []string{"a1 a2 b1 c1 "}, outline(p))
		for i, replaced := range []bool{true, true, true, false} {
			require.Equal(t, replaced, p.Waves[0][i].Replaced)
		}
	})
	t.Run("finished and terminating pods are not replaced", func(t *testing.T) {
		in := example()
		in.Budgets, in.Pods = nil, in.Pods[:3]
		in.Nodes = []string{"n", "m"}
		in.Pods[0].Status.Phase = v1.PodSucceeded
		in.Pods[1].DeletionTimestamp = &metav1.Time{Time: now}
		p := MakePlan(in)
		require.Equal(t, []string{"a1 a2 a3 "}, outline(p))
		for i, replaced := range []bool{false, false, true} {
			require.Equal(t, replaced, p.Waves[0][i].Replaced)
		}
	})
	t.Run("pods that have left do not count", func(t *testing.T) {
		in := example()
		in.Pods = in.Pods[:3]
		in.Budgets = []*policyv1.PodDisruptionBudget{budget("a", "app=a", "2", "")}
		in.Replace = replacing(func(*v1.Pod) (string, bool) { return "", false })
		p := MakePlan(in)
		require.Equal(t, []string{"a1 ", "!a2"}, outline(p))
		require.Equal(t, "budget default/a demands 2 healthy pods of 2 expected: 2 - 2 leaves none to disrupt", p.Blocked[0].Proof)
	})
	t.Run("nil budgets and no controllers", func(t *testing.T) {
		in := example()
		in.Options.Force, in.Scale = true, nil
		in.Budgets = []*policyv1.PodDisruptionBudget{nil, budget("b", "app=b", "1", "")}
		require.Equal(t, []string{"a1 a2 c1 ", "!b1"}, outline(MakePlan(in)))
	})
	t.Run("two budgets", func(t *testing.T) {
		in := example()
		in.Pods = in.Pods[:3]
		in.Budgets = append(in.Budgets, budget("both", "{}", "0", ""))
		p := MakePlan(in)
		require.Equal(t, []string{"!a1", "!a2"}, outline(p))
		require.Equal(t, []string{"default/a", "default/both"}, p.Blocked[0].Budgets)
		require.Equal(t, "2 budgets cover the pod: default/a, default/both", p.Blocked[0].Proof)
	})
	t.Run("failed sync", func(t *testing.T) {
		in := example()
		in.Pods = in.Pods[:3]
		in.Scale = NewScale(nil)
		p := MakePlan(in)
		require.Equal(t, []string{"!a1", "!a2"}, outline(p))
		require.Equal(t, `The disruption budget a does not allow evicting pods currently because it failed sync: found no controllers for pod "a1"`, p.Blocked[0].Cause)
		require.False(t, p.Blocked[0].WaitingHelps)
	})
	t.Run("without controllers the status counts", func(t *testing.T) {
		in := example()
		in.Pods = in.Pods[:3]
		in.Scale = nil
		in.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 2}
		require.Equal(t, []string{"a1 ", "a2 "}, outline(MakePlan(in)))
		condition("False", "SyncFailed", "M")(in.Budgets[0])
		require.Equal(t, []string{"!a1", "!a2"}, outline(MakePlan(in)))
	})
	t.Run("unready first and then low priority", func(t *testing.T) {
		in := example()
		in.Budgets = nil
		in.Options.Force = true
		in.Pods[0].Spec.Priority = ptr(int32(5))
		unready(in.Pods[3])
		require.Equal(t, []string{"b1 a2 c1 a1 "}, outline(MakePlan(in)))
	})
	t.Run("an unready pod is not charged", func(t *testing.T) {
		in := example()
		in.Pods = in.Pods[:3]
		unready(in.Pods[0])
		require.Equal(t, []string{"a1 ", "a2 "}, outline(MakePlan(in)), "a1 is free, a2 must wait for its replacement")
	})
	t.Run("several nodes and skipped pods", func(t *testing.T) {
		in := example()
		in.Nodes = []string{"n", "m"}
		in.Pods = append(in.Pods, on("m", "ds", "ds", "DaemonSet/ds"), on("k", "else", "else", ""))
		in.Options = DrainOptions{Force: true, IgnoreDaemonSets: true}
		require.Equal(t, []string{"a1 c1 ", "a2 ", "a3 ", "!b1", "~ds"}, outline(MakePlan(in)))
		in.Options.Force = false
		require.Equal(t, []string{"a3 ", "!a1", "!a2", "!b1", "!c1", "~ds"}, outline(MakePlan(in)), "an error on one node does not stop the other")
	})
	t.Run("stateful sets keep their names", func(t *testing.T) {
		in := PlanInput{Nodes: []string{"n"}, Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget("db", "app=db", "", "1")},
			Pods:  []*v1.Pod{on("n", "db-0", "db", "StatefulSet/db"), on("n", "db-1", "db", "StatefulSet/db")},
			Scale: NewScale([]Workload{workload("StatefulSet", "db", ptr(int32(2)), "")})}
		require.Equal(t, []string{"db-0 ", "db-1 "}, outline(MakePlan(in)))
	})
	t.Run("more pods than expected", func(t *testing.T) {
		in := example()
		in.Options.Force = true
		in.Pods = []*v1.Pod{on("n", "a1", "a", "ReplicaSet/a"), on("n", "a2", "a", "ReplicaSet/a"), on("m", "a3", "a", "ReplicaSet/a"), on("m", "a4", "a", "")}
		in.Budgets = []*policyv1.PodDisruptionBudget{budget("a", "app=a", "", "0")}
		require.Equal(t, []string{"a1 ", "a2 "}, outline(MakePlan(in)), "with the bare pod a4 there is one pod more than the budget demands")
	})
	t.Run("grace", func(t *testing.T) {
		in := example()
		in.Options = DrainOptions{Force: true, GracePeriodSeconds: ptr(int64(4))}
		require.EqualValues(t, 4, MakePlan(in).Waves[0][0].Decision.GraceSeconds)
	})
	t.Run("nothing to do", func(t *testing.T) {
		require.Equal(t, Plan{}, MakePlan(PlanInput{Nodes: []string{"empty"}, Options: DrainOptions{DisableEviction: true}}))
	})
	require.Equal(t, "budget default/x expects 0 pods and allows no disruption of that", Proof([]*policyv1.PodDisruptionBudget{counted(0, 0, 0, 0)}))
	require.Equal(t, "budget default/x demands 5 healthy pods of 3 expected: 3 - 5 leaves none to disrupt", Proof([]*policyv1.PodDisruptionBudget{counted(0, 3, 5, 3)}))
	require.Empty(t, Proof(nil))
}

// Without controllers a budget whose numbers depend on them keeps those of its status. Everything else is brought up to
// date. Other budgets are computed as the disruption controller computes them.
func TestStatusWithoutControllers(t *testing.T) {
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	pods := []*v1.Pod{on("n", "p0", "x", "ReplicaSet/a"), on("n", "p1", "x", "ReplicaSet/a"), on("n", "p2", "x", "ReplicaSet/a")}
	unread := pdb("unread", "", 0)
	unread.Spec.Selector = expression("app", "Bad")
	type test struct {
		name   string
		budget *policyv1.PodDisruptionBudget
		want   string // expected/desired/current/allowed
		err    bool
	}
	testkit.Run(t, []test{
		{"nothing demanded", budget("b", "app=x", "", ""), "0/0/2/0", false},
		{"number", budget("b", "app=x", "1", ""), "3/1/2/1", false},
		{"percentage", budget("b", "app=x", "50%", ""), "9/1/2/1", false},
		{"unavailable number", budget("b", "app=x", "", "1"), "9/1/2/1", false},
		{"unavailable percentage", budget("b", "app=x", "", "50%"), "9/1/2/1", false},
		{"number beside an unavailable one", budget("b", "app=x", "1", "1"), "9/1/2/1", false},
		{"selector that cannot be read", with(unread, func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = amount("1") }), "9/1/8/0", true},
	}, func(t *testing.T, c test) {
		c.budget.Generation = 4
		c.budget.Status = policyv1.PodDisruptionBudgetStatus{ExpectedPods: 9, DesiredHealthy: 1, CurrentHealthy: 8, DisruptionsAllowed: 7, ObservedGeneration: 3,
			DisruptedPods: map[string]metav1.Time{"p0": ago(time.Second), "p1": ago(time.Hour), "gone": ago(0)},
			Conditions:    []metav1.Condition{{Type: "Other", Reason: policyv1.SyncFailedReason}}}
		p := &planner{evictions: NewEvictions([]*policyv1.PodDisruptionBudget{nil, c.budget}), present: pods, now: now}
		p.sync()
		s := p.evictions.Budgets()[1].Status
		require.Equal(t, c.want, numbers(s))
		require.Equal(t, c.err, s.Conditions[1].Reason == policyv1.SyncFailedReason)
		if !c.err {
			require.Equal(t, map[string]metav1.Time{"p0": ago(time.Second)}, s.DisruptedPods)
			require.EqualValues(t, 4, s.ObservedGeneration)
		}
	})
}

// The order within a wave, from first to last.
func TestLeaveOrder(t *testing.T) {
	of := func(name, uid string, priority int32, isReady bool) *v1.Pod {
		p := healthyPod(name, "")
		p.UID, p.Spec.Priority = types.UID(uid), &priority
		if !isReady {
			unready(p)
		}
		return p
	}
	list := []*v1.Pod{of("b/z", "9", 5, false), of("b/z", "9", -1, true), of("a/z", "9", 0, true), of("b/y", "9", 0, true), of("b/z", "1", 0, true), of("b/z", "2", 0, true), of("a/a", "1", 7, true)}
	for i, a := range list {
		for j, b := range list {
			require.Equal(t, cmp.Compare(i, j), leaveOrder(a, b), "%d and %d", i, j)
		}
	}
}

// random returns a cluster of three nodes with controllers, pods in all states and budgets of all kinds.
func random(r *rand.Rand) PlanInput {
	in := PlanInput{Nodes: []string{"n0", "n1"}[:1+r.Intn(2)], Now: now, Options: DrainOptions{Force: r.Intn(3) > 0, IgnoreDaemonSets: true}}
	var workloads []Workload
	for c := range 1 + r.Intn(4) {
		kind := []string{"ReplicaSet", "StatefulSet", "DaemonSet", ""}[r.Intn(4)]
		n := 1 + r.Intn(5)
		owner := ""
		if kind != "" {
			owner = fmt.Sprintf("%s/c%d", kind, c)
			workloads = append(workloads, workload(kind, fmt.Sprint("c", c), ptr(int32(n+r.Intn(2))), ""))
		}
		for i := range n {
			p := on(fmt.Sprint("n", r.Intn(3)), fmt.Sprintf("c%d-%d", c, i), fmt.Sprint(c), owner)
			switch r.Intn(8) {
			case 0, 1:
				unready(p)
			case 2:
				p.Status.Phase = v1.PodPending
				unready(p)
			case 3:
				p.DeletionTimestamp = &metav1.Time{Time: now}
			case 4:
				p.Status.Phase = v1.PodSucceeded
				unready(p) // as the kubelet reports finished pods
			}
			in.Pods = append(in.Pods, p)
		}
		for k := range r.Intn(2) + r.Intn(2)*r.Intn(2) {
			values := []string{"0", "1", "2", "50%", "100%"}
			b := budget(fmt.Sprintf("b%d-%d", c, k), fmt.Sprint("app=", c), values[r.Intn(5)], "")
			if r.Intn(2) == 0 {
				b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, b.Spec.MinAvailable
			}
			if r.Intn(4) == 0 {
				always(b)
			}
			if r.Intn(4) == 0 {
				b.Status.DisruptedPods = map[string]metav1.Time{fmt.Sprintf("c%d-0", c): metav1.NewTime(now.Add(-time.Duration(r.Intn(200)) * time.Second))}
			}
			in.Budgets = append(in.Budgets, b)
		}
	}
	in.Scale = NewScale(workloads)
	if r.Intn(2) == 0 {
		in.Replace = replacing(func(p *v1.Pod) (string, bool) { return "n2", len(p.Name)%2 == 0 })
	}
	in.EveryBudget = r.Intn(3) == 0
	return in
}

// replay evicts the pods of a plan's waves one after the other. It asks the Eviction API and the disruption controller, and
// checks that no budget falls below its demand.
func replay(t *testing.T, in PlanInput, plan Plan) {
	t.Helper()
	present := slices.Clone(in.Pods)
	e := NewEvictions(in.Budgets)
	healthyOf := func(b *policyv1.PodDisruptionBudget) (n int32) {
		for _, p := range present {
			if p.Namespace == b.Namespace && p.Labels["app"] == b.Spec.Selector.MatchLabels["app"] && p.DeletionTimestamp == nil && ready(p) {
				n++
			}
		}
		return n
	}
	seen := map[*v1.Pod]bool{}
	for _, w := range plan.Waves {
		e.Sync(present, in.Scale, in.Now)
		desired := map[string]int32{}
		for _, b := range e.Budgets() {
			desired[b.Name] = b.Status.DesiredHealthy
		}
		charged := map[string]bool{}
		var replacements []*v1.Pod
		for _, x := range w {
			require.False(t, seen[x.Pod], "%s leaves once", x.Pod.Name)
			seen[x.Pod] = true
			d := e.Evict(x.Pod, Request{EveryBudget: in.EveryBudget}, in.Now)
			require.True(t, d.Allowed(), "%s: %s %s", x.Pod.Name, d.Message, d.Cause)
			for _, c := range d.Charges {
				charged[c.Budget.Name] = true
			}
			present = slices.DeleteFunc(present, func(p *v1.Pod) bool { return p == x.Pod })
			if x.Replaced {
				c := healthyPod(x.Pod.Name+"+", "")
				c.OwnerReferences, c.Labels, c.Spec.NodeName = x.Pod.OwnerReferences, x.Pod.Labels, x.Replacement
				replacements = append(replacements, c)
			}
			for _, b := range e.Budgets() {
				require.GreaterOrEqual(t, b.Status.DisruptionsAllowed, int32(0))
				if charged[b.Name] {
					require.GreaterOrEqual(t, healthyOf(b), desired[b.Name], "budget %s is broken", b.Name)
				}
			}
		}
		e.Sync(present, in.Scale, in.Now)
		present = append(present, replacements...)
	}
	e.Sync(present, in.Scale, in.Now)
	refused := map[string]bool{}
	for _, x := range plan.Blocked {
		require.False(t, seen[x.Pod])
		require.NotEmpty(t, x.Cause)
		require.Equal(t, x.Behind, len(x.Remedies) == 0, "pods behind others have no remedy of their own")
		seen[x.Pod] = true
		if len(x.Budgets) > 0 {
			d := NewEvictions(e.Budgets()).Evict(x.Pod, Request{EveryBudget: in.EveryBudget}, in.Now)
			require.False(t, d.Allowed(), "%s is blocked to the end", x.Pod.Name)
			refused[x.Pod.Name] = true
		}
		if x.Proof != "" {
			require.False(t, x.WaitingHelps)
		}
	}
	for _, x := range plan.Skipped {
		require.False(t, seen[x.Pod])
		seen[x.Pod] = true
	}
	for _, p := range in.Pods {
		require.Equal(t, slices.Contains(in.Nodes, p.Spec.NodeName), seen[p], "%s is in the plan if it is on the nodes", p.Name)
	}
}

func TestPlansBreakNoBudget(t *testing.T) {
	for seed := range 3000 {
		r := rand.New(rand.NewSource(int64(seed)))
		in := random(r)
		plan := MakePlan(in)
		replay(t, in, plan)
		r.Shuffle(len(in.Pods), func(i, j int) { in.Pods[i], in.Pods[j] = in.Pods[j], in.Pods[i] })
		require.Equal(t, wavesOf(plan), wavesOf(MakePlan(in)), "the order of the pods does not matter")
	}
}

func wavesOf(p Plan) (out [][]string) {
	for _, w := range p.Waves {
		var line []string
		for _, e := range w {
			line = append(line, e.Pod.Name)
		}
		out = append(out, line)
	}
	return out
}

// FuzzPlan makes the cluster from the bytes.
func FuzzPlan(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 200))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := random(rand.New(testkit.NewBytes(data)))
		replay(t, in, MakePlan(in))
	})
}
