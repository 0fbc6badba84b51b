package devices

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podkey"
)

// A search that tries one of several devices that are alike finds what the plain search finds, also where the first device leads nowhere
// and the next is not like it.
func TestTriesDevicesThatDiffer(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	model := resourcev1.FullyQualifiedName("example.com/model")
	for _, c := range []struct {
		models string // of the devices
		want   int    // devices of one model
		ok     bool
	}{{"xyy", 2, true}, {"xxy", 2, true}, {"xyz", 2, false}, {"xyzzy", 2, true}, {"xyyzzz", 3, true}, {"xxyyzz", 3, false}, {"x", 1, true}, {"", 1, false}} {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "example.com", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, NodeName: &node.Name}}
		for k, m := range c.models {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", k),
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: new(string(m))}}})
		}
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
		claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &model}}
		for k := range c.want {
			claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: fmt.Sprint("r", k),
				Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "class", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}})
		}
		class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}
		a := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{slice})), func(string) *resourcev1.DeviceClass { return class }, nil, Options{})
		for _, alike := range []bool{false, true} {
			s := a.Compile(claim)
			if alike {
				s.tried, s.shape = map[int32]int32{}, a.newShape(s)
			}
			results, ok, err := s.Allocate(node)
			require.NoError(t, err)
			require.Equal(t, c.ok, ok, "%+v", c)
			if !ok {
				continue
			}
			got := map[string]bool{}
			for _, r := range results[0].Devices.Results {
				got[string(c.models[r.Device[1]-'0'])] = true
			}
			require.Len(t, got, 1, "%+v", c)
			if alike {
				require.NotEmpty(t, s.tried, "the class of a device is found once")
				classes := map[int32]string{}
				for at, class := range s.tried {
					require.Positive(t, class)
					m := string(c.models[at])
					if known, ok := classes[class]; ok {
						require.Equal(t, known, m, "devices of one class are of one model")
					}
					classes[class] = m
				}
			}
		}
	}
}

// Room for an amount is what other allocations and earlier choices leave.
func TestRoom(t *testing.T) {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "example.com", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, NodeName: new("n")}}
	for _, name := range []string{"d", "e"} {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: name, AllowMultipleAllocations: new(true),
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"bw": {Value: resource.MustParse("10")}, "mem": {Value: resource.MustParse("5")}}})
	}
	ledger := NewLedger(NewInventory([]*resourcev1.ResourceSlice{slice}))
	s := NewAllocator(ledger, nil, nil, Options{}).Compile()
	pool := s.allocator.inventory
	at := func(name string) *device {
		for _, p := range pool.pools {
			for _, sl := range p.all {
				for k := range sl.devices {
					if sl.devices[k].object.Name == name {
						return &sl.devices[k]
					}
				}
			}
		}
		t.Fatal(name)
		return nil
	}
	amounts := func(list string) capacities {
		out := capacities{}
		for _, pair := range strings.Fields(list) {
			name, amount, _ := strings.Cut(pair, "=")
			out[resourcev1.QualifiedName(name)] = resource.MustParse(amount)
		}
		return out
	}
	d, e := at("d"), at("e")
	check := func(want bool, d *device, list string) {
		t.Helper()
		require.Equal(t, want, s.room(d, amounts(list)), list)
	}
	check(true, d, "")
	check(true, d, "bw=10 mem=5")
	check(false, d, "bw=11")
	check(false, d, "bw=1 mem=6")
	share := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: "p", Device: "d", ShareID: new(types.UID("x")), ConsumedCapacity: amounts("bw=4")}
	ledger.Add(nil, &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{share}}})
	check(true, d, "bw=6 mem=5")
	check(false, d, "bw=7")
	check(true, e, "bw=10")
	s.choices = []choice{
		{candidate: candidate{device: d}, shared: true, consumed: amounts("bw=2 mem=1")}, {candidate: candidate{device: d}, consumed: amounts("bw=9")},
		{candidate: candidate{device: e}, shared: true, consumed: amounts("mem=5")},
	}
	check(true, d, "bw=4 mem=4")
	check(false, d, "bw=5")
	check(false, d, "mem=5")
	check(false, e, "mem=1")
	check(true, e, "bw=10")
	check(false, d, "other=1")
	check(true, d, "other=0")
	require.True(t, s.shared(d))
	s.choices = s.choices[1:2]
	require.False(t, s.shared(d), "the device is not shared")
	require.False(t, s.shared(e))
	require.True(t, fits(d, amounts("bw=10 mem=5")))
	require.False(t, fits(d, amounts("bw=10 mem=6")))
}

// Names of generated claims have at most 57 bytes before the suffix, each part in proportion to its length.
func TestGeneratedNames(t *testing.T) {
	for pod := 1; pod < 130; pod++ {
		for _, entry := range []int{1, 2, 7, 20, 31, 56, 63} {
			p, e := strings.Repeat("p", pod), strings.Repeat("e", entry)
			want := p + "-" + e + "-"
			if n := pod + entry + 2; n > 57 {
				want = p[:57*pod/n] + "-" + e[:57*entry/n]
			}
			require.Equal(t, want, generatedName(p, e))
		}
	}
}

// Which resources a class may provide.
func TestEligibleResources(t *testing.T) {
	for name, want := range map[v1.ResourceName]bool{
		"example.com/gpu": true, "deviceclass.resource.kubernetes.io/gpu": true, "cpu": false, "memory": false, "pods": false, "hugepages-2Mi": false,
		"kubernetes.io/gpu": false, "node.kubernetes.io/gpu": false, "requests.example.com/gpu": false, "gpu": false, "": false, "example.com/": true,
	} {
		require.Equal(t, want, podkey.DeviceResource(name), string(name))
	}
}
