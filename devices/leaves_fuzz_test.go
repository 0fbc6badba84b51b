package devices

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzPolicy compares rounded and permitted with a walk over the amounts that a range with a minimum and a step has.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte{2, 3, 8, 6})
	f.Add([]byte{0, 1, 9, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		q := func(n int) *resource.Quantity { return resource.NewQuantity(int64(n), resource.BinarySI) }
		low, step, high := b.Below(10), b.Below(5), b.Below(20)
		policy := &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: q(low), Step: q(step), Max: q(high)}}
		amount := b.Below(24)
		up := low // what the amount becomes
		for up < amount {
			up += max(1, step)
		}
		if got, err := (units{}).rounded(*q(amount), policy); err != nil || got.CmpInt64(int64(up)) != 0 {
			t.Fatalf("%d of %d..%d in steps of %d: %s, not %d", amount, low, high, step, got.String(), up)
		}
		for n := low; n < low+12; n++ {
			want := n <= high && (step == 0 || (n-low)%step == 0)
			if (units{}).permitted(*q(n), policy) != want {
				t.Fatalf("%d of %d..%d in steps of %d: not %v", n, low, high, step, want)
			}
		}
	})
}

// FuzzExtendedRequests compares the requests for one resource with those of rule U9.7, made the slow way.
func FuzzExtendedRequests(f *testing.F) {
	f.Add([]byte{3, 0, 2, 1, 1, 0, 3})
	f.Add([]byte{5, 0, 3, 1, 1, 0, 1, 0, 9, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		const name = "example.com/gpu"
		var list []container
		for k := range 1 + b.Below(5) {
			c := &v1.Container{Name: fmt.Sprint("c", k)}
			long := b.OneIn(2)
			if n := b.Below(6) - 1; n >= 0 {
				c.Resources.Requests = v1.ResourceList{name: *resource.NewQuantity(int64(n), resource.DecimalSI)}
			}
			list = append(list, container{c, k, long})
		}
		requests, long, short := ExtendedResources{name: {}}.requestsOf(list, name)
		var got []string
		for _, r := range requests {
			got = append(got, fmt.Sprint(r.Name, " ", r.Exactly.Count))
		}
		for _, m := range slices.Concat(long, short) {
			got = append(got, m.ContainerName+" uses "+m.RequestName)
		}
		if want := extendedPlain(list, name); !slices.Equal(got, want) {
			t.Fatalf("%q, not %q", got, want)
		}
	})
}

func extendedPlain(list []container, name v1.ResourceName) []string {
	amount := func(c container) int64 { q := c.Resources.Requests[name]; return q.Value() }
	request := func(c container) string { return fmt.Sprintf("container-%d-request-0", c.at) }
	var requests, long, short []string
	for _, c := range list {
		if c.longLived && amount(c) > 0 {
			requests, long = append(requests, fmt.Sprint(request(c), " ", amount(c))), append(long, c.Name+" uses "+request(c))
		}
	}
	missing, shared := int64(0), ""
	for pass := range 2 { // the first pass finds the request that containers share
		short = nil
		for _, c := range list {
			if c.longLived {
				continue
			}
			left := amount(c)
			for _, l := range list[c.at+1:] {
				if l.longLived && amount(l) > 0 && left > 0 {
					left -= amount(l)
					short = append(short, c.Name+" uses "+request(l))
				}
			}
			if left > 0 {
				short = append(short, c.Name+" uses "+shared)
			}
			if pass == 0 && left > missing {
				missing, shared = left, request(c)
			}
		}
	}
	if missing > 0 {
		requests = append(requests, fmt.Sprint(shared, " ", missing))
	}
	return slices.Concat(requests, long, short)
}

// FuzzProvider looks for the class that provides a resource: the newest, and of several the first by name.
func FuzzProvider(f *testing.F) {
	f.Add([]byte{4, 0, 1, 1, 1, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		var list []*resourcev1.DeviceClass
		var want *resourcev1.DeviceClass
		names := []byte("abcdef")
		for range b.Below(6) {
			at, age := b.Below(len(names)), b.Below(3)
			c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: string(names[at]), CreationTimestamp: metav1.Unix(int64(age), 0)}}
			names = slices.Delete(names, at, at+1)
			c.Spec.ExtendedResourceName = new("example.com/gpu")
			if want == nil || c.CreationTimestamp.Unix() > want.CreationTimestamp.Unix() || c.CreationTimestamp.Unix() == want.CreationTimestamp.Unix() && c.Name < want.Name {
				want = c
			}
			list = append(list, c)
		}
		if got := NewExtendedResources(slices.Values(list))["example.com/gpu"]; got != want {
			t.Fatalf("%v, not %v", got, want)
		}
	})
}
