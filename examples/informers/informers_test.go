package informers_test

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/examples/informers"
	"github.com/podberth/podberth/placement"
)

// store is an indexer with one index.
type store struct {
	all  []any
	node map[string][]any
}

func (s *store) List() []any { return s.all }
func (s *store) ByIndex(index, value string) ([]any, error) {
	if index != "node" {
		return nil, errors.New("no such index")
	}
	return s.node[value], nil
}

func node(name string) *v1.Node {
	list := v1.ResourceList{"cpu": resource.MustParse("16"), "pods": resource.MustParse("110")}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}, Status: v1.NodeStatus{Allocatable: list}}
}

func pod(name, node string) *v1.Pod {
	container := v1.Container{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}}, Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{container}}}
}

// caches returns what informers have: nodes, ten pods on each.
func caches(nodes int) (of, pods *store) {
	of, pods = &store{}, &store{node: map[string][]any{}}
	for i := range nodes {
		n := node(fmt.Sprintf("n%04d", i))
		of.all = append(of.all, n)
		for k := range 10 {
			p := pod(fmt.Sprintf("web-%d-%d", i, k), n.Name)
			pods.all = append(pods.all, p)
			pods.node[n.Name] = append(pods.node[n.Name], p)
		}
	}
	return of, pods
}

func Example() {
	nodes, pods := caches(3)
	view, err := informers.New(nodes, pods, "node")
	if err != nil {
		panic(err)
	}
	plan, err := placement.New(placement.Rows(view), placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Decide(pod("next", ""), placement.Options{}).Node)
	// Output: n0000
}

func TestNoCopy(t *testing.T) {
	nodes, pods := caches(2)
	finished := pod("done", "n0001")
	finished.Status.Phase = v1.PodSucceeded
	pods.node["n0001"] = append([]any{finished}, pods.node["n0001"]...)
	view, err := informers.New(nodes, pods, "node")
	require.NoError(t, err)
	require.Same(t, nodes.all[1], view.Node(1))
	for p := range view.Pods(1) {
		require.Same(t, pods.node["n0001"][1], p, "the first that has not finished")
		break
	}
	_, err = informers.New(nodes, pods, "host")
	require.EqualError(t, err, "pods by node: no such index")
}

// The library changes nothing of a cache; whoever does is named.
func TestGuard(t *testing.T) {
	nodes, pods := caches(20)
	var guard informers.Guard
	guard.Watch(nodes, pods)
	view, err := informers.New(nodes, pods, "node")
	require.NoError(t, err)
	plan, err := placement.New(placement.Rows(view), placement.DefaultProfile())
	require.NoError(t, err)
	require.True(t, plan.Decide(pod("next", ""), placement.Options{}).Placed())
	snapshot, err := cluster.New(objects(nodes, pods))
	require.NoError(t, err)
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	_, err = placer.PlaceAll([]*v1.Pod{pod("a", ""), pod("b", "")}, placement.Options{})
	require.NoError(t, err)
	require.NoError(t, guard.Check())

	pods.all[7].(*v1.Pod).Labels["app"] = "db"
	require.EqualError(t, guard.Check(), "*v1.Pod shop/web-0-7 was changed in place")
}

func objects(nodes, pods *store) (o cluster.Objects) {
	for _, n := range nodes.all {
		o.Nodes = append(o.Nodes, n.(*v1.Node))
	}
	for _, p := range pods.all {
		o.Pods = append(o.Pods, p.(*v1.Pod))
	}
	return o
}

// 5,000 nodes and 50,000 pods. View is a plan over the caches and one decision. Follow is one second of a snapshot: 200 pods change, and one
// decision. Memory is what the snapshot adds to the caches.
func BenchmarkAtSize(b *testing.B) {
	nodes, pods := caches(5000)
	b.Run("View", func(b *testing.B) {
		b.ReportAllocs()
		began := processorTime(b)
		for b.Loop() {
			view, err := informers.New(nodes, pods, "node")
			require.NoError(b, err)
			plan, err := placement.New(placement.Rows(view), placement.DefaultProfile())
			require.NoError(b, err)
			require.True(b, plan.Decide(pod("next", ""), placement.Options{}).Placed())
		}
		b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
	})
	b.Run("Follow", func(b *testing.B) {
		before := memory()
		snapshot, err := cluster.New(objects(nodes, pods))
		require.NoError(b, err)
		placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
		require.NoError(b, err)
		require.True(b, placer.Decide(pod("next", ""), placement.Options{}).Placed())
		held := memory() - before
		next := 0
		b.ReportAllocs()
		began := processorTime(b)
		for b.Loop() {
			for range 200 {
				old := pods.all[next%len(pods.all)].(*v1.Pod)
				changed := *old // a watch brings a new object
				changed.ResourceVersion = fmt.Sprint(next)
				changed.Labels = map[string]string{"app": "web", "version": fmt.Sprint(next % 3)}
				require.NoError(b, snapshot.Set(&changed))
				next++
			}
			require.True(b, placer.Decide(pod("next", ""), placement.Options{}).Placed())
		}
		b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
		b.ReportMetric(float64(held)/1e6, "MB-held")
		runtime.KeepAlive(snapshot)
	})
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// processorTime returns the nanoseconds that the process has used. Other programs do not make it longer.
func processorTime(b *testing.B) int64 {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return used.Utime.Nano() + used.Stime.Nano()
}
