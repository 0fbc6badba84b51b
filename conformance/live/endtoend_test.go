package live

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// The end-to-end measurement: -e2e N runs each side N times in turn.
var (
	e2eRuns     = flag.Int("e2e", 0, "runs of each side of the end-to-end measurement; 0 leaves it out")
	e2eNodes    = flag.Int("e2e-nodes", 1000, "nodes")
	e2ePods     = flag.Int("e2e-pods", 3000, "pods")
	e2eWorkload = flag.String("e2e-workload", "plain", "one or several of plain, spread, affinity, anti-affinity, preemption, churn and shared: 256 pods at most, which share a claim for a device")
	e2eRoles    = flag.String("e2e-roles", "podberth,kube,bare,floor", "what runs, in turn")
	e2eOpen     = flag.Bool("e2e-open", false, "create the pods while the scheduler runs, not before it starts")
)

const (
	measured  = "measured"
	scheduled = "Scheduled" // the reason of a binding's event
	creators  = 30
)

// figures are what one run gave.
type figures struct {
	perSecond float64
	p50, p99  time.Duration // from the creation to the binding, in an open run
	events    int64         // about bindings
	state     state
}

// TestEndToEnd measures both schedulers and the bare bindings against one API server, and prints a line for each run, with the load at its end.
func TestEndToEnd(t *testing.T) {
	if *e2eRuns == 0 {
		t.Skip("-e2e 1 runs it")
	}
	w := newWorld(t)
	w.priorityClass("high", 1000)
	_, err := w.api.CoreV1().Namespaces().Create(w.ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: measured}}, metav1.CreateOptions{})
	require.NoError(t, err)
	workloads := strings.Split(*e2eWorkload, ",")
	driver := reachOf(w.server.Config, 10000).config()
	w.api = kubernetes.NewForConfigOrDie(driver)
	begun := false
	for run := range *e2eRuns {
		for _, *e2eWorkload = range workloads {
			roles := rolesOf(*e2eWorkload)
			for k := range roles {
				if begun {
					w.clear()
				}
				begun = true
				role := roles[(run+k)%len(roles)]
				f := w.measure(role)
				fmt.Printf("%s %s nodes=%d pods=%d open=%v: %.0f pods/s, p50 %v, p99 %v, CPU %.2f s (%.0f us/pod), heap %d MiB, RSS %d MiB, %d events, load %s\n", role, *e2eWorkload, *e2eNodes, *e2ePods, *e2eOpen,
					f.perSecond, f.p50.Round(time.Millisecond), f.p99.Round(time.Millisecond), f.state.CPU.Seconds(), float64(f.state.CPU.Microseconds())/float64(*e2ePods), f.state.Heap>>20, f.state.RSS, f.events, loadNow())
			}
		}
	}
}

// rolesOf returns what runs of -e2e-roles with a workload.
func rolesOf(workload string) []string {
	return slices.DeleteFunc(strings.Split(*e2eRoles, ","), func(role string) bool {
		writes := workload == "preemption" || workload == "shared" // more than bindings and their events
		return role == "bare" && (*e2eOpen || workload != "plain") || role == "floor" && writes
	})
}

// loadNow returns how many programs of the machine wanted to run in the last minute, "unknown" where the system does not say.
func loadNow() string {
	data, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(data)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// parallel runs n steps by the creators.
func parallel(n int, step func(k int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range creators {
		all.Go(func() {
			for k := range next {
				step(k)
			}
		})
	}
	for k := range n {
		next <- k
	}
	close(next)
	all.Wait()
}

// workloadPod returns pod k of the workload.
func workloadPod(k int) *v1.Pod {
	p := newPod(fmt.Sprintf("p%d", k), "100m")
	p.Namespace = measured
	p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("500Mi")
	p.Labels = map[string]string{"color": "blue"}
	same := &metav1.LabelSelector{MatchLabels: p.Labels}
	switch *e2eWorkload {
	case "spread":
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: same}}
	case "affinity":
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: v1.LabelTopologyZone, LabelSelector: same}}}}
	case "anti-affinity":
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: 1, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: same},
		}}}}
	case "shared":
		uses("d1")(p)
	case "preemption":
		p.Spec.PriorityClassName = "high"
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("3")
	}
	return p
}

// measure runs one scheduler over fresh nodes and pods.
func (w *world) measure(role string) (f figures) {
	t, api := w.t, w.api
	t.Helper()
	parallel(*e2eNodes, func(k int) {
		n := newNode(fmt.Sprintf("n%d", k), "4", func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = fmt.Sprintf("moon-%d", k%3) })
		_, err := api.CoreV1().Nodes().Create(w.ctx, n, metav1.CreateOptions{})
		require.NoError(t, err)
	})
	if *e2eWorkload == "preemption" { // victims
		parallel(4**e2eNodes, func(k int) {
			p := newPod(fmt.Sprintf("v%d", k), "900m")
			p.Spec.NodeName = fmt.Sprintf("n%d", k%*e2eNodes)
			_, err := api.CoreV1().Pods("default").Create(w.ctx, p, metav1.CreateOptions{})
			require.NoError(t, err)
		})
	}
	if *e2eWorkload == "shared" {
		w.share()
	}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	bound, events := w.watchBound(ctx), w.watchEvents(ctx)
	created := make([]time.Time, *e2ePods)
	create := func() {
		parallel(*e2ePods, func(k int) {
			created[k] = time.Now()
			_, err := api.CoreV1().Pods(measured).Create(w.ctx, workloadPod(k), metav1.CreateOptions{})
			require.NoError(t, err)
		})
	}
	var c *child
	if *e2eOpen {
		c = startChild(t, role, reachOf(w.server.Config, 5000))
		create()
	} else {
		create()
		c = startChild(t, role, reachOf(w.server.Config, 5000))
	}
	times := map[string]time.Time{}
	if *e2eWorkload == "churn" {
		var all sync.WaitGroup
		all.Go(func() { w.churn(ctx) })
		defer func() { cancel(); all.Wait() }()
	}
	limit := time.After(10 * time.Minute)
	for len(times) < *e2ePods {
		select {
		case b := <-bound:
			if _, again := times[b.name]; !again {
				times[b.name] = b.at
			}
		case <-limit:
			t.Fatalf("%s has bound %d of %d pods", role, len(times), *e2ePods)
		}
	}
	if role != "bare" {
		w.allWritten(events)
	}
	f.events, f.state = events.Load(), c.state()
	c.stop()
	var all []time.Time
	var latencies []time.Duration
	for k := range *e2ePods {
		at := times[fmt.Sprintf("p%d", k)]
		all, latencies = append(all, at), append(latencies, at.Sub(created[k]))
	}
	slices.SortFunc(all, time.Time.Compare)
	slices.Sort(latencies)
	f.perSecond = float64(len(all)-1) / all[len(all)-1].Sub(all[0]).Seconds()
	if *e2eOpen {
		f.p50, f.p99 = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
	}
	return f
}

// clear removes what a run has left.
func (w *world) clear() {
	t, api := w.t, w.api
	t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	clean := func(what string, remove func() error) {
		err := wait.PollUntilContextTimeout(w.ctx, time.Second, 5*time.Minute, true, func(context.Context) (bool, error) { return remove() == nil, nil })
		require.NoError(t, err, what)
	}
	for _, space := range []string{measured, "default"} {
		clean("pods", func() error { return api.CoreV1().Pods(space).DeleteCollection(w.ctx, now, metav1.ListOptions{}) })
		clean("events", func() error { return api.EventsV1().Events(space).DeleteCollection(w.ctx, now, metav1.ListOptions{}) })
	}
	w.wipeDevices(measured, now)
	clean("nodes", func() error { return api.CoreV1().Nodes().DeleteCollection(w.ctx, now, metav1.ListOptions{}) })
}

// churn makes and removes, each second, a node without room, a pod that fits nowhere, and a service. At the end of ctx it removes the last.
func (w *world) churn(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	for k := 0; ; k++ {
		name := fmt.Sprintf("churn-%d", k)
		n := newNode(name, "4", func(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("0") })
		p := newPod(name, "9", high)
		s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []v1.ServicePort{{Port: 80}}}}
		_, nodeErr := w.api.CoreV1().Nodes().Create(w.ctx, n, metav1.CreateOptions{})
		_, podErr := w.api.CoreV1().Pods("default").Create(w.ctx, p, metav1.CreateOptions{})
		_, serviceErr := w.api.CoreV1().Services("default").Create(w.ctx, s, metav1.CreateOptions{})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		err := errors.Join(nodeErr, podErr, serviceErr, w.api.CoreV1().Nodes().Delete(w.ctx, name, now), w.api.CoreV1().Pods("default").Delete(w.ctx, name, now),
			w.api.CoreV1().Services("default").Delete(w.ctx, name, now))
		if err != nil {
			w.t.Error(err)
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

type boundPod struct {
	name string
	at   time.Time
}

// watchBound reports pods that have a node.
func (w *world) watchBound(ctx context.Context) <-chan boundPod {
	w.t.Helper()
	out := make(chan boundPod, 4**e2ePods)
	pods, err := w.api.CoreV1().Pods(measured).Watch(ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	go func() {
		for e := range pods.ResultChan() {
			if p, ok := e.Object.(*v1.Pod); ok && p.Spec.NodeName != "" && p.DeletionTimestamp == nil {
				out <- boundPod{p.Name, time.Now()}
			}
		}
	}()
	return out
}

// watchEvents counts the events about bindings.
func (w *world) watchEvents(ctx context.Context) *atomic.Int64 {
	w.t.Helper()
	n := new(atomic.Int64)
	events, err := w.api.EventsV1().Events(measured).Watch(ctx, metav1.ListOptions{FieldSelector: "reason=" + scheduled})
	require.NoError(w.t, err)
	go func() {
		for e := range events.ResultChan() {
			if e.Type == watch.Added {
				n.Add(1)
			}
		}
	}()
	return n
}

// lastEvent is how long no event came when a scheduler has written its last: client-go drops events if too many wait.
const lastEvent = 2 * time.Second

// allWritten returns when every pod has its event, or when no more come, so that the CPU time of each scheduler has all that it owes.
func (w *world) allWritten(events *atomic.Int64) {
	w.t.Helper()
	n, since := events.Load(), time.Now()
	err := wait.PollUntilContextTimeout(w.ctx, 10*time.Millisecond, 10*time.Minute, true, func(context.Context) (bool, error) {
		if now := events.Load(); now != n {
			n, since = now, time.Now()
		}
		return n >= int64(*e2ePods) || time.Since(since) > lastEvent, nil
	})
	require.NoError(w.t, err)
}
