package devices_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/release"
)

// Complete finds an allocation exactly when trying every choice of devices finds one.
func TestComplete(t *testing.T) {
	racks := 4000
	if testing.Short() {
		racks = 800
	}
	possible, impossible, beyond := 0, 0, 0
	for seed := range racks {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 3)), clean: true, nodes: list{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}}
		slices := r.slices()
		var running, wanted []*resourcev1.ResourceClaim
		ledger := devices.NewLedger(devices.NewInventory(slices))
		allocator := devices.NewAllocator(ledger, class, equals{}, devices.Options{Steps: 100_000, Release: release.Versions()[2+seed%2]})
		for k := range r.IntN(3) {
			c := r.claim(fmt.Sprintf("running-%d", k))
			if results, ok, err := allocator.Compile(c).Allocate(r.nodes[0]); ok && err == nil {
				c = devices.Reserved(c, &results[0])
				running = append(running, c)
				ledger.Add(c, c.Status.Allocation)
			}
		}
		for k := range 1 + r.IntN(2) {
			wanted = append(wanted, r.claim(fmt.Sprintf("wanted-%d", k)))
		}
		judge := &judge{slices: slices}
		for _, c := range running {
			for _, d := range c.Status.Allocation.Devices.Results {
				judge.used = append(judge.used, judge.find(d.Device, d.ConsumedCapacity))
			}
		}
		want, broken := judge.possible(wanted)
		if broken {
			continue // a selector fails
		}
		search := allocator.Compile(wanted...)
		_, quirky, _ := search.Allocate(r.nodes[0])
		results, ok, err := search.Complete(r.nodes[0])
		require.NoError(t, err, "seed %d", seed)
		if quirky {
			require.True(t, ok, "seed %d", seed)
			possible++
			continue // v1.36 may allocate against the rules
		}
		require.Equal(t, want, ok, "seed %d", seed)
		switch {
		case !ok:
			impossible++
		default:
			beyond++
			require.Len(t, results, len(wanted))
		}
	}
	require.Greater(t, possible, racks/10)
	require.Greater(t, impossible, racks/10)
	require.Positive(t, beyond, "v1.36 finds every allocation")
	t.Logf("v1.36 allocates %d, Complete finds %d more, %d are impossible", possible, beyond, impossible)
}

// judge tries every choice of the devices of a rack with one node.
type judge struct {
	slices []*resourcev1.ResourceSlice
	used   []use
}

// use is one allocation of a device, with the bandwidth that it takes.
type use struct {
	device *resourcev1.Device
	takes  int64
}

func (j *judge) devices() (out []*resourcev1.Device) {
	for _, s := range j.slices {
		for k := range s.Spec.Devices {
			out = append(out, &s.Spec.Devices[k])
		}
	}
	return out
}

func (j *judge) find(name string, consumed map[resourcev1.QualifiedName]resource.Quantity) use {
	for _, d := range j.devices() {
		if d.Name == name {
			q := consumed["bw"]
			return use{d, q.Value()}
		}
	}
	panic(name)
}

var errSelector = errors.New("a selector fails")

func (j *judge) possible(claims []*resourcev1.ResourceClaim) (ok, broken bool) {
	defer func() {
		if err := recover(); err != nil {
			if err != errSelector {
				panic(err)
			}
			ok, broken = false, true
		}
	}()
	for _, c := range claims { // every selector on every device: a failure is noticed whatever the order
		for _, q := range c.Spec.Devices.Requests {
			for _, s := range selectorsOf(&q) {
				for _, d := range j.devices() {
					matches(d, s)
				}
			}
		}
	}
	return j.try(claims, 0, nil), false
}

func selectorsOf(q *resourcev1.DeviceRequest) (out []resourcev1.DeviceSelector) {
	if q.Exactly != nil {
		return q.Exactly.Selectors
	}
	for _, sub := range q.FirstAvailable {
		out = append(out, sub.Selectors...)
	}
	return out
}

func matches(d *resourcev1.Device, s resourcev1.DeviceSelector) bool {
	compiled, err := equals{}.Compile(s.CEL.Expression)
	if err != nil {
		panic(errSelector)
	}
	ok, err := compiled.Matches(devices.Device{Attributes: d.Attributes})
	if err != nil {
		panic(errSelector)
	}
	return ok
}

// try serves the requests of the first claim from at on, with the devices that the claim has already.
func (j *judge) try(claims []*resourcev1.ResourceClaim, at int, got []*resourcev1.Device) bool {
	if len(claims) == 0 {
		return true
	}
	c := claims[0]
	if at == len(c.Spec.Devices.Requests) {
		return j.try(claims[1:], 0, nil)
	}
	q := &c.Spec.Devices.Requests[at]
	if e := q.Exactly; e != nil {
		n := int(e.Count)
		if e.AllocationMode == resourcev1.DeviceAllocationModeAll {
			n = -1
		}
		return j.choose(claims, at, got, e.Selectors, amountOf(e.Capacity), n, 0)
	}
	for k := range q.FirstAvailable {
		if sub := &q.FirstAvailable[k]; j.choose(claims, at, got, sub.Selectors, amountOf(sub.Capacity), int(sub.Count), 0) {
			return true
		}
	}
	return false
}

func amountOf(c *resourcev1.CapacityRequirements) int64 {
	if c == nil {
		return -1
	}
	q := c.Requests["bw"]
	return q.Value()
}

// choose takes n more devices from number first on; all of them with n < 0.
func (j *judge) choose(claims []*resourcev1.ResourceClaim, at int, got []*resourcev1.Device, selectors []resourcev1.DeviceSelector, amount int64, n, first int) bool {
	all := j.devices()
	if n < 0 {
		used, mine := j.used, got
		defer func() { j.used = used }()
		for _, d := range all {
			if !selected(d, selectors) || !suits(d, amount) {
				continue
			}
			if !j.free(d, amount) || !constrained(claims[0], mine, d) {
				return false
			}
			j.used, mine = append(j.used[:len(j.used):len(j.used)], use{d, takes(d, amount)}), append(mine[:len(mine):len(mine)], d)
		}
		return len(mine) > len(got) && j.try(claims, at+1, mine)
	}
	if n == 0 {
		return j.try(claims, at+1, got)
	}
	for k := first; k < len(all); k++ {
		d := all[k]
		if !selected(d, selectors) || !suits(d, amount) || !j.free(d, amount) || !constrained(claims[0], got, d) {
			continue
		}
		j.used = append(j.used, use{d, takes(d, amount)})
		ok := j.choose(claims, at, append(got[:len(got):len(got)], d), selectors, amount, n-1, k+1)
		j.used = j.used[:len(j.used)-1]
		if ok {
			return true
		}
	}
	return false
}

func selected(d *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool {
	for _, s := range selectors {
		if !matches(d, s) {
			return false
		}
	}
	return true
}

func bandwidth(d *resourcev1.Device) (int64, bool) {
	c, ok := d.Capacity["bw"]
	return c.Value.Value(), ok
}

// suits reports whether the device has the capacity at all.
func suits(d *resourcev1.Device, amount int64) bool {
	have, ok := bandwidth(d)
	return amount < 0 || ok && amount <= have
}

// takes returns the bandwidth that a share consumes.
func takes(d *resourcev1.Device, amount int64) int64 {
	if have, ok := bandwidth(d); ok && amount < 0 {
		return have
	}
	return max(amount, 0)
}

// free reports whether the device can be used once more.
func (j *judge) free(d *resourcev1.Device, amount int64) bool {
	if len(d.Taints) > 0 {
		return false
	}
	sum, uses := takes(d, amount), 0
	for _, u := range j.used {
		if u.device == d {
			uses, sum = uses+1, sum+u.takes
		}
	}
	if have, ok := bandwidth(d); ok && d.AllowMultipleAllocations != nil && sum > have {
		return false
	}
	if d.AllowMultipleAllocations == nil && uses > 0 {
		return false
	}
	if uses > 0 || len(d.ConsumesCounters) == 0 {
		return true
	}
	spent := map[*resourcev1.Device]bool{d: true}
	for _, u := range j.used {
		spent[u.device] = true
	}
	total := int64(0)
	for d := range spent {
		for _, use := range d.ConsumesCounters {
			q := use.Counters["mem"].Value
			total += q.Value()
		}
	}
	for _, s := range j.slices {
		for _, set := range s.Spec.SharedCounters {
			q := set.Counters["mem"].Value
			return total <= q.Value()
		}
	}
	panic("no counters")
}

// constrained reports whether the device keeps the constraints of the claim beside the devices that the claim has.
func constrained(c *resourcev1.ResourceClaim, got []*resourcev1.Device, d *resourcev1.Device) bool {
	for _, x := range c.Spec.Devices.Constraints {
		a, ok := d.Attributes["numa"]
		if !ok {
			return false
		}
		for _, other := range got {
			same := *other.Attributes["numa"].StringValue == *a.StringValue
			if same != (x.MatchAttribute != nil) {
				return false
			}
		}
	}
	return true
}

// Complete proves at once that 20 equal devices in two halves have no 11 of one half; v1.36's search tries hundreds of
// thousands of combinations.
func TestCompleteEqualDevices(t *testing.T) {
	slice := gpus("n1")
	slice.Spec.Devices = nil
	for k := range 20 {
		numa := int64(k % 2)
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%02d", k), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"numa": {IntValue: &numa}}})
	}
	claim := gpuClaim("web", 11)
	name := resourcev1.FullyQualifiedName("gpu.example.com/numa")
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &name}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice}))
	search := devices.NewAllocator(ledger, class, nil, devices.Options{Steps: 200}).Compile(claim)
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	_, _, err := search.Allocate(node)
	require.ErrorIs(t, err, devices.ErrSteps)
	_, ok, err := search.Complete(node)
	require.NoError(t, err)
	require.False(t, ok)
}
