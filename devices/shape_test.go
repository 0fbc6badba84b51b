package devices_test

import (
	"errors"
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
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/release"
)

// equals compiles "NAME=VALUE": the device's attribute NAME has the string VALUE. A device without the attribute is an error.
type equals struct{}

type equalTo struct{ name, value string }

func (equals) Compile(expression string) (devices.Selector, error) {
	name, value, ok := strings.Cut(expression, "=")
	if !ok {
		return nil, errors.New("no comparison")
	}
	return equalTo{name, value}, nil
}

func (e equalTo) Matches(d devices.Device) (bool, error) {
	a, ok := d.Attributes[resourcev1.QualifiedName(e.name)]
	if !ok {
		return false, fmt.Errorf("no such key: %s", e.name)
	}
	return *a.StringValue == e.value, nil
}

// rack makes random inventories of a few nodes whose devices are often alike, and random claims.
type rack struct {
	*rand.Rand
	nodes list
	free  bool // counters that couple nodes may be produced
	clean bool // no pool is incomplete or invalid, and every device belongs to one node
}

type list []*v1.Node

func (l list) Len() int            { return len(l) }
func (l list) Node(i int) *v1.Node { return l[i] }

func (r *rack) chance(percent int) bool { return r.IntN(100) < percent }

func text(s string) *string { return &s }

func (r *rack) slices() (out []*resourcev1.ResourceSlice) {
	yes := true
	for k, n := range r.nodes {
		if r.chance(10) {
			continue
		}
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-a"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "drv", NodeName: &n.Name, Pool: resourcev1.ResourcePool{Name: n.Name, ResourceSliceCount: 1}}}
		for d := range 1 + r.IntN(3) {
			s.Spec.Devices = append(s.Spec.Devices, r.device(fmt.Sprintf("d%d", d)))
		}
		switch {
		case r.chance(30):
			s.Spec.Pool.ResourceSliceCount = 2
			set := resourcev1.CounterSet{Name: "set", Counters: map[string]resourcev1.Counter{"mem": {Value: resource.MustParse(fmt.Sprint(1 + r.IntN(3)))}}}
			out = append(out, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-counters"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "drv", NodeName: s.Spec.NodeName, Pool: s.Spec.Pool, SharedCounters: []resourcev1.CounterSet{set}}})
			for d := range s.Spec.Devices {
				if r.chance(70) {
					s.Spec.Devices[d].ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: map[string]resourcev1.Counter{"mem": {Value: resource.MustParse(fmt.Sprint(1 + r.IntN(2)))}}}}
				}
			}
			if !r.clean && r.chance(20) {
				out = out[:len(out)-1] // an incomplete pool
			}
		case !r.clean && r.chance(10):
			s.Spec.Devices = append(s.Spec.Devices, s.Spec.Devices[0]) // an invalid pool
		}
		if r.free && k == 0 && r.chance(30) {
			s.Spec.Driver = "other"
			if len(r.nodes) > 1 {
				s.Spec.Pool.Name = r.nodes[1].Name // two drivers, one name
			}
		}
		out = append(out, s)
	}
	if !r.clean && r.chance(40) {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "network"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "net", AllNodes: &yes, Pool: resourcev1.ResourcePool{Name: "net", ResourceSliceCount: 1}, Devices: []resourcev1.Device{r.device("x"), r.device("y")}}}
		if r.chance(40) {
			s.Spec.AllNodes, s.Spec.PerDeviceNodeSelection = nil, &yes
			s.Spec.Devices[0].AllNodes, s.Spec.Devices[1].NodeName = &yes, &r.nodes[0].Name
		}
		out = append(out, s)
	}
	return out
}

func (r *rack) device(name string) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"model": {StringValue: text(string(rune('a' + r.IntN(2))))}, "numa": {StringValue: text(string(rune('0' + r.IntN(2))))}, "serial": {StringValue: text(fmt.Sprint(r.Uint32()))}}}
	if r.chance(5) {
		delete(d.Attributes, "numa")
	}
	if r.chance(10) {
		d.Taints = []resourcev1.DeviceTaint{{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	}
	if r.chance(30) {
		yes := true
		d.AllowMultipleAllocations = &yes
		if r.chance(70) {
			d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"bw": {Value: resource.MustParse("4")}}
		}
	}
	if r.chance(5) {
		d.BindingConditions = []string{"ready"}
	}
	return d
}

func (r *rack) claim(name string) *resourcev1.ResourceClaim {
	c := gpuClaim(name, int64(1+r.IntN(2)))
	c.UID = types.UID(name)
	q := c.Spec.Devices.Requests[0].Exactly
	if r.chance(30) {
		q.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: []string{"model=a", "model=b", "numa=0", "broken"}[min(3, r.IntN(20)%7%4)]}}}
	}
	if r.chance(20) {
		q.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"bw": resource.MustParse(fmt.Sprint(1 + r.IntN(3)))}}
	}
	if r.chance(8) {
		q.AllocationMode, q.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	if r.chance(25) {
		sub := func(name string, n int64) resourcev1.DeviceSubRequest {
			return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n, Selectors: q.Selectors}
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: "f", FirstAvailable: []resourcev1.DeviceSubRequest{sub("two", 2), sub("one", 1), sub("none", 0)}})
	}
	if r.chance(25) {
		name := resourcev1.FullyQualifiedName("drv/numa")
		constraint := resourcev1.DeviceConstraint{MatchAttribute: &name}
		if r.chance(40) {
			constraint = resourcev1.DeviceConstraint{DistinctAttribute: &name}
		}
		c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{constraint}
	}
	return c
}

// One allocator that lives through many attempts, allocations and departures answers for every node as a new allocator does,
// and so do nodes of one class.
func TestKeptAnswers(t *testing.T) {
	pods := 12
	racks := 600
	if testing.Short() {
		racks = 100
	}
	fits, shared := 0, 0
	for seed := range racks {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 1)), free: seed%3 == 0}
		fit, same := r.attempts(t, fmt.Sprint("seed ", seed), pods, devices.Options{Release: release.Versions()[2+seed%2]})
		fits, shared = fits+fit, shared+same
	}
	require.Greater(t, fits, racks*pods/2)
	require.Greater(t, shared, racks*pods/2)
}

// attempts compares the answers about some pods one after the other. It returns how many nodes fit, and how many answers equal those of a
// search on the node itself.
func (r *rack) attempts(t *testing.T, name string, pods int, o devices.Options) (fits, shared int) {
	t.Helper()
	for k := range 2 + r.IntN(5) {
		r.nodes = append(r.nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", k)}})
	}
	inventory := devices.NewInventory(r.slices())
	ledger := devices.NewLedger(inventory)
	kept := devices.NewAllocator(ledger, class, equals{}, o)
	var running []*resourcev1.ResourceClaim
	for k := range pods {
		w := &byName{}
		names := []string{}
		for j := range 1 + r.IntN(2) {
			c := r.claim(fmt.Sprintf("c%d-%d", k, j))
			w.list, names = append(w.list, c), append(names, c.Name)
		}
		pod := devices.Compile(user(fmt.Sprintf("p%d", k), names...), w, nil)
		require.Equal(t, filter.Success, pod.Code(), pod.Reason())
		now := pod.Onto(r.nodes, kept, devices.Clock{})
		fresh := pod.Onto(r.nodes, devices.NewAllocator(devices.NewLedger(inventory, running...), class, equals{}, o), devices.Clock{})
		chosen := -1
		for i := range r.nodes {
			got, want := now.Check(i), fresh.Check(i)
			require.Equal(t, fresh.Reasons(want), now.Reasons(got), "%s pod %d node %d", name, k, i)
			if want != 0 {
				continue
			}
			fits++
			chosen = i
			require.Equal(t, fresh.Raw(i), now.Raw(i), "%s pod %d node %d", name, k, i)
			require.Equal(t, fresh.Allocation(i), now.Allocation(i), "%s pod %d node %d", name, k, i)
		}
		for _, i := range r.Perm(len(r.nodes)) { // a search of its own on each node
			search := devices.NewAllocator(ledger, class, equals{}, o).Compile(w.list...)
			results, ok, err := search.Allocate(r.nodes[i])
			if err == nil && now.Check(i) != 0 {
				require.False(t, ok && !r.free, "%s pod %d node %d", name, k, i)
			}
			if ok && now.Check(i) == 0 {
				shared++
				if !r.free {
					require.Equal(t, results, now.Allocation(i).Results, "%s pod %d node %d", name, k, i)
				}
			}
		}
		if chosen >= 0 && r.chance(80) {
			a := now.Allocation(chosen)
			for j, c := range a.Claims {
				c = devices.Reserved(c, &a.Results[j])
				running = append(running, c)
				ledger.Add(c, c.Status.Allocation)
			}
		}
		if len(running) > 0 && r.chance(30) {
			at := r.IntN(len(running))
			ledger.Remove(running[at], running[at].Status.Allocation)
			running = append(running[:at:at], running[at+1:]...)
		}
	}
	return fits, shared
}

// byName has claims by name, in every namespace.
type byName struct {
	world
	list []*resourcev1.ResourceClaim
}

func (c *byName) ResourceClaim(_, name string) *resourcev1.ResourceClaim {
	for _, x := range c.list {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// user is a pod that names claims.
func user(name string, claims ...string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	for k := range claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: claims[k], ResourceClaimName: &claims[k]})
	}
	return pod
}
