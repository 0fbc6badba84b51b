package devices_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
)

// An explanation agrees with the search, and every failure has a cause.
func TestExplain(t *testing.T) {
	racks := 1500
	if testing.Short() {
		racks = 300
	}
	short, conflicts, larger := 0, 0, 0
	for seed := range racks {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 4)), clean: seed%2 == 0, nodes: list{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}}
		ledger := devices.NewLedger(devices.NewInventory(r.slices()))
		allocator := devices.NewAllocator(ledger, class, equals{}, devices.Options{Steps: 50_000})
		if results, ok, err := allocator.Compile(r.claim("running")).Allocate(r.nodes[0]); ok && err == nil {
			ledger.Add(nil, &results[0])
		}
		claims := []*resourcev1.ResourceClaim{r.claim("a"), r.claim("b")}[:1+r.IntN(2)]
		search := allocator.Compile(claims...)
		for _, n := range r.nodes {
			_, ok, err := search.Allocate(n)
			e := search.Explain(n)
			require.Equal(t, ok, e.Allocates, "seed %d", seed)
			lines := strings.Join(e.Lines(), "\n")
			require.NotEmpty(t, lines, "seed %d", seed)
			if err != nil {
				require.Equal(t, err.Error(), e.Error)
				continue
			}
			if ok {
				continue
			}
			asks := map[string]bool{} // whether some alternative has enough devices
			for _, x := range e.Requests {
				name, _, _ := strings.Cut(x.Request, "/")
				asks[x.Claim+name] = asks[x.Claim+name] || !x.Short()
				decisive := 0
				for _, f := range x.Refused {
					require.Positive(t, f.Devices)
					if f.Decisive {
						decisive++
					}
				}
				require.Equal(t, x.Short() && x.Devices >= x.Wants, decisive > 0, "seed %d: %+v", seed, x)
			}
			alone := true
			for _, enough := range asks {
				alone = alone && enough
			}
			switch {
			case !alone:
				short++
				require.Empty(t, e.Conflict)
			case len(e.Conflict) > 0:
				conflicts++
			default:
				larger++
			}
		}
	}
	require.Greater(t, short, racks/10)
	require.Greater(t, conflicts, racks/100)
	require.Less(t, larger, conflicts)
}

// Each test of a request has a name, and the smallest set of tests that leaves too few devices is marked.
func TestExplainRequest(t *testing.T) {
	yes, here, away, b := true, "n1", "n2", "b"
	amount := resource.MustParse
	memory := func(amount string) map[resourcev1.QualifiedName]resourcev1.DeviceCapacity {
		return map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(amount)}}
	}
	taint := []resourcev1.DeviceTaint{{Key: "hot", Value: "very", Effect: resourcev1.DeviceTaintEffectNoSchedule}, {Key: "old", Effect: resourcev1.DeviceTaintEffectNone}}
	uses := func(amount string) []resourcev1.DeviceCounterConsumption {
		return []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"slots": {Value: resource.MustParse(amount)}}}}
	}
	published := gpus("n1")
	published.Spec.NodeName, published.Spec.PerDeviceNodeSelection, published.Spec.Pool.ResourceSliceCount = nil, &yes, 2
	published.Spec.Devices = []resourcev1.Device{
		{Name: "used", Capacity: memory("8Gi")},
		{Name: "small", Capacity: memory("1Gi")},
		{Name: "bare"},
		{Name: "other", Capacity: memory("8Gi"), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &b}}},
		{Name: "away", Capacity: memory("8Gi"), NodeName: &away},
		{Name: "part", Capacity: memory("8Gi"), ConsumesCounters: uses("3")},
		{Name: "hot", Capacity: memory("8Gi"), Taints: taint},
		{Name: "hot and used", Capacity: memory("8Gi"), Taints: taint},
		{Name: "free", Capacity: memory("8Gi"), ConsumesCounters: uses("2")},
	}
	for k := range published.Spec.Devices {
		if d := &published.Spec.Devices[k]; d.NodeName == nil {
			d.NodeName = &here
		}
	}
	counters := gpus("n1")
	counters.Name, counters.Spec.Devices, counters.Spec.Pool.ResourceSliceCount = "counters", nil, 2
	counters.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "card", Counters: map[string]resourcev1.Counter{"slots": {Value: amount("2")}, "lanes": {Value: amount("2")}}}}
	running := gpuClaim("running", 2)
	running.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "used"}, {Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "hot and used"}}}}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published, counters}), running), class, models{}, devices.Options{})
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	report := func(wants int64) devices.RequestReport {
		claim := gpuClaim("web", wants)
		r := claim.Spec.Devices.Requests[0].Exactly
		r.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "not b"}}}
		r.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": amount("2Gi")}}
		e := allocator.Compile(claim).Explain(node)
		require.Len(t, e.Requests, 1)
		return e.Requests[0]
	}
	tests := func(decisive bool) []devices.Refusal {
		return []devices.Refusal{
			{Test: "is not in use", Devices: 2, Names: []string{"used", "hot and used"}, Decisive: decisive, Claims: []string{"default/running"}},
			{Test: "selector of claim default/web: not b", Devices: 1, Names: []string{"other"}, Decisive: decisive},
			{Test: "can be used on this node", Devices: 1, Names: []string{"away"}, Decisive: decisive},
			{Test: "has enough of the capacity memory free", Devices: 2, Names: []string{"small", "bare"}, Decisive: decisive},
			{Test: "has enough of the counter slots", Devices: 1, Names: []string{"part"}, Decisive: decisive},
			{Test: "has no taint hot=very:NoSchedule that the request does not tolerate", Devices: 2, Names: []string{"hot", "hot and used"}, Decisive: decisive},
		}
	}
	require.Equal(t, devices.RequestReport{Claim: "default/web", Request: "gpu", Class: "gpu", Wants: 1, Devices: 9, Left: 1, Refused: tests(false)}, report(1))
	require.Equal(t, tests(true), report(2).Refused, "no four tests leave fewer than two devices")
	some := tests(false)
	some[0].Decisive = true
	require.Equal(t, some, report(8).Refused, "two of nine devices are in use")
	some[3].Decisive = true
	require.Equal(t, some, report(6).Refused)
	require.Equal(t, tests(false), report(10).Refused, "there are fewer devices than that")
}

// models knows the expression "not b", which a device of model b fails.
type models struct{}

func (models) Compile(string) (devices.Selector, error) { return models{}, nil }
func (models) Matches(d devices.Device) (bool, error) {
	model, ok := d.Attributes["model"]
	return !ok || *model.StringValue != "b", nil
}

// The order of tests, a last test that is decisive alone, and allocationMode All, which wants every device that matches.
func TestExplainDecisive(t *testing.T) {
	taint := func(key string) []resourcev1.DeviceTaint {
		return []resourcev1.DeviceTaint{{Key: key, Effect: resourcev1.DeviceTaintEffectNoExecute}}
	}
	b := "b"
	published := gpus("n1")
	published.Spec.Devices = []resourcev1.Device{
		{Name: "used"}, {Name: "y", Taints: taint("y")}, {Name: "y and x", Taints: append(taint("y"), taint("x")...)}, {Name: "y again", Taints: taint("y")}, {Name: "free"},
		{Name: "other", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &b}}},
	}
	running := gpuClaim("running", 1)
	running.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "used"}}}}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published}), running), class, models{}, devices.Options{})
	claim := gpuClaim("web", 3)
	claim.Spec.Devices.Requests[0].Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "not b"}}}
	refused := func(use, selector, x, y bool) []devices.Refusal {
		return []devices.Refusal{
			{Test: "is not in use", Devices: 1, Names: []string{"used"}, Decisive: use, Claims: []string{"default/running"}},
			{Test: "selector of claim default/web: not b", Devices: 1, Names: []string{"other"}, Decisive: selector},
			{Test: "has no taint x:NoExecute that the request does not tolerate", Devices: 1, Names: []string{"y and x"}, Decisive: x},
			{Test: "has no taint y:NoExecute that the request does not tolerate", Devices: 3, Names: []string{"y", "y and x", "y again"}, Decisive: y},
		}
	}
	e := allocator.Compile(claim).Explain(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.Equal(t, []devices.RequestReport{{Claim: "default/web", Request: "gpu", Class: "gpu", Wants: 3, Devices: 6, Left: 1, Refused: refused(true, false, false, true)}}, e.Requests)
	require.True(t, e.Requests[0].Short())
	claim.Spec.Devices.Requests[0].Exactly.Count = 4
	e = allocator.Compile(claim).Explain(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.Equal(t, refused(false, false, false, true), e.Requests[0].Refused)
	require.Equal(t, []string{"claim default/web, request gpu: wants 4, 1 of 6 devices left; 3 fail the test: has no taint y:NoExecute that the request does not tolerate"}, e.Lines(),
		"the sentence has the decisive tests only")

	claim.Spec.Devices.Requests[0].Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
	e = allocator.Compile(claim).Explain(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.Equal(t, 5, e.Requests[0].Wants, "every device that the selector matches, in use and tainted ones too")
	require.Equal(t, 1, e.Requests[0].Left)
}

// A conflict keeps the requests that its constraint names.
func TestExplainConflict(t *testing.T) {
	published := gpus("n1")
	published.Spec.Devices = nil
	for k := range int64(4) {
		published.Spec.Devices = append(published.Spec.Devices, resourcev1.Device{Name: fmt.Sprint(k), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"numa": {IntValue: &k}}})
	}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published})), class, nil, devices.Options{})
	numa := resourcev1.FullyQualifiedName("gpu.example.com/numa")
	request := func(name string, n int64) resourcev1.DeviceRequest {
		r := gpuClaim("web", n).Spec.Devices.Requests[0]
		r.Name = name
		return r
	}
	explain := func(constraint []string, requests ...resourcev1.DeviceRequest) devices.Explanation {
		claim := gpuClaim("web", 1)
		claim.Spec.Devices.Requests = requests
		claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &numa, Requests: constraint}}
		return allocator.Compile(claim).Explain(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	}
	match := "matchAttribute gpu.example.com/numa of claim default/web"
	require.Equal(t, []string{"request b of claim default/web", match}, explain([]string{"b"}, request("a", 1), request("b", 2)).Conflict)
	require.Equal(t, []string{"request a of claim default/web", "request b of claim default/web", match}, explain([]string{"a", "b"}, request("a", 1), request("b", 1)).Conflict)
	require.Equal(t, []string{"request a of claim default/web", "request b of claim default/web"}, explain([]string{"a"}, request("a", 1), request("b", 4), request("c", 1)).Conflict)
	require.True(t, explain([]string{"a"}, request("a", 1), request("b", 2)).Allocates)
	first := request("f", 1)
	first.FirstAvailable = []resourcev1.DeviceSubRequest{{Name: "two", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2}}
	first.Exactly = nil
	require.Equal(t, []string{"request f of claim default/web", match}, explain([]string{"f/two"}, request("a", 1), first).Conflict)
}

// Of more than 63 tests the counters, capacities and taints are one test each, and so are the selectors beyond 50.
func TestExplainManyTests(t *testing.T) {
	published := gpus("n1")
	published.Spec.Devices = nil
	for k := range 70 {
		published.Spec.Devices = append(published.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k), Taints: []resourcev1.DeviceTaint{{Key: fmt.Sprint(k), Effect: resourcev1.DeviceTaintEffectNoExecute}}})
	}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published})), class, nil, devices.Options{})
	explain := func() []devices.Refusal {
		return allocator.Compile(gpuClaim("web", 1)).Explain(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}).Requests[0].Refused
	}
	require.Equal(t, []devices.Refusal{{Test: "has no taint that the request does not tolerate", Devices: 70, Names: []string{"gpu-0", "gpu-1", "gpu-2"}, Decisive: true}}, explain())
	yes := true
	full := resourcev1.Device{Name: "full", AllowMultipleAllocations: &yes, Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("8Gi")}}}
	published.Spec.Devices = append(published.Spec.Devices, full)
	shares := holding("shares", "full")
	shares.Status.Allocation.Devices.Results[0].ShareID = new(types.UID)
	shares.Status.Allocation.Devices.Results[0].ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("8Gi")}
	allocator = devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published}), shares), class, nil, devices.Options{})
	require.Equal(t, []devices.Refusal{
		{Test: "has the requested capacity free", Devices: 1, Names: []string{"full"}, Decisive: true, Claims: []string{"default/shares"}},
		{Test: "has no taint that the request does not tolerate", Devices: 70, Names: []string{"gpu-0", "gpu-1", "gpu-2"}, Decisive: true},
	}, explain())
	published.Spec.Devices = published.Spec.Devices[:70]

	claim := gpuClaim("web", 1)
	for range 52 {
		claim.Spec.Devices.Requests[0].Exactly.Selectors = append(claim.Spec.Devices.Requests[0].Exactly.Selectors, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("numa=%d", len(claim.Spec.Devices.Requests[0].Exactly.Selectors))}})
	}
	one := gpus("n1")
	one.Spec.Devices = []resourcev1.Device{with("a", "numa", "other")}
	verdicts, err := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{one})), class, equals{}, devices.Options{}).Compile(claim).Verdicts(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.NoError(t, err)
	require.Len(t, verdicts[0].Fails, 51)
	require.Equal(t, []string{"selector of claim default/web: numa=49", "one of 2 more selectors"}, verdicts[0].Fails[49:])

	published.Spec.Devices = published.Spec.Devices[:63]
	allocator = devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published})), class, nil, devices.Options{})
	require.Len(t, explain(), 63)
}

// Capacity counts as one allocation after the other does, and leaves the ledger as it was.
func TestCapacity(t *testing.T) {
	for seed := range 300 {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 5)), clean: true, nodes: list{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}}
		ledger := devices.NewLedger(devices.NewInventory(r.slices()))
		allocator := devices.NewAllocator(ledger, class, equals{}, devices.Options{Steps: 50_000})
		claim := r.claim("web")
		before, _, beforeErr := allocator.Compile(claim).Allocate(r.nodes[0])
		n, err := allocator.Compile(claim).Capacity(r.nodes[0], 10)
		after, _, afterErr := allocator.Compile(claim).Allocate(r.nodes[0])
		require.Equal(t, before, after)
		require.Equal(t, beforeErr, afterErr)
		want := 0
		for want < 10 {
			results, ok, e := allocator.Compile(claim).Allocate(r.nodes[0])
			if !ok {
				require.Equal(t, e, err)
				break
			}
			want++
			ledger.Add(nil, &results[0])
		}
		require.Equal(t, want, n, "seed %d", seed)
	}
}
