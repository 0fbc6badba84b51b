package devices_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
)

// The tests that a device fails have the order of the search, and those of a step the order of their texts.
func TestVerdictsInOrder(t *testing.T) {
	slice := gpus("n1")
	slice.Spec.Devices = slice.Spec.Devices[:1]
	for _, key := range []string{"hot", "worn", "cold"} {
		slice.Spec.Devices[0].Taints = append(slice.Spec.Devices[0].Taints, resourcev1.DeviceTaint{Key: key, Effect: resourcev1.DeviceTaintEffectNoSchedule})
	}
	claim := gpuClaim("web", 1)
	claim.Spec.Devices.Requests[0].Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("1")}}
	verdicts, err := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice})), class, nil, devices.Options{}).Compile(claim).Verdicts(nodesOf("n1")[0])
	require.NoError(t, err)
	require.Len(t, verdicts, 1)
	require.Equal(t, []string{
		"has enough of the capacity memory free",
		"has no taint cold:NoSchedule that the request does not tolerate",
		"has no taint hot:NoSchedule that the request does not tolerate",
		"has no taint worn:NoSchedule that the request does not tolerate",
	}, verdicts[0].Fails)
}

// The verdicts on single devices add up to the counts of Explain.
func TestVerdicts(t *testing.T) {
	failed := 0
	for seed := range 150 {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 9)), clean: seed%2 == 0, nodes: nodesOf("n0", "n1")}
		ledger := devices.NewLedger(devices.NewInventory(r.slices()))
		allocator := devices.NewAllocator(ledger, class, equals{}, devices.Options{Steps: 2000})
		if results, ok, err := allocator.Compile(r.claim("running")).Allocate(r.nodes[0]); ok && err == nil {
			ledger.Add(nil, &results[0])
		}
		search := allocator.Compile(r.claim("a"), r.claim("b"))
		for _, n := range r.nodes {
			e := search.Explain(n)
			verdicts, err := search.Verdicts(n)
			require.NoError(t, err)
			for _, want := range e.Requests {
				left, counts := 0, map[string]int{}
				for _, x := range verdicts[:want.Devices] {
					require.Equal(t, want.Claim+want.Request, x.Claim+x.Request)
					if len(x.Fails) == 0 {
						left++
					}
					for _, f := range x.Fails {
						counts[f]++
						failed++
					}
				}
				verdicts = verdicts[want.Devices:]
				require.Equal(t, want.Left, left)
				for _, f := range want.Refused {
					require.Equal(t, f.Devices, counts[f.Test], f.Test)
					delete(counts, f.Test)
				}
				require.Empty(t, counts)
			}
			require.Empty(t, verdicts)
		}
	}
	require.Greater(t, failed, 1000)

	amount := func(n string) map[string]resourcev1.Counter {
		return map[string]resourcev1.Counter{"slots": {Value: resource.MustParse(n)}, "lanes": {Value: resource.MustParse("2")}}
	}
	published, counters := gpus("n1"), gpus("n1")
	published.Spec.Devices = []resourcev1.Device{{Name: "a", ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "one", Counters: amount("3")}, {CounterSet: "two", Counters: amount("3")}}}}
	counters.Name, counters.Spec.Devices = "counters", nil
	counters.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "one", Counters: amount("2")}, {Name: "two", Counters: amount("2")}}
	published.Spec.Pool.ResourceSliceCount, counters.Spec.Pool.ResourceSliceCount = 2, 2
	n1 := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	verdicts, err := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published, counters})), class, nil, devices.Options{}).Compile(gpuClaim("web", 1)).Verdicts(n1)
	require.NoError(t, err)
	require.Len(t, verdicts, 1)
	require.Equal(t, []string{"has enough of the counter slots"}, verdicts[0].Fails, "slots of both sets are short, lanes of neither")

	on := func(s *resourcev1.ResourceSlice, c *resourcev1.ResourceClaim) error {
		_, err := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{s})), class, nil, devices.Options{}).Compile(c).Verdicts(n1)
		return err
	}
	claim := gpuClaim("web", 1)
	claim.Spec.Devices.Requests[0].Exactly.DeviceClassName = "tpu"
	require.ErrorContains(t, on(gpus("n1"), claim), "could not retrieve device class tpu")
	broken := gpus("n1")
	broken.Spec.NodeName, broken.Spec.NodeSelector = nil, &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "a", Operator: "Near"}}}}}
	require.ErrorContains(t, on(broken, gpuClaim("web", 1)), "failed to parse node selector")
}
