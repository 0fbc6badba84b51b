package devices_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// pairs are n devices of node n1 with the attributes g=1 and h=0 or h=1.
func pairs(n int) *resourcev1.ResourceSlice {
	var list []resourcev1.Device
	for k := range n {
		list = append(list, with(fmt.Sprintf("d%02d", k), "g", "1", "h", fmt.Sprint(k%2)))
	}
	return sliceWith("n1", list...)
}

// ninth is a claim with eight requests for two devices each, and a ninth that no device meets.
func ninth() *resourcev1.ResourceClaim {
	c := gpuClaim("web", 1)
	c.Spec.Devices.Requests = nil
	for k := range 8 {
		q := choose(fmt.Sprint("r", k), "g=1")
		q.Exactly.Count = 2
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, q)
	}
	c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, choose("r8", "g=2"))
	return c
}

// eight is a claim with eight requests of eight alternatives each, whose devices must have different values of h.
func eight() *resourcev1.ResourceClaim {
	c := gpuClaim("web", 1)
	c.Spec.Devices.Requests = nil
	for k := range 8 {
		q := resourcev1.DeviceRequest{Name: fmt.Sprint("r", k)}
		for j := range 8 {
			q.FirstAvailable = append(q.FirstAvailable, resourcev1.DeviceSubRequest{Name: fmt.Sprint("s", j), DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1})
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, q)
	}
	name := resourcev1.FullyQualifiedName("gpu.example.com/h")
	c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: &name}}
	return c
}

// sums is a claim for ten of thirty devices. Each takes another amount of a counter, which has enough for any nine of them.
func sums() ([]*resourcev1.ResourceSlice, *resourcev1.ResourceClaim) {
	s := pairs(30)
	counters := func(n int) map[string]resourcev1.Counter {
		return map[string]resourcev1.Counter{"c": {Value: resource.MustParse(fmt.Sprint(n))}}
	}
	for k := range s.Spec.Devices {
		s.Spec.Devices[k].ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: counters(1000 + k)}}
	}
	s.Spec.Pool.ResourceSliceCount = 2
	return []*resourcev1.ResourceSlice{s, {ObjectMeta: metav1.ObjectMeta{Name: "sets"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: s.Spec.Driver, NodeName: s.Spec.NodeName, Pool: s.Spec.Pool, SharedCounters: []resourcev1.CounterSet{{Name: "set", Counters: counters(9500)}}}}}, gpuClaim("web", 10)
}

// Claims that v1.36.3 searches for longer than its time-out are decided within a few hundred steps.
func TestHardClaims(t *testing.T) {
	type test struct {
		name, why string
		devices   int
		claim     *resourcev1.ResourceClaim
	}
	testkit.Run(t, []test{
		{"a ninth request", "no device meets it, whatever the other requests get", 16, ninth()},
		{"a ninth request of more devices", "the same", 64, ninth()},
		{"eight alternatives", "eight requests have two values", 16, eight()},
		{"eight alternatives of more devices", "the same", 32, eight()},
	}, func(t *testing.T, c test) {
		allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{pairs(c.devices)})), class, equals{}, devices.Options{})
		search := allocator.Compile(c.claim)
		_, ok, err := search.Allocate(n1)
		require.NoError(t, err)
		require.False(t, ok)
		require.Less(t, search.Steps(), 300)
		require.NotEmpty(t, search.Explain(n1).Lines())
	})
}

// A search that is cut says so, at the number of steps, and its node has the verdict of the release.
func TestCutSearch(t *testing.T) {
	slices, claim := sums()
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(slices)), class, equals{}, devices.Options{})
	search := allocator.Compile(claim)
	_, _, err := search.Allocate(n1)
	require.ErrorIs(t, err, devices.ErrSteps)
	require.EqualError(t, err, "the search for devices was cut after 100000 steps; kube-scheduler searches until its filterTimeout and then fails: timed out trying to allocate devices")
	require.Equal(t, err.Error(), search.Explain(n1).Error)
}

// Options.Stop ends the search with v1.36's text: the attempt fails. Up to v1.35 the node alone is rejected.
func TestStop(t *testing.T) {
	slices, claim := sums()
	pod := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{claim}}, nil)
	type test struct {
		name, why string
		release   release.Version
		code      filter.Code
		text      string
	}
	testkit.Run(t, []test{
		{"v1.34", "the node is rejected", release.V1_34, filter.UnschedulableAndUnresolvable, "timed out trying to allocate devices"},
		{"v1.35", "the node is rejected", release.V1_35, filter.UnschedulableAndUnresolvable, "timed out trying to allocate devices"},
		{"v1.36", "the attempt fails", release.V1_36, filter.Error, "node n1: timed out trying to allocate devices"},
		{"v1.37", "the attempt fails", release.V1_37, filter.Error, "node n1: timed out trying to allocate devices"},
	}, func(t *testing.T, c test) {
		began, asked, gpu := 0, 0, class("gpu")
		stop := func() func() bool {
			began++
			left := 3
			return func() bool { asked++; left--; return left < 0 }
		}
		allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(slices)), func(string) *resourcev1.DeviceClass { return gpu }, equals{}, devices.Options{Release: c.release, Steps: -1, Stop: stop})
		for attempt := range 3 {
			state := pod.Onto(nodesOf("n1"), allocator, devices.Clock{})
			v := state.Check(0)
			require.Equal(t, c.code, state.Code(v))
			require.Equal(t, []string{c.text}, state.Reasons(v))
			require.Nil(t, state.Kept(), "the pod shares no answers any more")
			require.Equal(t, 1+attempt/2, began, "an answer serves twice: for the pods that share it, and for the attempt")
		}
		require.Equal(t, 8, asked, "once at the beginning, then every few hundred steps")
	})
}

// Of many nodes that offer the same the search is stopped once, and nobody asks the other nodes for what pods share.
func TestStoppedOnce(t *testing.T) {
	var nodes list
	var published []*resourcev1.ResourceSlice
	_, claim := sums()
	for k := range 5 {
		name := fmt.Sprint("n", k)
		nodes = append(nodes, nodesOf(name)...)
		slices, _ := sums()
		for at, s := range slices {
			s.Name, s.Spec.NodeName, s.Spec.Pool.Name = fmt.Sprint(name, "-", at), &name, name
			if at == 0 {
				s.Spec.Devices[0].ConsumesCounters[0].Counters["c"] = resourcev1.Counter{Value: resource.MustParse(fmt.Sprint(2000 + k))} // no two nodes are alike
			}
			published = append(published, s)
		}
	}
	began, gpu := 0, class("gpu")
	stop := func() func() bool { began++; return func() bool { return true } }
	classes := func(string) *resourcev1.DeviceClass { return gpu }
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(published)), classes, equals{}, devices.Options{Steps: -1, Stop: stop})
	state := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{claim}}, nil).Onto(nodes, allocator, devices.Clock{})
	kept := state.Kept()
	for i := range nodes {
		v := kept.Check(i)
		require.Equal(t, filter.Error, kept.(filter.Coder).Code(v))
		require.Equal(t, []string{fmt.Sprintf("node n%d: timed out trying to allocate devices", i)}, kept.Reasons(v))
	}
	require.Equal(t, 1, began)
	require.Equal(t, filter.Error, state.Code(state.Check(0)), "the attempt on its own uses the answer")
	require.Equal(t, 1, began)
	require.Nil(t, state.Kept())
}
