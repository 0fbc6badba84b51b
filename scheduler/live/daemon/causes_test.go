package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// of sets the controller.
func of(kind, name string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(name), Controller: ptr.To(true)}}
	}
}

func in(namespace string) func(*v1.Pod) { return func(p *v1.Pod) { p.Namespace = namespace } }

func gate(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}} }

func selects(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": name} }
}

func by(scheduler string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.SchedulerName = scheduler }
}

// page returns the series of the metric, sorted: "Full Deployment default 3".
func page(t *testing.T, g prometheus.Gatherer) (out []string) {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "podberth_pending_pods" {
				l := m.GetLabel() // by name
				out = append(out, fmt.Sprint(l[0].GetValue(), " ", l[2].GetValue(), " ", l[1].GetValue(), " ", m.GetGauge().GetValue()))
			}
		}
	}
	slices.Sort(out)
	return out
}

// waitingObjects are pods that wait for several causes.
func waitingObjects(t *testing.T, api *apitest.API) {
	api.Put(t, node("n", "2"),
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "web", Controller: ptr.To(true)}}}},
		pod("a", as("a"), of("ReplicaSet", "web-1"), selects("ssd")), pod("b", as("b"), of("ReplicaSet", "web-1"), selects("ssd")),
		pod("c", as("c"), gate), pod("d", as("d"), of("Train", "t"), in("ml"), selects("nvme")),
		pod("e", as("e"), by("other"), selects("ssd")))
}

// The waiting pods are counted by cause, at the start and then at the interval. A pod that has got its node is not counted, nor are pods of other
// schedulers. Another replica counts after the end.
func TestCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, registry := &apitest.API{}, prometheus.NewRegistry()
		waitingObjects(t, api)
		c := configure(t, api)
		c.Registry, c.Causes = registry, time.Minute
		d := start(t, c)
		time.Sleep(time.Minute) // the first count may be older than the first decisions
		synctest.Wait()
		want := []string{"Gate Pod default 1", "NoNode Deployment default 2", "NoNode other ml 1"}
		require.Equal(t, want, page(t, registry))
		big := node("m", "9")
		big.Labels = map[string]string{"disk": "ssd"}
		api.Put(t, big)
		synctest.Wait()
		require.Equal(t, want, page(t, registry), "not at each event")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "m", nodeOf(api, "a"))
		require.Equal(t, []string{"Gate Pod default 1", "NoNode other ml 1"}, page(t, registry))
		d.stop()
		require.NoError(t, <-d.ended)
		synctest.Wait()
		require.Empty(t, page(t, registry))
	})
}

// A replica without the lease counts nothing.
func TestCausesOfLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, registry := &apitest.API{}, prometheus.NewRegistry()
		waitingObjects(t, api)
		give(t, api, "another")
		c := configure(t, api)
		c.Registry, c.Causes, c.Lease = registry, time.Second, lease()
		start(t, c)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Empty(t, page(t, registry))
		give(t, api, "")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.NotEmpty(t, page(t, registry), "the other has given the lease back")
	})
}

// A shadow counts the pods of every scheduler. Pods that a node takes wait for their turn.
func TestCausesOfShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, registry := &apitest.API{}, prometheus.NewRegistry()
		waitingObjects(t, api)
		api.Put(t, pod("f", as("f")), pod("g", as("g")), pod("h", as("h")))
		c := configure(t, api)
		c.Registry, c.Causes = registry, time.Minute
		s, err := NewShadow(t.Context(), c, func(shadow.Report) {})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		require.Equal(t, []string{"Full Pod default 1", "Gate Pod default 1", "NoNode Deployment default 2", "NoNode Pod default 1", "NoNode other ml 1", "Turn Pod default 2"}, page(t, registry))
		stop()
		require.NoError(t, <-ended)
	})
}

// counter returns a counter of pods in a cluster with a node of 2 CPUs.
func counter(t testing.TB, pods ...*v1.Pod) (x *causes, errs *[]error) {
	t.Helper()
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n", "2")}})
	require.NoError(t, err)
	c := Config{Causes: time.Minute, Registry: prometheus.NewRegistry(), Configuration: configure(t, &apitest.API{}).Configuration}
	x, err = newCauses(c, func() []*v1.Pod { return pods }, func(look func(*cluster.Snapshot)) { look(s) }, false)
	require.NoError(t, err)
	errs = &[]error{}
	x.failed = func(err error) { *errs = append(*errs, err) }
	return x, errs
}

// lines returns counts, sorted.
func lines(counts map[causeLabels]int) (out []string) {
	for l, n := range counts {
		out = append(out, fmt.Sprint(l.cause, " ", l.kind, " ", l.namespace, " ", n))
	}
	slices.Sort(out)
	return out
}

// Pods are tried in order of priority, age and UID. Those that end, or that the cluster has on a node, do not wait. Of one controller the pods after
// the first without a node count like it.
func TestCausesOrder(t *testing.T) {
	at := func(second int64) func(*v1.Pod) {
		return func(p *v1.Pod) { p.CreationTimestamp = metav1.Unix(second, 0) }
	}
	important := func(p *v1.Pod) { p.Spec.Priority = ptr.To[int32](5) }
	ends := func(p *v1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Unix(9, 0)) }
	x, _ := counter(t,
		pod("a", as("a"), at(3), in("third")), pod("b", as("b"), at(2), in("second")), pod("c", as("c"), at(9), important, in("first")),
		pod("z", as("z"), at(3), in("fourth")), pod("e", as("e"), at(1), ends), pod("p", as("p"), at(1)),
		pod("s0", as("s0"), of("StatefulSet", "s"), selects("ssd"), at(8)), pod("s1", as("s1"), of("StatefulSet", "s"), at(9)))
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n", "3")}, Pods: []*v1.Pod{pod("p", on("n"))}})
	require.NoError(t, err)
	x.view = func(look func(*cluster.Snapshot)) { look(s) }
	counts, err := x.count()
	require.NoError(t, err)
	require.Equal(t, []string{"Full Pod fourth 1", "Full Pod third 1", "NoNode StatefulSet default 2", "Turn Pod first 1", "Turn Pod second 1"}, lines(counts))
	require.Len(t, slices.Collect(s.Pods(0)), 1, "the cluster is as it was")
}

// A hundred pods without a node are asked about in a count, pods of known controllers aside, and a hundred namespaces have names: those with the most pods.
func TestCausesAreBounded(t *testing.T) {
	var pods []*v1.Pod
	for k := range 1300 { // of 130 namespaces, the last of which have a pod more
		pods = append(pods, pod(fmt.Sprintf("p%04d", k), as(fmt.Sprintf("%04d", k)), in(fmt.Sprintf("n%03d", k%130))))
	}
	for k := range 90 {
		pods = append(pods, pod(fmt.Sprintf("q%04d", k), as(fmt.Sprintf("x%04d", k)), in(fmt.Sprintf("n%03d", 40+k))))
	}
	for k := range 5000 {
		pods = append(pods, pod(fmt.Sprintf("r%04d", k), as(fmt.Sprintf("%04d", k)), of("ReplicaSet", "r"), selects("ssd"), func(p *v1.Pod) { p.Spec.Priority = ptr.To[int32](1) }, in("n050")))
	}
	x, _ := counter(t, pods...)
	counts, err := x.count()
	require.NoError(t, err)
	causes, spaces, total := map[string]int{}, map[string]bool{}, 0
	for l, n := range counts {
		causes[l.cause] += n
		spaces[l.namespace] = true
		total += n
	}
	require.Equal(t, map[string]int{"Turn": 2, "Full": 99, "NotAsked": 1289, "NoNode": 5000}, causes)
	require.Equal(t, len(pods), total)
	require.Len(t, spaces, mostNamespaces+1)
	require.True(t, spaces[otherNamespaces] && spaces["n129"] && spaces["n000"] && !spaces["n039"])
	other := 0
	for l, n := range counts {
		if l.namespace == otherNamespaces {
			other += n
		}
	}
	require.Equal(t, 300, other, "n010 to n039")
}

// The pause after a count that took long is so long that counts take a fiftieth of the time. A count that fails, or panics, is an error and leaves no
// series; the next one may succeed.
func TestCausesPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := counter(t, pod("a"), pod("b"), pod("c"))
		view, zero := x.view, time.Now()
		var mu sync.Mutex // of began and errs
		var began []time.Duration
		var errs []error
		x.failed = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
		x.view = func(look func(*cluster.Snapshot)) {
			mu.Lock()
			began = append(began, time.Since(zero))
			n := len(began)
			mu.Unlock()
			switch n {
			case 2:
				time.Sleep(10 * time.Second)
			case 3:
				panic("broken")
			}
			view(look)
		}
		after := func(d time.Duration) (counted []string, times []time.Duration, err error) {
			time.Sleep(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			x.mu.Lock()
			defer x.mu.Unlock()
			return lines(x.counts), slices.Clone(began), errors.Join(errs...)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go x.run(ctx)
		counted, _, _ := after(time.Second)
		require.Equal(t, []string{"Full Pod default 1", "Turn Pod default 2"}, counted)
		_, times, err := after(9 * time.Minute)
		require.Equal(t, []time.Duration{0, time.Minute}, times)
		require.NoError(t, err)
		counted, times, err = after(time.Minute)
		require.Equal(t, []time.Duration{0, time.Minute, time.Minute + 500*time.Second}, times)
		require.EqualError(t, err, "panic: broken")
		require.Empty(t, counted)
		counted, _, _ = after(time.Minute)
		require.NotEmpty(t, counted)
	})
}

// A count of 2,000 pods of 100 owners at 5,000 nodes.
func BenchmarkCauses5000(b *testing.B) {
	o := cluster.Objects{}
	for k := range 5000 {
		o.Nodes = append(o.Nodes, node(fmt.Sprintf("n%d", k), "8"))
		for j := range 6 {
			o.Pods = append(o.Pods, pod(fmt.Sprintf("p%d-%d", k, j), on(fmt.Sprintf("n%d", k))))
		}
	}
	var pods []*v1.Pod
	for k := range 2000 {
		name := fmt.Sprintf("w%d", k%100)
		pods = append(pods, pod(fmt.Sprintf("w%d", k), as(fmt.Sprint(k)), of("ReplicaSet", name), selects(strings.Repeat("x", 1+k%7))))
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	x, _ := counter(b, pods...)
	x.view = func(look func(*cluster.Snapshot)) { look(s) }
	for b.Loop() {
		counts, err := x.count()
		require.NoError(b, err)
		require.Equal(b, map[causeLabels]int{{"NoNode", "ReplicaSet", "default"}: 2000}, counts)
	}
}

// The metric is read while a count ends. The race detector finds a lock that is missing.
func TestCollectWhileCounting(t *testing.T) {
	x := &causes{}
	var both sync.WaitGroup
	both.Go(func() { x.set(map[causeLabels]int{{cause: "Full"}: 1}) })
	both.Go(func() { x.Collect(make(chan prometheus.Metric, 1)) })
	both.Wait()
	metrics := make(chan prometheus.Metric, 1)
	x.Collect(metrics)
	require.Len(t, metrics, 1)
}
