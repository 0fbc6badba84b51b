package devices

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/conformance/real/held"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/release"
)

// edgeAmounts are amounts of everyday use, then those at the edges of int64, of thousandths in int64, and of their notations.
var edgeAmounts = []string{
	"1", "2", "3", "5", "10", "0", "100m", "500m", "1500m", "2500m", "1Ki", "1.5Ki", "512", "1e3", "5e-1", "1k", "100", "1n", "555555u", "-1", "-3", "-500m",
	"9223372036854775807", "9223372036854775806", "4611686018427387904", "9223372036854775808", "18446744073709551616", "18446744073709551617",
	"10E", "20E", "30E", "-20E", "8Ei", "7.5Gi", "-9223372036854775807", "-9223372036854775808",
	"9P", "10P", "9223372036854775", "9223372036854776", "9223372036854775807m", "-9223372036854775807m", "9223372036854775807500m",
}

var edgeCounts = []int64{1, 1, 1, 2, 3, 0, -1, 31, 32, 33, 1 << 62, 1<<63 - 1, -1 << 62}

// edgeWorld is a pool of node n1 and claims.
type edgeWorld struct {
	fractional bool // the gate DRAFractionalCapacityRange is on
	slices     []*resourcev1.ResourceSlice
	running    []*resourcev1.ResourceClaim
	claims     []*resourcev1.ResourceClaim
}

func edgeAmount(s *trial.Source) resource.Quantity {
	if s.Once(2) {
		return resource.MustParse(edgeAmounts[s.N(len(edgeAmounts))])
	}
	return resource.MustParse(edgeAmounts[s.N(10)])
}

// less compares copies: Cmp changes the form of the amount that it is called on.
func less(a, b resource.Quantity) bool { return a.Cmp(b) < 0 }

func edgePolicy(s *trial.Source) *resourcev1.CapacityRequestPolicy {
	if !s.Once(4) {
		p := &resourcev1.CapacityRequestPolicy{}
		optional := func(once int) *resource.Quantity {
			if s.Once(once) {
				return new(edgeAmount(s))
			}
			return nil
		}
		if s.Once(3) { // kube-scheduler compares a default with an amount as Go values: no amounts that have several
			p.Default = new(resource.MustParse(append(edgeAmounts[:10:10], "20E")[s.N(11)]))
		}
		if s.Once(5) {
			for range 1 + s.N(3) {
				p.ValidValues = append(p.ValidValues, edgeAmount(s))
			}
			return p
		}
		p.ValidRange = &resourcev1.CapacityRequestPolicyRange{Min: new(edgeAmount(s)), Max: optional(3)}
		if !s.Once(4) {
			p.ValidRange.Step = new(edgeAmount(s))
		}
		if p.Default != nil && p.ValidRange.Max != nil && less(*p.ValidRange.Max, *p.Default) {
			p.Default = nil // refused by the API server
		}
		return p
	}
	return nil
}

func newEdgeWorld(s *trial.Source) *edgeWorld {
	w := &edgeWorld{fractional: s.Once(3)}
	pool := resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1}
	main := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s1"}, Spec: resourcev1.ResourceSliceSpec{Driver: "drv", Pool: pool, NodeName: new("n1")}}
	w.slices = append(w.slices, main)
	counters := s.Once(3)
	if counters {
		main.Spec.Pool.ResourceSliceCount = 2
		set := resourcev1.CounterSet{Name: "a", Counters: map[string]resourcev1.Counter{"m": {Value: edgeAmount(s)}, "n": {Value: edgeAmount(s)}}}
		w.slices = append(w.slices, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s0"}, Spec: resourcev1.ResourceSliceSpec{Driver: "drv", Pool: main.Spec.Pool, NodeName: new("n1"), SharedCounters: []resourcev1.CounterSet{set}}})
	}
	names := []resourcev1.QualifiedName{"mem", "bw"}[:s.N(3)]
	for k := range 1 + s.N(3) {
		d := resourcev1.Device{Name: fmt.Sprint("d", k)}
		if !s.Once(4) {
			d.AllowMultipleAllocations = new(true)
		}
		for _, name := range names {
			if d.Capacity == nil {
				d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
			}
			d.Capacity[name] = resourcev1.DeviceCapacity{Value: edgeAmount(s), RequestPolicy: edgePolicy(s)}
		}
		if counters && !s.Once(3) {
			use := map[string]resourcev1.Counter{"m": {Value: edgeAmount(s)}}
			if s.Once(2) {
				use["n"] = resourcev1.Counter{Value: edgeAmount(s)}
			}
			d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "a", Counters: use}}
		}
		main.Spec.Devices = append(main.Spec.Devices, d)
		for range s.N(3) * s.N(2) {
			r := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: "drv", Pool: "p", Device: d.Name}
			if d.AllowMultipleAllocations != nil {
				r.ShareID = new(types.UID(fmt.Sprint("share-", len(w.running))))
				for _, name := range names {
					if r.ConsumedCapacity == nil {
						r.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{}
					}
					r.ConsumedCapacity[name] = edgeAmount(s)
				}
			}
			c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("running-", len(w.running))}}
			c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
			w.running = append(w.running, c)
		}
	}
	many := int64(1) // each count of the case; the sum passes the edge of int64
	if s.Once(20) {
		many = 1 << 62
	}
	for k := range 1 + s.N(2) {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("k", k)}}
		for j := range 1 + s.N(4) {
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, edgeRequest(s, fmt.Sprint("r", j), names, many))
		}
		w.claims = append(w.claims, c)
	}
	return w
}

func edgeRequest(s *trial.Source, name string, capacities []resourcev1.QualifiedName, count int64) resourcev1.DeviceRequest {
	e := resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
	if s.Once(3) {
		e.Count = edgeCounts[s.N(len(edgeCounts))]
	}
	if s.Once(6) {
		e.AllocationMode, e.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	for _, capacity := range capacities {
		if !s.Once(4) {
			if e.Capacity == nil {
				e.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{}}
			}
			e.Capacity.Requests[capacity] = edgeAmount(s)
		}
	}
	if !s.Once(6) {
		return resourcev1.DeviceRequest{Name: name, Exactly: &e}
	}
	r := resourcev1.DeviceRequest{Name: name}
	for k := range 1 + s.N(2) {
		r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{Name: fmt.Sprint("s", k), DeviceClassName: "c", AllocationMode: e.AllocationMode, Count: e.Count, Capacity: e.Capacity})
		if s.Once(2) {
			e.Count, e.AllocationMode = edgeCounts[s.N(len(edgeCounts))], resourcev1.DeviceAllocationModeExactCount
		}
	}
	return r
}

// Capacities, counters and numbers of devices at the edges of int64: the same devices, amounts in the same notation, and the same
// errors. Where the real allocator panics, podberth does not.
func TestEdges(t *testing.T) {
	must := []string{"solved", "none", "error", "panic of the real allocator"}
	if trial.Linked == release.V1_36 {
		must = append(must, "error: allocation max size exceeded")
	}
	trial.Run(t, 5_000, 160, playEdges, must...)
}

// FuzzEdges is TestEdges with go's fuzzer: go test -fuzz FuzzEdges.
func FuzzEdges(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 1, 1, 2, 1, 0, 0, 0, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := playEdges(trial.NewSource(data)); err != nil {
			t.Fatal(err)
		}
	})
}

func (w *edgeWorld) text() (string, error) {
	b, err := yaml.Marshal([]any{w.slices, w.running, w.claims})
	return string(b), err
}

func playEdges(s *trial.Source) error {
	again, untouched := s.Again(), s.Again()
	w, theirs := newEdgeWorld(s), newEdgeWorld(again) // neither side can disturb the other
	there := edgesThere(theirs)
	here := edgesHere(w)
	before, err := newEdgeWorld(untouched).text()
	if err != nil {
		return err
	}
	if after, err := theirs.text(); err != nil || after != before {
		s.Count("the real allocator modified its input") // a known difference: amounts whose text is no whole number
		return err
	}
	outcome, _, _ := strings.Cut(there, " ")
	switch {
	case strings.HasPrefix(there, "panic"):
		outcome = "panic of the real allocator"
	case strings.Contains(there, context.DeadlineExceeded.Error()) || cut(here):
		outcome = "slow"
	case strings.HasPrefix(there, "error: "):
		outcome = "error"
	}
	s.Count(outcome)
	if strings.HasPrefix(there, "error: allocation max") {
		s.Count(there)
	}
	if outcome == "panic of the real allocator" || outcome == "slow" || here == there || first && strings.Contains(here, tooMany) {
		return nil
	}
	// the real allocator meets the capacities of a device in any order
	if at := strings.Index(here, ": capacity "); at >= 0 && strings.HasPrefix(there, here[:at]) && strings.Contains(there, ": capacity ") {
		return nil
	}
	s.Note("%s", before)
	return fmt.Errorf("fractional %v\nhere:\n%s\nthere:\n%s", w.fractional, here, there)
}

var edgeNode = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}

var edgeClass = &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}

type edgeClasses struct{}

func (edgeClasses) List() ([]*resourcev1.DeviceClass, error) {
	return []*resourcev1.DeviceClass{edgeClass}, nil
}

func (edgeClasses) Get(string) (*resourcev1.DeviceClass, error) { return edgeClass, nil }

func edgesHere(w *edgeWorld) string {
	ledger := devices.NewLedger(devices.NewInventory(w.slices), w.running...)
	options := devices.Options{Steps: steps, Release: trial.Linked, FractionalRange: w.fractional}
	search := devices.NewAllocator(ledger, func(string) *resourcev1.DeviceClass { return edgeClass }, compiler, options).Compile(w.claims...)
	results, ok, err := search.Allocate(edgeNode)
	search.Explain(edgeNode) // must not panic
	return edgeText(results, ok, err)
}

func edgesThere(w *edgeWorld) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint("panic: ", r)
		}
	}()
	f := structured.Features{AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true}
	setFractional(&f, w.fractional)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	a, err := structured.NewAllocator(ctx, f, held.State(w.running), edgeClasses{}, w.slices, edgeCache)
	if err != nil {
		return "error: " + err.Error()
	}
	results, err := a.Allocate(ctx, edgeNode, w.claims)
	return edgeText(results, results != nil && err == nil, err)
}

var edgeCache = dracel.NewCache(10, dracel.Features{EnableConsumableCapacity: true})

func edgeText(results []resourcev1.AllocationResult, ok bool, err error) string {
	if err != nil {
		if errors.Is(err, devices.ErrSteps) {
			return devices.ErrSteps.Error()
		}
		return "error: " + err.Error()
	}
	if !ok {
		return "none"
	}
	out := "solved "
	for _, r := range results {
		for _, d := range r.Devices.Results {
			out += fmt.Sprintf("%s=%s", d.Request, d.Device)
			for _, name := range []resourcev1.QualifiedName{"mem", "bw"} {
				if q, ok := d.ConsumedCapacity[name]; ok {
					out += fmt.Sprintf(" %s %s %s", name, q.String(), q.Format)
				}
			}
			out += "; "
		}
	}
	return out
}
