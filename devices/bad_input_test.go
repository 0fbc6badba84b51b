package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// Input that the API server refuses gives an error or a rejection, never a panic.
func TestBadInput(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	claim := func(change func(*resourcev1.ExactDeviceRequest)) *resourcev1.ResourceClaim {
		c := gpuClaim("web", 1)
		change(c.Spec.Devices.Requests[0].Exactly)
		return c
	}
	newer := change(gpus("n1"), func(s *resourcev1.ResourceSliceSpec) { s.Pool.Generation, s.Pool.ResourceSliceCount = 9, 2 })
	newer.Name = "newer"
	either := gpuClaim("web", 1)
	either.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "f", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "none", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeAll, Capacity: &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("1")}}},
		{Name: "many", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 33},
	}}}
	neither := gpuClaim("web", 33)
	neither.Spec.Devices.Requests = append(neither.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: "none"})
	type test struct {
		name, why string
		slices    []*resourcev1.ResourceSlice
		claim     *resourcev1.ResourceClaim
		want      string // expected error; "": the node has no room
	}
	testkit.Run(t, []test{
		{"no slices", "nothing is offered", nil, gpuClaim("web", 1), ""},
		{"a slice count that is wrong", "the pool is incomplete", []*resourcev1.ResourceSlice{change(gpus("n1"), func(s *resourcev1.ResourceSliceSpec) { s.Pool.ResourceSliceCount = 2 })}, gpuClaim("web", 1), ""},
		{"a device twice", "the pool is invalid", []*resourcev1.ResourceSlice{change(gpus("n1"), func(s *resourcev1.ResourceSliceSpec) { s.Devices[1].Name = "gpu-0" })}, gpuClaim("web", 1),
			"invalid resource pools were encountered"},
		{"two generations", "the newer generation counts, and lacks a slice", []*resourcev1.ResourceSlice{gpus("n1"), newer}, gpuClaim("web", 1), ""},
		{"no node", "a slice without a reach serves no node", []*resourcev1.ResourceSlice{change(gpus("n1"), func(s *resourcev1.ResourceSliceSpec) { s.NodeName = nil })}, gpuClaim("web", 1), ""},
		{"an unknown class", "the class is looked up", nil, claim(func(r *resourcev1.ExactDeviceRequest) { r.DeviceClassName = "tpu" }),
			`claim default/web, request gpu: could not retrieve device class tpu: deviceclasses.resource.k8s.io "tpu" not found`},
		{"no class", "the API server demands a class", nil, claim(func(r *resourcev1.ExactDeviceRequest) { r.DeviceClassName = "" }),
			"claim default/web, request gpu: missing device class name (unsupported request type?)"},
		{"no mode", "the API server fills the mode in", nil, claim(func(r *resourcev1.ExactDeviceRequest) { r.AllocationMode = "" }),
			"claim default/web, request gpu: unsupported count mode "},
		{"33 devices", "a claim gets 32 at most", nil, claim(func(r *resourcev1.ExactDeviceRequest) { r.Count = 33 }),
			"claim default/web, request gpu: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for"},
		{"33 devices as an alternative to none", "the smallest alternative counts", []*resourcev1.ResourceSlice{gpus("n1")}, either, ""},
		{"33 devices beside a request of neither kind", "a request without alternatives wants nothing", nil, neither,
			"claim default/web, request gpu: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for"},
		{"a selector without a compiler", "an unread selector is never silent", []*resourcev1.ResourceSlice{gpus("n1")},
			claim(func(r *resourcev1.ExactDeviceRequest) {
				r.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "true"}}}
			}), "claim default/web: selector #0: CEL compile error: no compiler of CEL expressions was given"},
		{"all devices in steps without a minimum", "a step counts from the minimum", []*resourcev1.ResourceSlice{change(gpus("n1"), func(s *resourcev1.ResourceSliceSpec) {
			one := resource.MustParse("1")
			s.Devices[1].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: one, RequestPolicy: &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Step: &one}}}}
		})}, claim(func(r *resourcev1.ExactDeviceRequest) {
			r.AllocationMode, r.Count = resourcev1.DeviceAllocationModeAll, 0
			r.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("1")}}
		}), `claim default/web, request gpu: checking capacity for device gpu-1: capacity "memory": requestPolicy.validRange.step needs validRange.min`},
		{"an empty selector", "only CEL is known", nil, claim(func(r *resourcev1.ExactDeviceRequest) { r.Selectors = []resourcev1.DeviceSelector{{}} }),
			"claim default/web, request gpu, selector #0: CEL expression empty (unsupported selector type?)"},
	}, func(t *testing.T, c test) {
		ledger := devices.NewLedger(devices.NewInventory(c.slices))
		_, ok, err := devices.NewAllocator(ledger, class, nil, devices.Options{}).Compile(c.claim).Allocate(node)
		require.False(t, ok)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	})
}

// A class with a selector that is no CEL is an error that names the class.
func TestEmptySelectorOfClass(t *testing.T) {
	empty := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	empty.Spec.Selectors = []resourcev1.DeviceSelector{{}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}))
	_, _, err := devices.NewAllocator(ledger, func(string) *resourcev1.DeviceClass { return empty }, nil, devices.Options{}).Compile(gpuClaim("web", 1)).Allocate(nodesOf("n1")[0])
	require.EqualError(t, err, "class gpu: selector #0: CEL expression empty (unsupported selector type?)")
}

func change(s *resourcev1.ResourceSlice, f func(*resourcev1.ResourceSliceSpec)) *resourcev1.ResourceSlice {
	f(&s.Spec)
	return s
}

// Adding and then removing an allocation leaves the ledger as it was.
func TestLedgerBalance(t *testing.T) {
	allocation := func(device string, share bool) *resourcev1.AllocationResult {
		r := resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: device}
		if share {
			id := metav1.ObjectMeta{UID: "share"}.UID
			r.ShareID = &id
		}
		return &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	inventory := devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")})
	ledger := devices.NewLedger(inventory)
	fits := func(n int64) bool {
		_, ok, err := devices.NewAllocator(ledger, class, nil, devices.Options{}).Compile(gpuClaim("web", n)).Allocate(node)
		require.NoError(t, err)
		return ok
	}
	require.True(t, fits(2))
	ledger.Add(nil, allocation("gpu-0", false))
	ledger.Add(nil, allocation("gone", false)) // no slice lists it
	ledger.Add(nil, nil)
	require.False(t, fits(2))
	require.True(t, fits(1))
	ledger.Remove(nil, allocation("gpu-0", false))
	require.True(t, fits(2))
	ledger.Add(nil, allocation("gpu-1", true)) // a share of a device that cannot be shared: v1.36 does not notice (quirk U10.10)
	require.True(t, fits(2))
}

// U-102 and U-104b: Options.Steps takes the place of v1.36's time-out. A node that needs more steps has an error; other nodes
// do not.
func TestSteps(t *testing.T) {
	far, near := gpus("n1"), gpus("n2")
	far.Spec.Devices[0].Taints = []resourcev1.DeviceTaint{{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{far, near}))
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "a", ResourceClaimName: new("web")}}
	nodes := testkit.NewCluster([]*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n2"}}}, nil)
	compiled := devices.Compile(pod, world{"web": gpuClaim("web", 1)}, nil)
	state := compiled.Onto(nodes, devices.NewAllocator(ledger, class, nil, devices.Options{Steps: 1}), devices.Clock{})
	v := state.Check(0)
	require.Equal(t, filter.Error, state.Code(v))
	require.Equal(t, []string{"node n1: the search for devices was cut after 1 steps; kube-scheduler searches until its filterTimeout and then fails: timed out trying to allocate devices"}, state.Reasons(v))
	require.Zero(t, state.Check(1))
	for _, steps := range []int{0, -1} {
		state = compiled.Onto(nodes, devices.NewAllocator(ledger, class, nil, devices.Options{Steps: steps}), devices.Clock{})
		require.Zero(t, state.Check(0), "the default, and no bound")
	}
}
