package devices

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// U9.10: a node offers the devices of the slices that reach the node. The score of kube-scheduler v1.36.3 shows the same numbers.
func TestOffered(t *testing.T) {
	node := func(name string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": name}}}
	}
	rack := func(op v1.NodeSelectorOperator, values ...string) *v1.NodeSelector {
		return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "rack", Operator: op, Values: values}}}}}
	}
	yes, no, n1 := true, false, "n1"
	each := func(change func(k int, d *resourcev1.Device)) (out []resourcev1.Device) {
		for k := range 4 {
			d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k)}
			change(k, &d)
			out = append(out, d)
		}
		return out
	}
	four := each(func(int, *resourcev1.Device) {})
	type test struct {
		name, why string
		spec      resourcev1.ResourceSliceSpec
		want      [2]int64 // n1 and n2
	}
	testkit.Run(t, []test{
		{"no selection", "counts everywhere", resourcev1.ResourceSliceSpec{Devices: four}, [2]int64{4, 4}},
		{"node", "one node", resourcev1.ResourceSliceSpec{NodeName: &n1, Devices: four}, [2]int64{4, 0}},
		{"all", "all nodes", resourcev1.ResourceSliceSpec{AllNodes: &yes, Devices: four}, [2]int64{4, 4}},
		{"not all", "no selection", resourcev1.ResourceSliceSpec{AllNodes: &no, Devices: four}, [2]int64{4, 4}},
		{"selector", "matches n2", resourcev1.ResourceSliceSpec{NodeSelector: rack(v1.NodeSelectorOpNotIn, "n1"), Devices: four}, [2]int64{0, 4}},
		{"selector that fails", "an operator that nobody knows", resourcev1.ResourceSliceSpec{NodeSelector: rack("Like", "n1"), Devices: four}, [2]int64{0, 0}},
		{"each device", "two devices of n1, two of all nodes", resourcev1.ResourceSliceSpec{PerDeviceNodeSelection: &yes, Devices: each(func(k int, d *resourcev1.Device) {
			if k < 2 {
				d.NodeName = &n1
			} else {
				d.AllNodes = &yes
			}
		})}, [2]int64{4, 2}},
		{"each device, none set", "reaches nothing", resourcev1.ResourceSliceSpec{PerDeviceNodeSelection: &yes, Devices: four}, [2]int64{0, 0}},
		{"beside counters", "the devices of a slice with counters count", resourcev1.ResourceSliceSpec{NodeName: &n1, Devices: four, SharedCounters: []resourcev1.CounterSet{{Name: "c"}}}, [2]int64{4, 0}},
	}, func(t *testing.T, c test) {
		c.spec.Driver, c.spec.Pool = "gpu.example.com", resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1}
		ledger := NewLedger(NewInventory([]*resourcev1.ResourceSlice{{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: c.spec}}))
		ledger.Add(nil, &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "gpu.example.com", Pool: "p", Device: "gpu-2"}}}})
		a := NewAllocator(ledger, func(string) *resourcev1.DeviceClass { return nil }, single{}, Options{})
		for k, name := range []string{"n1", "n2"} {
			count, allocated := a.Offered(node(name), &resourcev1.DeviceClass{})
			require.Equal(t, c.want[k], count, name)
			require.Equal(t, count > 0, allocated == 1, name)
		}
	})
}

// single is a compiler of one expression: "single" matches devices that allow one allocation, any other fails.
type single struct{}

func (single) Compile(text string) (Selector, error) {
	if text != "single" {
		return nil, fmt.Errorf("%q is not known", text)
	}
	return single{}, nil
}

func (single) Matches(d Device) (bool, error) { return !d.AllowMultipleAllocations, nil }

// Selectors see a device that allows one allocation; a selector that fails offers nothing.
func TestOfferedSelectors(t *testing.T) {
	yes := true
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{AllNodes: &yes, Devices: []resourcev1.Device{{Name: "shared", AllowMultipleAllocations: &yes}, {Name: "own"}}}}
	a := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{slice})), func(string) *resourcev1.DeviceClass { return nil }, single{}, Options{})
	offered := func(selectors ...resourcev1.DeviceSelector) int64 {
		count, _ := a.Offered(&v1.Node{}, &resourcev1.DeviceClass{Spec: resourcev1.DeviceClassSpec{Selectors: selectors}})
		return count
	}
	cel := func(text string) resourcev1.DeviceSelector {
		return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: text}}
	}
	require.Equal(t, []int64{2, 2, 0, 0}, []int64{offered(), offered(cel("single")), offered(cel("other")), offered(resourcev1.DeviceSelector{})})
}

// sound is a compiler whose selectors match every device of the driver "sound" and fail for every other device.
type sound struct{}

func (sound) Compile(string) (Selector, error) { return sound{}, nil }

func (sound) Matches(d Device) (bool, error) {
	if d.Driver != "sound" {
		return false, fmt.Errorf("driver %q is not known", d.Driver)
	}
	return true, nil
}

// A selector that fails in one slice takes away what the other slices offer.
func TestOfferedBesideAFault(t *testing.T) {
	yes := true
	faulty := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "rack", Operator: "Like", Values: []string{"n"}}}}}}
	type test struct {
		name, why string
		spec      resourcev1.ResourceSliceSpec
		want      int64
	}
	testkit.Run(t, []test{
		{"no fault", "both slices offer", resourcev1.ResourceSliceSpec{Driver: "sound", AllNodes: &yes, Devices: []resourcev1.Device{{Name: "d"}}}, 3},
		{"slice", "the node selector of the slice fails", resourcev1.ResourceSliceSpec{Driver: "sound", NodeSelector: faulty, Devices: []resourcev1.Device{{Name: "d"}}}, 0},
		{"device", "the node selector of the device fails", resourcev1.ResourceSliceSpec{Driver: "sound", PerDeviceNodeSelection: &yes, Devices: []resourcev1.Device{{Name: "d", NodeSelector: faulty}}}, 0},
		{"class", "the selector of the class fails for the device", resourcev1.ResourceSliceSpec{Driver: "other", AllNodes: &yes, Devices: []resourcev1.Device{{Name: "d"}}}, 0},
	}, func(t *testing.T, c test) {
		good := resourcev1.ResourceSliceSpec{Driver: "sound", AllNodes: &yes, Devices: []resourcev1.Device{{Name: "a"}, {Name: "b"}}}
		inventory := NewInventory([]*resourcev1.ResourceSlice{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: good}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: c.spec}})
		a := NewAllocator(NewLedger(inventory), nil, sound{}, Options{})
		class := &resourcev1.DeviceClass{}
		class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "x"}}}
		count, _ := a.Offered(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, class)
		require.Equal(t, c.want, count)
	})
}
