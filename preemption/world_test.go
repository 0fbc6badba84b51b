package preemption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// situation is a cluster, and what a test may add to the question.
type situation struct {
	nodes     []*v1.Node
	pods      []*v1.Pod
	budgets   []*policyv1.PodDisruptionBudget
	nominated map[string][]*v1.Pod
	options   preemption.Options
	extenders []preemption.Extender
	rejected  map[int]preemption.Rejection
	empty     disruption.BudgetOptions
	bare      bool // a cluster without indexes
}

var now = testkit.Epoch.Add(24 * time.Hour)

// parts makes a situation of nodes, pods and budgets in any order.
func parts(list ...any) situation {
	var s situation
	for _, x := range list {
		switch x := x.(type) {
		case *v1.Node:
			s.nodes = append(s.nodes, x)
		case *v1.Pod:
			s.pods = append(s.pods, x)
		case *policyv1.PodDisruptionBudget:
			s.budgets = append(s.budgets, x)
		default:
			panic(fmt.Sprintf("%T", x))
		}
	}
	return s
}

func (s situation) with(o preemption.Options) situation {
	s.options = o
	return s
}

func (s situation) plan(t testing.TB) (*placement.Plan, placement.Options) {
	snapshot, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods})
	require.NoError(t, err)
	var c placement.Cluster = snapshot
	if s.bare {
		c = testkit.NewCluster(s.nodes, s.pods).WithRows()
	}
	plan, err := placement.New(c, placement.DefaultProfile())
	require.NoError(t, err)
	o := placement.Options{}
	if s.nominated != nil {
		o.Nominated = func(i int) []*v1.Pod { return s.nominated[c.Node(i).Name] }
	}
	return plan, o
}

func (s situation) preempt(t testing.TB, pod *v1.Pod) preemption.Result {
	plan, o := s.plan(t)
	return plan.Preempt(pod, nil, o, placement.PreemptOptions{
		Budgets: disruption.NewBudgets(s.budgets, s.empty), Now: now, Options: s.options, Extenders: s.extenders, Rejected: s.rejected,
	})
}

// shown is a result in a line: "n1: a b, 1 violation" or the message with outcome and nomination.
func shown(r preemption.Result) string {
	if r.Outcome != preemption.Success {
		nomination := "keep"
		if r.ClearNomination {
			nomination = "clear"
		}
		return fmt.Sprintf("%s, %s: %s", r.Outcome, nomination, r.Message)
	}
	return shownCandidate(r.Candidate)
}

func shownCandidate(c preemption.Candidate) string {
	var names []string
	for _, v := range c.Victims {
		names = append(names, v.Pod.Name)
	}
	out := c.Node + ": " + strings.Join(names, " ")
	if c.Violations > 0 {
		out += fmt.Sprintf(", violations %d", c.Violations)
	}
	return out
}

func node(name, cpu string) *v1.Node { return testkit.Node(name).Capacity("cpu=" + cpu).Obj() }

// pod has a priority and asks for cpu; on "" it is not assigned.
func pod(name string, priority int32, cpu, on string) testkit.PodBuilder {
	b := testkit.Pod(name).Priority(priority)
	if cpu != "0" {
		b = b.Request("cpu=" + cpu)
	}
	if on != "" {
		b = b.On(on)
	}
	return b
}

// started sets the start to minutes after Epoch.
func started(b testkit.PodBuilder, minutes int) *v1.Pod {
	p := b.Obj()
	at := metav1.NewTime(testkit.Epoch.Add(time.Duration(minutes) * time.Minute))
	p.Status.StartTime = &at
	return p
}

// budget protects pods with the labels of its namespace.
func budget(name, labels string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: testkit.Pairs(labels)}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func granted(b *policyv1.PodDisruptionBudget, names ...string) *policyv1.PodDisruptionBudget {
	b.Status.DisruptedPods = map[string]metav1.Time{}
	for _, n := range names {
		b.Status.DisruptedPods[n] = metav1.NewTime(testkit.Epoch)
	}
	return b
}

// preempted marks a terminating pod as a scheduler's victim.
func preempted(b testkit.PodBuilder) *v1.Pod {
	p := b.Terminating().Obj()
	p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
	return p
}

func nominatedTo(b testkit.PodBuilder, node string) *v1.Pod {
	p := b.Obj()
	p.Status.NominatedNodeName = node
	return p
}
