package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// An allocation shares nothing with the claim and the slices: who writes into one does not change the others.
func TestAllocationSharesNothing(t *testing.T) {
	slice := privateSlice("n", "d")
	slice.Spec.Devices[0].BindingConditions, slice.Spec.Devices[0].BindingFailureConditions = []string{"Attached"}, []string{"Broken"}
	s := stateOfTwo(1)
	claim := s.pending[0]
	claim.Spec.Devices.Requests[0].Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: "old", Operator: resourcev1.DeviceTolerationOpExists}}
	testkit.Unchanged(t, func() {
		search := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{slice})), s.allocator.classes, nil, Options{}).Compile(claim)
		results, ok, err := search.Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		require.NoError(t, err)
		require.True(t, ok)
		r := &results[0].Devices.Results[0]
		require.Equal(t, []string{"Attached"}, r.BindingConditions)
		r.Tolerations[0].Key, r.BindingConditions[0], r.BindingFailureConditions[0] = "x", "x", "x"
	}, claim)
	require.Equal(t, []string{"Attached"}, slice.Spec.Devices[0].BindingConditions)
	require.Equal(t, []string{"Broken"}, slice.Spec.Devices[0].BindingFailureConditions)
}

// Each search counts again what allocations take of a pool. The amount may be more than an int64 holds.
func TestCountersStay(t *testing.T) {
	const amount = "123456789012345678901"
	published := slotsOf("n", amount, resourcev1.Device{Name: "a"})
	published[0].Spec.Devices[0].ConsumesCounters[0].Counters = published[1].Spec.SharedCounters[0].DeepCopy().Counters
	ledger := NewLedger(NewInventory(published))
	r := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: "n", Device: "a"}
	ledger.Add(nil, &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}})
	v := NewAllocator(ledger, nil, nil, Options{}).view(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	for range 2 {
		left := v.pools[0].available(ledger)[counterID{"set", "slots"}]
		require.True(t, left.value.IsZero(), left.value.String())
	}
}

// A request of all devices needs the devices that were found for that request.
func TestNeedOfAll(t *testing.T) {
	s := &Search{found: [][]candidate{make([]candidate, 1), make([]candidate, 3)}}
	require.Equal(t, 3, s.need(&request{id: 1, all: true}))
	require.Equal(t, 2, s.need(&request{id: 1, count: 2}))
}
