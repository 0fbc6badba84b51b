package devices

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
)

// hardWorld is a pod with a claim for twelve devices. On n1 a counter has enough for any nine of thirty, which neither side finds out in
// time. n2 has twelve devices.
func hardWorld() *podWorld {
	counters := func(n int) map[string]resourcev1.Counter {
		return map[string]resourcev1.Counter{"c": {Value: resource.MustParse(fmt.Sprint(n))}}
	}
	slice := func(node, name string) *resourcev1.ResourceSlice {
		pool := resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{Driver: "drv", NodeName: &node, Pool: pool}}
	}
	hard, sets, easy := slice("n1", "hard"), slice("n1", "sets"), slice("n2", "easy")
	hard.Spec.Pool.ResourceSliceCount, sets.Spec.Pool.ResourceSliceCount = 2, 2
	sets.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "set", Counters: counters(9500)}}
	for k := range 30 {
		hard.Spec.Devices = append(hard.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", k), ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: counters(1000 + k)}}})
	}
	for k := range 12 {
		easy.Spec.Devices = append(easy.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", k)})
	}
	w := &podWorld{world: &world{slices: []*resourcev1.ResourceSlice{hard, sets, easy}, classes: []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}}}
	for _, name := range []string{"n1", "n2"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourcePods: resource.MustParse("10")}
		w.nodes = append(w.nodes, n)
	}
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "k", UID: "k"}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 12}}}
	w.claims = append(w.claims, c)
	w.pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "c"}}, ResourceClaims: []v1.PodResourceClaim{{Name: "use", ResourceClaimName: &c.Name}},
	}}
	return w
}

// A search that lasts longer than filterTimeout fails the attempt on both sides, with the same text, whatever other nodes have. Without
// n1 the pod gets n2 on both sides.
func TestFilterTimeout(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int // the last ones
		limit time.Duration
		kind  string
	}{{"the hard node and another", 2, time.Millisecond, "error"}, {"the other node alone", 1, 10 * endless, "placed"}} {
		t.Run(c.name, func(t *testing.T) {
			s := kube(t, c.limit)
			theirs, w := hardWorld(), hardWorld()
			theirs.nodes, w.nodes = theirs.nodes[2-c.nodes:], w.nodes[2-c.nodes:]
			if err := s.Load(cluster.Objects{Nodes: theirs.nodes}); err != nil {
				t.Fatal(err)
			}
			if err := s.LoadDevices(theirs.slices, theirs.classes, theirs.all()); err != nil {
				t.Fatal(err)
			}
			snapshot, err := cluster.New(cluster.Objects{Nodes: w.nodes, ResourceSlices: w.slices, DeviceClasses: w.classes, ResourceClaims: w.all()})
			if err != nil {
				t.Fatal(err)
			}
			args := placement.PluginArgs{Release: trial.Linked, Devices: tracker.Options{Compiler: compiler, FilterTimeout: c.limit, Now: time.Now}}
			placer, err := placement.NewPlacer(snapshot, args.Profile())
			if err != nil {
				t.Fatal(err)
			}
			here := decided(placer.Decide(w.pod, placement.Options{}))
			result, theirErr := s.Schedule(theirs.pod)
			there := decidedByReal(result, theirErr)
			if here.kind != c.kind || here.kind != there.kind || here.message != there.message {
				t.Fatalf("here:  %+v\nthere: %+v", here, there)
			}
		})
	}
}
