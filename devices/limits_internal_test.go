package devices

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// A ledger notes a changed pool once for each allocation, and forgets the older half when it has noted too many.
func TestTouchedPools(t *testing.T) {
	l := NewLedger(NewInventory([]*resourcev1.ResourceSlice{privateSlice("n0", "d0", "d1"), privateSlice("n1", "d0")}))
	result := func(pool, device string) resourcev1.DeviceRequestAllocationResult {
		return resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: pool, Device: device}
	}
	l.Add(nil, &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		result("n0", "d0"), result("n0", "d1"), result("n1", "d0")}}})
	require.Equal(t, []int32{0, 1}, l.touched)
	for len(l.touched) < maxTouched {
		l.touch(0)
	}
	l.touch(1)
	require.Len(t, l.touched, maxTouched/2+1)
	require.EqualValues(t, maxTouched/2, l.forgotten)
	require.EqualValues(t, 1, l.touched[maxTouched/2])
	l.touch(0)
	require.Len(t, l.touched, maxTouched/2+2)
}

// An explanation names a capacity when its policy forbids the amount, when the policy has a fault, and when the amount is not free.
func TestFullCapacities(t *testing.T) {
	amount := func(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }
	amounts := func(n int64) *resource.Quantity { q := amount(n); return &q }
	type test struct {
		name, why string
		policy    *resourcev1.CapacityRequestPolicy
		asks      int64
		full      bool
	}
	testkit.Run(t, []test{
		{"no policy", "any amount is allowed", nil, 3, false},
		{"too much", "the device has 8", nil, 9, true},
		{"within the range", "4 is the largest amount", &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: amounts(1), Max: amounts(4)}}, 4, false},
		{"out of the range", "4 is the largest amount", &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: amounts(1), Max: amounts(4)}}, 5, true},
		{"faulty policy", "a step needs a minimum", &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Step: amounts(2)}}, 2, true},
	}, func(t *testing.T, c test) {
		slice := privateSlice("n", "d")
		slice.Spec.Devices[0].AllowMultipleAllocations = new(true)
		slice.Spec.Devices[0].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: amount(8), RequestPolicy: c.policy}, "links": {Value: amount(1)}}
		inventory := NewInventory([]*resourcev1.ResourceSlice{slice})
		s := NewAllocator(NewLedger(inventory), nil, nil, Options{}).Compile()
		var want []resourcev1.QualifiedName
		if c.full {
			want = []resourcev1.QualifiedName{"memory"}
		}
		require.Equal(t, want, s.fullCapacities(&inventory.byNode["n"][0].devices[0], capacities{"memory": amount(c.asks)}))
	})
}

// What a request takes of a capacity that it does not name.
func TestUnaskedCapacity(t *testing.T) {
	four, one := resource.MustParse("4"), resource.MustParse("1")
	type test struct {
		name, why string
		policy    *resourcev1.CapacityRequestPolicy
		taken     string
	}
	testkit.Run(t, []test{
		{"no policy", "all of it", nil, "8"},
		{"default", "the default", &resourcev1.CapacityRequestPolicy{Default: &four}, "4"},
		{"no default", "all of it", &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &one}}, "8"},
	}, func(t *testing.T, c test) {
		object := &resourcev1.Device{Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("8"), RequestPolicy: c.policy}}}
		taken, ok, err := new(Search).consumption(&device{object: object}, nil)
		require.NoError(t, err)
		require.True(t, ok)
		amount := taken["memory"]
		require.Equal(t, c.taken, amount.String())
	})
}

// Each device is explained alone: what one device consumes is neither missing for the next, nor given back to it.
func TestExplainsCountersAlone(t *testing.T) {
	for amount, left := range map[string]int{"1": 3, "2": 0} {
		slice := privateSlice("n", "a", "b", "c")
		counters := func(amount string) map[string]resourcev1.Counter {
			return map[string]resourcev1.Counter{"c": {Value: resource.MustParse(amount)}}
		}
		for k := range slice.Spec.Devices {
			slice.Spec.Devices[k].ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: counters(amount)}}
		}
		sets := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "sets"}, Spec: slice.Spec}
		sets.Spec.Devices, sets.Spec.SharedCounters = nil, []resourcev1.CounterSet{{Name: "set", Counters: counters("1")}}
		slice.Spec.Pool.ResourceSliceCount, sets.Spec.Pool.ResourceSliceCount = 2, 2
		s := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{slice, sets})), nil, nil, Options{}).Compile()
		out, _ := s.explainRequest(&claimAsk{}, &request{count: 2}, s.allocator.view(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
		require.Equal(t, []int{3, left}, []int{out.Devices, out.Left}, amount)
	}
}

// For want of any capacity those are to blame who consume some.
func TestBlameForAnyCapacity(t *testing.T) {
	slice := privateSlice("n", "d")
	inventory := NewInventory([]*resourcev1.ResourceSlice{slice})
	l := NewLedger(inventory)
	for k, consumed := range []capacities{nil, {"memory": resource.MustParse("1")}} {
		share := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: "n", Device: "d", ConsumedCapacity: consumed}
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("c", k)}}
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{share}}}
		l.Add(c, c.Status.Allocation)
	}
	s := NewAllocator(l, nil, nil, Options{}).Compile()
	require.Equal(t, []string{"default/c1"}, s.appendBlamed(nil, &failure{step: stepCapacity}, candidate{device: &inventory.byNode["n"][0].devices[0]}))
}

// An allocation can be used where the selectors of all its slices hold: their fields and their labels.
func TestSelectorOfSlices(t *testing.T) {
	requirement := func(key, value string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}
	}
	var published []*resourcev1.ResourceSlice
	for _, value := range []string{"a", "b"} {
		s := privateSlice("pool-"+value, "d")
		s.Spec.NodeName = nil
		s.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{requirement("metadata.name", value)}, MatchExpressions: []v1.NodeSelectorRequirement{requirement("zone", value), requirement("rack", "r")}}}}
		published = append(published, s)
	}
	inventory := NewInventory(published)
	s := NewAllocator(NewLedger(inventory), nil, nil, Options{}).Compile(&resourcev1.ResourceClaim{})
	for _, x := range inventory.open {
		s.choices = append(s.choices, choice{candidate: candidate{device: &x.devices[0]}})
	}
	got, err := s.nodeSelector(0)
	require.NoError(t, err)
	require.Equal(t, &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields:      []v1.NodeSelectorRequirement{requirement("metadata.name", "a"), requirement("metadata.name", "b")},
		MatchExpressions: []v1.NodeSelectorRequirement{requirement("zone", "a"), requirement("rack", "r"), requirement("zone", "b")},
	}}}, got)
}

// Devices that are held in different ways are not alike.
func TestHeldDevicesDiffer(t *testing.T) {
	share, ways := new(types.UID("x")), map[string]string{}
	for name, r := range map[string]resourcev1.DeviceRequestAllocationResult{
		"free": {Driver: "other"}, "whole": {}, "share": {ShareID: share}, "share of memory": {ShareID: share, ConsumedCapacity: capacities{"memory": resource.MustParse("1")}},
		"share of more": {ShareID: share, ConsumedCapacity: capacities{"memory": resource.MustParse("2")}}, "share of links": {ShareID: share, ConsumedCapacity: capacities{"links": resource.MustParse("1")}},
	} {
		inventory := NewInventory([]*resourcev1.ResourceSlice{privateSlice("n", "d")})
		l := NewLedger(inventory)
		if r.Driver == "" {
			r.Driver = "example.com"
		}
		r.Pool, r.Device = "n", "d"
		l.Add(nil, &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}})
		s := NewAllocator(l, nil, nil, Options{}).Compile()
		s.shape = s.allocator.newShape(s)
		b, ok := s.signContent(nil, &inventory.byNode["n"][0].devices[0])
		require.True(t, ok)
		require.Empty(t, ways[string(b)], name)
		ways[string(b)] = name
	}
}

// sharing compiles every text to the selector of devices that allow several allocations.
type sharing struct{}

func (sharing) Compile(string) (Selector, error) { return sharing{}, nil }
func (sharing) Matches(d Device) (bool, error)   { return d.AllowMultipleAllocations, nil }

// The answer of a selector about a device that shares is not the answer about the device of an extended resource.
func TestOfferedAsSingle(t *testing.T) {
	slice := privateSlice("n", "d")
	slice.Spec.Devices[0].AllowMultipleAllocations = new(true)
	inventory := NewInventory([]*resourcev1.ResourceSlice{slice})
	a := NewAllocator(NewLedger(inventory), nil, sharing{}, Options{})
	ok, err := a.matches(a.program("shares"), &inventory.byNode["n"][0].devices[0])
	require.NoError(t, err)
	require.True(t, ok)
	class := &resourcev1.DeviceClass{}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "shares"}}}
	count, _ := a.Offered(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, class)
	require.Zero(t, count)
}

// A state keeps a limited number of errors. Further errors have the verdict and the text of the last one.
func TestManyErrors(t *testing.T) {
	s := &state{}
	for k := firstError; k < lastError; k++ {
		require.Equal(t, k, s.fail(fmt.Errorf("error %d", k)))
	}
	require.Equal(t, firstError, s.fail(fmt.Errorf("error %d", firstError)), "the error is known")
	require.Equal(t, lastError-1, s.fail(fmt.Errorf("one more")))
	require.Equal(t, []string{fmt.Sprintf("error %d", lastError-1)}, s.Reasons(lastError-1))
	require.Nil(t, s.Reasons(lastError))
	require.Nil(t, s.Reasons(firstError-1))
}

// The selectors after the last that is explained count as one test, which comes after all other selectors.
func TestManySelectors(t *testing.T) {
	inventory := NewInventory([]*resourcev1.ResourceSlice{privateSlice("n", "d")})
	a := NewAllocator(NewLedger(inventory), nil, sharing{}, Options{})
	r := &request{all: true}
	var want []Refusal
	for k := range maxSelectors + 2 {
		text := fmt.Sprintf("x%03d", 999-k) // by text alone the order is the other way round
		r.selectors = append(r.selectors, selectorRef{a.program(text), "claim c", k})
		if k < maxSelectors {
			want = append(want, Refusal{Test: "selector of claim c: " + text, Devices: 1, Names: []string{"d"}})
		}
	}
	want = append(want, Refusal{Test: "one of 2 more selectors", Devices: 1, Names: []string{"d"}})
	out, _ := a.Compile().explainRequest(&claimAsk{}, r, a.view(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	require.Equal(t, 1, out.Wants, "no device matches")
	for k := range out.Refused {
		out.Refused[k].Decisive = false
	}
	require.Equal(t, want, out.Refused)

	// a device that fails none but the selectors which are not explained does not match either
	for k := range maxSelectors {
		r.selectors[k].program.compiled, r.selectors[k].program.answers[inventory.byNode["n"][0].devices[0].content] = true, true
	}
	list := a.Compile().failures(r, a.views["n"].pools[0], &inventory.byNode["n"][0].devices[0], a.views["n"].node)
	require.Len(t, list, 1)
	require.Greater(t, list[0].step, stepUse)
	require.Less(t, list[0].step, stepReach)
}

// A device has one signature, whatever the order in which a map yields the capacities that are consumed.
func TestSignatureOfConsumption(t *testing.T) {
	consumed := capacities{}
	for k := range 8 {
		consumed[resourcev1.QualifiedName(fmt.Sprint("c", k))] = *resource.NewQuantity(int64(k), resource.DecimalSI)
	}
	inventory := NewInventory([]*resourcev1.ResourceSlice{privateSlice("n", "d")})
	l := NewLedger(inventory)
	l.Add(nil, &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Driver: "example.com", Pool: "n", Device: "d", ShareID: new(types.UID("x")), ConsumedCapacity: consumed}}}})
	s := NewAllocator(l, nil, nil, Options{}).Compile()
	s.shape = s.allocator.newShape(s)
	texts := map[string]bool{}
	for range 100 {
		b, ok := s.signContent(nil, &inventory.byNode["n"][0].devices[0])
		require.True(t, ok)
		texts[string(b)] = true
	}
	require.Len(t, texts, 1)
}
