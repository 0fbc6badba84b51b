package devices_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
)

// adversary makes nodes with many devices, and claims that are hard to decide on them: nearly enough devices, nearly enough values,
// requests that compete for the same devices, and sometimes a last request that no device meets.
type adversary struct {
	*rand.Rand
	devices int
	errors  bool // selectors may fail on a device
}

func (a *adversary) chance(percent int) bool { return a.IntN(100) < percent }

// node returns the slices of node n1. The attribute g has one value, h a few, s a value for each device.
func (a *adversary) node() []*resourcev1.ResourceSlice {
	few, sets := 2+a.IntN(8), a.IntN(3)
	sharing, capacity, taints := a.chance(30), a.chance(40), a.chance(20)
	pools := 1 + a.IntN(2)
	var out []*resourcev1.ResourceSlice
	for p := range pools {
		s := gpus("n1")
		s.Name, s.Spec.Pool.Name, s.Spec.Devices = fmt.Sprint("n1-", p), fmt.Sprint("n1-", p), nil
		for k := range a.devices / pools {
			d := with(fmt.Sprintf("d%02d", k), "g", "1", "h", fmt.Sprint(k%few), "s", fmt.Sprint(p, "-", k))
			if a.chance(3) {
				delete(d.Attributes, "h")
			}
			if sharing && a.chance(50) {
				d.AllowMultipleAllocations = new(true)
			}
			if capacity {
				d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"bw": {Value: resource.MustParse(fmt.Sprint(1 + a.IntN(4)))}}
			}
			if taints && a.chance(30) {
				d.Taints = []resourcev1.DeviceTaint{{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
			}
			if p == 0 && sets > 0 {
				d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: map[string]resourcev1.Counter{}}}
				for c := range sets {
					d.ConsumesCounters[0].Counters[fmt.Sprint("c", c)] = resourcev1.Counter{Value: resource.MustParse(fmt.Sprint(1 + a.IntN(5)))}
				}
			}
			s.Spec.Devices = append(s.Spec.Devices, d)
		}
		if p == 0 && sets > 0 {
			s.Spec.Pool.ResourceSliceCount = 2
			set := resourcev1.CounterSet{Name: "set", Counters: map[string]resourcev1.Counter{}}
			for c := range sets {
				set.Counters[fmt.Sprint("c", c)] = resourcev1.Counter{Value: resource.MustParse(fmt.Sprint(5 + a.IntN(30)))}
			}
			out = append(out, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1-sets"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: s.Spec.Driver, NodeName: s.Spec.NodeName, Pool: s.Spec.Pool, SharedCounters: []resourcev1.CounterSet{set}}})
		}
		out = append(out, s)
	}
	return out
}

// running holds some devices of the node.
func (a *adversary) running(slices []*resourcev1.ResourceSlice) *resourcev1.ResourceClaim {
	c := gpuClaim("running", 1)
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for _, s := range slices {
		for k := range s.Spec.Devices {
			if a.chance(5) {
				c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
					Request: "gpu", Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Device: s.Spec.Devices[k].Name})
			}
		}
	}
	return c
}

// claim returns a claim of at most 3 kB.
func (a *adversary) claim(name string) *resourcev1.ResourceClaim {
	for {
		c := a.anyClaim(name)
		if text, err := json.Marshal(c); err == nil && len(text) <= 3000 {
			return c
		}
	}
}

func (a *adversary) anyClaim(name string) *resourcev1.ResourceClaim {
	c := gpuClaim(name, 1)
	c.UID, c.Spec.Devices.Requests = types.UID(name), nil
	n := 1 + a.IntN(12)
	largest, first := int64(1+a.IntN(4)), a.chance(40)
	for k := range n {
		q := resourcev1.DeviceRequest{Name: fmt.Sprint("r", k)}
		if first && a.chance(60) {
			for j := range 1 + a.IntN(min(8, 48/n+1)) {
				q.FirstAvailable = append(q.FirstAvailable, resourcev1.DeviceSubRequest{Name: fmt.Sprint("s", j), DeviceClassName: "gpu",
					AllocationMode: a.mode(), Count: 1 + a.Int64N(largest), Selectors: a.selectors(k == n-1), Capacity: a.capacity()})
			}
		} else {
			q.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: a.mode(), Count: 1 + a.Int64N(largest), Selectors: a.selectors(k == n-1), Capacity: a.capacity()}
			if a.chance(3) {
				q.Exactly.AdminAccess = new(true)
			}
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, q)
	}
	for range a.IntN(4) {
		attribute := resourcev1.FullyQualifiedName("gpu.example.com/" + []string{"h", "h", "h", "s", "g"}[a.IntN(5)])
		x := resourcev1.DeviceConstraint{MatchAttribute: &attribute}
		if a.chance(50) {
			x = resourcev1.DeviceConstraint{DistinctAttribute: &attribute}
		}
		if a.chance(60) {
			for k := range n {
				if a.chance(60) {
					x.Requests = append(x.Requests, fmt.Sprint("r", k))
				}
			}
		}
		c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, x)
	}
	return c
}

func (a *adversary) mode() resourcev1.DeviceAllocationMode {
	if a.chance(2) {
		return resourcev1.DeviceAllocationModeAll
	}
	return resourcev1.DeviceAllocationModeExactCount
}

func (a *adversary) selectors(last bool) []resourcev1.DeviceSelector {
	text := ""
	switch {
	case last && a.chance(20):
		text = "g=2"
	case a.errors && a.chance(3):
		text = "h=0" // fails on a device without h
	case a.chance(30):
		text = []string{"g=1", "s=0-3", "s=1-1"}[a.IntN(3)]
	default:
		return nil
	}
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: text}}}
}

func (a *adversary) capacity() *resourcev1.CapacityRequirements {
	if !a.chance(10) {
		return nil
	}
	return &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"bw": resource.MustParse(fmt.Sprint(1 + a.IntN(3)))}}
}

// search returns the search for claims on the node.
func (a *adversary) search(slices []*resourcev1.ResourceSlice, running *resourcev1.ResourceClaim, o devices.Options, patience int, claims ...*resourcev1.ResourceClaim) *devices.Search {
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(slices), running), class, equals{}, o)
	allocator.SetPatience(patience)
	return allocator.Compile(claims...)
}

var n1 = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
