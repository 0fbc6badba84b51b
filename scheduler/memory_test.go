package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
)

// churn is an API server whose pods come and go, and whose watch is late. It holds no pod that has left, but knows which of all pod
// objects are in memory.
type churn struct {
	s      *Scheduler
	clock  *clock
	rng    *rand.Rand
	pods   map[string]*v1.Pod
	seen   map[string]*v1.Pod // by the informer
	names  []string           // oldest first
	events []func()
	tasks  []func()
	errs   []error
	all    []weak.Pointer[v1.Pod]
}

func (a *churn) put(p *v1.Pod) {
	a.all = append(a.all, weak.Make(p))
	name := podinfo.Name(p)
	old := a.pods[name]
	a.pods[name] = p
	a.events = append(a.events, func() {
		a.seen[name] = p
		if old == nil {
			a.s.AddPod(p)
		} else {
			a.s.UpdatePod(old, p)
		}
	})
}

func (a *churn) remove(name string) {
	if old := a.pods[name]; old != nil {
		delete(a.pods, name)
		a.events = append(a.events, func() { delete(a.seen, name); a.s.DeletePod(old) })
	}
}

// write puts a changed copy of a pod.
func (a *churn) write(p *v1.Pod, change func(*v1.Pod)) error {
	now := a.pods[podinfo.Name(p)]
	if now == nil {
		return ErrGone
	}
	now = now.DeepCopy()
	change(now)
	a.put(now)
	return nil
}

func (a *churn) Pod(namespace, name string) *v1.Pod { return a.seen[namespace+"/"+name] }

func (a *churn) Bind(_ context.Context, p *v1.Pod, node string) error {
	a.all = append(a.all, weak.Make(p)) // the assumed pod
	return a.write(p, func(now *v1.Pod) { now.Spec.NodeName, now.Status.NominatedNodeName = node, "" })
}

func (a *churn) PatchStatus(_ context.Context, p *v1.Pod, patch StatusPatch) error {
	return a.write(p, func(now *v1.Pod) { *now = *patch.Apply(now) })
}

func (a *churn) WriteClaims(context.Context, *v1.Pod, ClaimWrites) error      { return nil }
func (a *churn) BindVolumes(context.Context, *v1.Pod, volumes.Decision) error { return nil }

func (a *churn) Delete(_ context.Context, p *v1.Pod) error {
	a.remove(podinfo.Name(p))
	return nil
}

// add creates a pod: most fit, some preempt, some never fit, and some have terms or constraints.
func (a *churn) add(name string) *v1.Pod {
	labels := map[string]string{"app": []string{"a", "b", "c"}[a.rng.IntN(3)]}
	same := &metav1.LabelSelector{MatchLabels: map[string]string{"app": labels["app"]}}
	p := testkit.Pod("default/" + name).Request("cpu=" + []string{"100m", "500m", "1", "1500m"}[a.rng.IntN(4)]).Obj()
	p.UID, p.Labels = types.UID("uid-"+name), labels
	switch a.rng.IntN(10) {
	case 0:
		p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=100")
	case 1:
		p.Spec.Priority = new(int32(1000))
	case 2, 3:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: same}}
	case 4, 5:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: 10, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: same},
		}}}}
	}
	a.names = append(a.names, podinfo.Name(p))
	return p
}

// run does some of what is to do, in a random order. The events stay in their order.
func (a *churn) run(steps int) {
	for range steps {
		switch n := len(a.tasks); a.rng.IntN(3) {
		case 0:
			if len(a.events) > 0 {
				event := a.events[0]
				a.events[0] = nil
				a.events = a.events[1:]
				event()
			}
		case 1:
			a.s.TryScheduleOne(context.Background())
		default:
			if n > 0 {
				k := a.rng.IntN(n)
				task := a.tasks[k]
				a.tasks[k], a.tasks[n-1] = a.tasks[n-1], nil
				a.tasks = a.tasks[:n-1]
				task()
			}
		}
	}
}

// inMemory returns how many of all pod objects are in memory after everything was done.
func (a *churn) inMemory() (n int) {
	for len(a.events)+len(a.tasks) > 0 {
		a.run(100)
	}
	a.s.View(func(*cluster.Snapshot) {})
	runtime.GC()
	for _, p := range a.all {
		if p.Value() != nil {
			n++
		}
	}
	runtime.KeepAlive(a)
	return n
}

// While pods and nodes come and go, the scheduler forgets the pods that left. A bounded number of them stays, as examples of
// pods that count the same.
func TestForgetsPods(t *testing.T) {
	const made, present = 2000, 60
	budgets := disruption.NewBudgets(nil, disruption.BudgetOptions{})
	type test struct {
		name    string
		change  func(p *v1.Pod)
		budgets func() *disruption.Budgets
		most    int // pod objects in memory
	}
	testkit.Run(t, []test{
		{name: "equal labels", most: 500},
		{name: "a label of its own for each pod", most: 1500, change: func(p *v1.Pod) { p.Labels["pod"] = p.Name }},
		{name: "budgets that stay the same", most: 1500, budgets: func() *disruption.Budgets { return budgets }},
	}, func(t *testing.T, c test) {
		if testing.Short() && c.most > 500 {
			t.Skip("pods with equal labels are tried in short mode too")
		}
		a := &churn{clock: newClock(), rng: rand.New(rand.NewPCG(1, 2)), pods: map[string]*v1.Pod{}, seen: map[string]*v1.Pod{}}
		nodes := make([]*v1.Node, 10)
		for k := range nodes {
			nodes[k] = testkit.Node(fmt.Sprint("n", k)).Zone(fmt.Sprint("z", k%3)).Capacity("cpu=4,memory=8Gi,pods=110").Obj()
		}
		snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
		require.NoError(t, err)
		a.s, err = New(snapshot, Options{
			Client: a, Clock: a.clock, Budgets: c.budgets,
			Go: func(task func()) { a.tasks = append(a.tasks, task) }, OnError: func(err error) { a.errs = append(a.errs, err) },
		})
		require.NoError(t, err)
		for k := range made {
			p := a.add(fmt.Sprint("p", k))
			if c.change != nil {
				c.change(p)
			}
			a.put(p)
			if len(a.names) > present {
				a.remove(a.names[0])
				a.names = a.names[1:]
			}
			if a.rng.IntN(50) == 0 {
				n := nodes[a.rng.IntN(len(nodes))]
				a.events = append(a.events, func() { a.s.DeleteNode(n) }, func() { a.s.AddNode(n) })
			}
			a.clock.advance(200 * time.Millisecond)
			a.s.Tick()
			a.run(a.rng.IntN(50))
		}
		n := a.inMemory()
		t.Logf("%d of %d pod objects are in memory", n, len(a.all))
		require.Empty(t, a.errs)
		require.Less(t, n, c.most)
		require.Greater(t, len(a.all), 2*made, "most pods are bound")
	})
}

// A scheduler that has nothing to schedule, such as a replica without the lease, forgets the pods that others bind and that leave.
func TestForgetsPodsWhileIdle(t *testing.T) {
	const made = 10 * mostWaiting
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4,pods=110").Obj()}})
	require.NoError(t, err)
	s, err := New(snapshot, Options{Client: &churn{}, Clock: newClock(), OnError: func(err error) { t.Error(err) }})
	require.NoError(t, err)
	all := make([]weak.Pointer[v1.Pod], made)
	for k := range all {
		p := testkit.Pod(fmt.Sprint("default/p", k)).On("n1").Obj()
		p.UID = types.UID(fmt.Sprint(k))
		all[k] = weak.Make(p)
		s.AddPod(p)
		s.DeletePod(p)
	}
	runtime.GC()
	n := 0
	for _, p := range all {
		if p.Value() != nil {
			n++
		}
	}
	require.LessOrEqual(t, n, mostWaiting)
	runtime.KeepAlive(s)
}
