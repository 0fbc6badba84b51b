package disruption

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// pdb returns a budget of namespace default that allows this number of disruptions. selector is "app=x"; "{}" selects every
// pod, "" no pod.
func pdb(name, selector string, allowed int32) *policyv1.PodDisruptionBudget {
	p := &policyv1.PodDisruptionBudget{}
	p.Name, p.Namespace = name, "default"
	p.Status.DisruptionsAllowed = allowed
	switch selector {
	case "":
	case "{}":
		p.Spec.Selector = &metav1.LabelSelector{}
	default:
		p.Spec.Selector = &metav1.LabelSelector{MatchLabels: testkit.Pairs(selector)}
	}
	return p
}

// take counts one victim.
func take(b *Budgets, l *Ledger, pod *v1.Pod) (violates bool) {
	return l.Take(b.AppendMatches(nil, pod.Namespace, pod.Labels), pod.Name)
}

// split separates the pods that take a budget below zero from the others.
func split(b *Budgets, pods []*v1.Pod) (violating, others []*v1.Pod) {
	l := b.Ledger()
	for _, p := range pods {
		if take(b, l, p) {
			violating = append(violating, p)
		} else {
			others = append(others, p)
		}
	}
	return violating, others
}

func pods(n int, labels string) []*v1.Pod {
	out := make([]*v1.Pod, n)
	for i := range out {
		out[i] = testkit.Pod(fmt.Sprint("p", i)).Labels(labels).Obj()
	}
	return out
}

func names(pods []*v1.Pod) (out []string) {
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

func expression(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

// Preemption separates violating victims from others by these rules.
func TestSplit(t *testing.T) {
	bad := pdb("bad", "app=x", 0)
	bad.Spec.Selector = expression("app", "Bad")
	foreign := pdb("foreign", "app=x", 0)
	foreign.Namespace = "other"
	granted := pdb("granted", "app=x", 0)
	granted.Status.DisruptedPods = map[string]metav1.Time{"p0": {}}
	absent := pdb("absent", "", 0)
	absent.Spec.Selector = expression("none", metav1.LabelSelectorOpDoesNotExist)
	notIn := pdb("notIn", "", 0)
	notIn.Spec.Selector = expression("app", metav1.LabelSelectorOpNotIn, "y")
	type test struct {
		name   string
		pdbs   []*policyv1.PodDisruptionBudget
		o      BudgetOptions
		labels string
		want   []string // indexes of p0, p1, p2: the violating pods
	}
	testkit.Run(t, []test{
		{"no budgets", nil, BudgetOptions{}, "app=x", nil},
		{"one may go", []*policyv1.PodDisruptionBudget{pdb("a", "app=x", 1)}, BudgetOptions{}, "app=x", []string{"p1", "p2"}},
		{"none may go", []*policyv1.PodDisruptionBudget{pdb("a", "app=x", 0)}, BudgetOptions{}, "app=x", []string{"p0", "p1", "p2"}},
		{"negative is no error", []*policyv1.PodDisruptionBudget{pdb("a", "app=x", -3)}, BudgetOptions{}, "app=x", []string{"p0", "p1", "p2"}},
		{"lowest possible", []*policyv1.PodDisruptionBudget{pdb("a", "app=x", -1<<31)}, BudgetOptions{}, "app=x", []string{"p0", "p1", "p2"}},
		{"another namespace", []*policyv1.PodDisruptionBudget{foreign}, BudgetOptions{}, "app=x", nil},
		{"selector that cannot be read", []*policyv1.PodDisruptionBudget{bad}, BudgetOptions{}, "app=x", nil},
		{"nil selector", []*policyv1.PodDisruptionBudget{pdb("a", "", 0)}, BudgetOptions{}, "app=x", nil},
		{"empty selector protects nobody", []*policyv1.PodDisruptionBudget{pdb("a", "{}", 0)}, BudgetOptions{}, "app=x", nil},
		{"empty selector as an option", []*policyv1.PodDisruptionBudget{pdb("a", "{}", 1)}, BudgetOptions{EmptySelectorMatchesAll: true}, "app=x", []string{"p1", "p2"}},
		{"no match", []*policyv1.PodDisruptionBudget{pdb("a", "app=y", 0)}, BudgetOptions{}, "app=x", nil},
		{"granted already", []*policyv1.PodDisruptionBudget{granted}, BudgetOptions{}, "app=x", []string{"p1", "p2"}},
		{"several budgets", []*policyv1.PodDisruptionBudget{pdb("a", "app=x", 2), pdb("b", "app=x", 1)}, BudgetOptions{}, "app=x", []string{"p1", "p2"}},
		{"a violating pod is charged everywhere", []*policyv1.PodDisruptionBudget{pdb("a", "app=x", 0), pdb("b", "app=x", 5)}, BudgetOptions{}, "app=x", []string{"p0", "p1", "p2"}},
		{"pods without labels", []*policyv1.PodDisruptionBudget{absent, notIn}, BudgetOptions{}, "", nil},
		{"pods without labels as an option", []*policyv1.PodDisruptionBudget{absent}, BudgetOptions{EmptySelectorMatchesAll: true}, "", []string{"p0", "p1", "p2"}},
		{"absence of a label", []*policyv1.PodDisruptionBudget{absent}, BudgetOptions{}, "app=x", []string{"p0", "p1", "p2"}},
		{"not in", []*policyv1.PodDisruptionBudget{notIn}, BudgetOptions{}, "app=x", []string{"p0", "p1", "p2"}},
	}, func(t *testing.T, c test) {
		list := pods(3, c.labels)
		var violating, others []*v1.Pod
		testkit.Unchanged(t, func() { violating, others = split(NewBudgets(c.pdbs, c.o), list) }, list...)
		require.Equal(t, c.want, names(violating))
		require.Len(t, others, 3-len(c.want))
	})
}

func TestLedger(t *testing.T) {
	b := NewBudgets([]*policyv1.PodDisruptionBudget{pdb("a", "app=x", 2), pdb("b", "app=x", 1), pdb("c", "app=y", 1)}, BudgetOptions{})
	l := b.Ledger()
	x := pods(3, "app=x")
	require.False(t, take(b, l, x[0]))
	mark := l.Mark()
	require.True(t, take(b, l, x[1]), "b allows no other disruption")
	require.EqualValues(t, []int64{0, -1, 1}, []int64{l.left[0], l.left[1], l.left[2]}, "a is charged although b is broken")
	l.Undo(mark)
	require.EqualValues(t, []int64{1, 0, 1}, []int64{l.left[0], l.left[1], l.left[2]})
	require.True(t, take(b, l, x[2]))
	l.Undo(0)
	require.Equal(t, b.Ledger().left, l.left)
	other := b.Ledger()
	take(b, l, x[0])
	require.EqualValues(t, 1, other.left[1], "ledgers are apart")
	room := make([]int32, 0, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		l.Take(b.AppendMatches(room[:0], "default", x[0].Labels), "p0")
		l.Undo(0)
	}))
}

// slowMatches looks at every budget.
func slowMatches(pdbs []*policyv1.PodDisruptionBudget, o BudgetOptions, pod *v1.Pod) (out []int32) {
	for i, p := range pdbs {
		s, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
		switch {
		case p.Namespace != pod.Namespace || err != nil:
		case !o.EmptySelectorMatchesAll && (s.Empty() || len(pod.Labels) == 0):
		case s.Matches(labelSet(pod.Labels)):
			out = append(out, int32(i))
		}
	}
	return out
}

type labelSet map[string]string

func (s labelSet) Has(k string) bool              { _, ok := s[k]; return ok }
func (s labelSet) Get(k string) string            { return s[k] }
func (s labelSet) Lookup(k string) (string, bool) { v, ok := s[k]; return v, ok }

// The index finds the budgets that slowMatches finds, and the ledger gives the answers of a plain count.
func TestBudgetsLikeAskingAll(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	keys, values := []string{"a", "b", "c"}, []string{"1", "2", "3"}
	ops := []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist, "Bad"}
	for range 2000 {
		o := BudgetOptions{EmptySelectorMatchesAll: r.Intn(2) == 0}
		var pdbs []*policyv1.PodDisruptionBudget
		for i := range r.Intn(8) {
			p := pdb(fmt.Sprint("b", i), "", int32(r.Intn(4)-1))
			p.Namespace = []string{"default", "other"}[r.Intn(2)]
			if r.Intn(6) > 0 {
				s := &metav1.LabelSelector{}
				for range r.Intn(3) {
					if r.Intn(2) == 0 {
						s.MatchLabels = map[string]string{keys[r.Intn(3)]: values[r.Intn(3)]}
						continue
					}
					e := metav1.LabelSelectorRequirement{Key: keys[r.Intn(3)], Operator: ops[r.Intn(5)]}
					if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
						e.Values = values[:1+r.Intn(3)]
					}
					s.MatchExpressions = append(s.MatchExpressions, e)
				}
				p.Spec.Selector = s
			}
			if r.Intn(3) == 0 {
				p.Status.DisruptedPods = map[string]metav1.Time{fmt.Sprint("p", r.Intn(4)): {}}
			}
			pdbs = append(pdbs, p)
		}
		b := NewBudgets(pdbs, o)
		l := b.Ledger()
		left := make([]int64, len(pdbs))
		for i, p := range pdbs {
			left[i] = int64(p.Status.DisruptionsAllowed)
		}
		for i := range 4 {
			pod := testkit.Pod([]string{"default/", "other/"}[r.Intn(2)] + fmt.Sprint("p", i)).Obj()
			for _, k := range keys {
				if r.Intn(2) == 0 {
					pod.Labels[k] = values[r.Intn(3)]
				}
			}
			want := slowMatches(pdbs, o, pod)
			require.Equal(t, want, append([]int32(nil), b.AppendMatches(nil, pod.Namespace, pod.Labels)...))
			violates := false
			for _, i := range want {
				if _, ok := pdbs[i].Status.DisruptedPods[pod.Name]; !ok {
					left[i]--
					violates = violates || left[i] < 0
				}
			}
			require.Equal(t, violates, take(b, l, pod))
		}
		require.True(t, slices.Equal(left, l.left))
		l.Undo(0)
		require.True(t, slices.Equal(b.allowed, l.left))
	}
}

func BenchmarkTake(b *testing.B) {
	var pdbs []*policyv1.PodDisruptionBudget
	for i := range 1000 {
		pdbs = append(pdbs, pdb(fmt.Sprint(i), fmt.Sprint("app=", i), 1))
	}
	budgets := NewBudgets(pdbs, BudgetOptions{})
	l := budgets.Ledger()
	pod := testkit.Pod("p").Labels("app=500,tier=web,pod-template-hash=abc").Obj()
	b.ReportAllocs()
	for b.Loop() {
		if take(budgets, l, pod) {
			b.Fatal("one pod may leave")
		}
		l.Undo(0)
	}
}

// A value that a selector repeats does not make the budget count twice.
func TestRepeatedValue(t *testing.T) {
	b := pdb("b", "", 1)
	b.Namespace = "default"
	b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "web"}}}}
	budgets := NewBudgets([]*policyv1.PodDisruptionBudget{b}, BudgetOptions{})
	require.Equal(t, []int32{0}, budgets.AppendMatches(nil, "default", map[string]string{"app": "web"}))
}

// A budget is found by the values of one requirement, one with the fewest values. Budgets whose selectors require no value
// are asked about every pod of the namespace.
func TestIndex(t *testing.T) {
	of := func(requirements ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: requirements}
	}
	in := func(key string, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}
	}
	type test struct {
		name     string
		selector *metav1.LabelSelector
		pairs    []pair
		rest     bool
	}
	testkit.Run(t, []test{
		{"nil", nil, nil, false},
		{"every pod", &metav1.LabelSelector{}, nil, true},
		{"label", &metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}, []pair{{"a", "1"}}, false},
		{"one value of several keys", of(in("a", "1", "2", "3"), in("b", "1"), in("c", "1", "2")), []pair{{"b", "1"}}, false},
		{"as few values", of(in("a", "1", "2"), in("b", "1", "2")), []pair{{"a", "1"}, {"a", "2"}}, false},
		{"no value", expression("a", metav1.LabelSelectorOpExists), nil, true},
		{"a value that is not allowed", expression("a", metav1.LabelSelectorOpNotIn, "1"), nil, true},
		{"value and no value", of(metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpExists}, in("b", "1", "2")), []pair{{"b", "1"}, {"b", "2"}}, false},
	}, func(t *testing.T, c test) {
		b := pdb("b", "", 0)
		b.Spec.Selector = c.selector
		space := NewBudgets([]*policyv1.PodDisruptionBudget{b}, BudgetOptions{EmptySelectorMatchesAll: true}).spaces["default"]
		pairs := map[pair][]int32{}
		for _, p := range c.pairs {
			pairs[p] = []int32{0}
		}
		require.Equal(t, pairs, space.byPair)
		require.Equal(t, c.rest, len(space.rest) == 1)
	})
}

// What was in the slice before stays, also when no budget can protect the pod.
func TestAppendMatches(t *testing.T) {
	b := NewBudgets([]*policyv1.PodDisruptionBudget{pdb("a", "app=x", 0)}, BudgetOptions{})
	require.Equal(t, []int32{7, 0}, b.AppendMatches([]int32{7}, "default", map[string]string{"app": "x"}))
	require.Equal(t, []int32{7}, b.AppendMatches([]int32{7}, "default", nil))
	require.Equal(t, []int32{7}, b.AppendMatches([]int32{7}, "other", map[string]string{"app": "x"}))
}
