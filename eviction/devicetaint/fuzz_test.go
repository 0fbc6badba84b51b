package devicetaint_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/podberth/podberth/eviction/devicetaint"
	"github.com/podberth/podberth/internal/testkit"
)

// decode makes a world of bytes: a pod with up to three claims, up to three slices of two generations and up to two rules.
func decode(b *testkit.Bytes) world {
	taint := func() resourcev1.DeviceTaint {
		return resourcev1.DeviceTaint{Key: testkit.Pick(b, "x", "y"), Value: testkit.Pick(b, "", "1"), TimeAdded: testkit.Pick(b, at(0), at(-3), at(4), nil),
			Effect: testkit.Pick[resourcev1.DeviceTaintEffect](b, "NoExecute", "NoExecute", "NoSchedule", "None")}
	}
	toleration := func() (t resourcev1.DeviceToleration) {
		t.Key, t.Value = testkit.Pick(b, "x", "", "y"), testkit.Pick(b, "", "1")
		t.Operator = testkit.Pick[resourcev1.DeviceTolerationOperator](b, "Exists", "Equal", "", "Gt")
		t.Effect = testkit.Pick[resourcev1.DeviceTaintEffect](b, "NoExecute", "NoExecute", "NoExecute", "", "NoSchedule")
		t.TolerationSeconds = testkit.Pick(b, nil, new(int64(5)), new(int64(2)), new(int64(0)), new(int64(-1)), new(int64(1e10)), new(int64(math.MinInt64)))
		return t
	}
	w := world{pod: pod([]string{"c0", "c1", "c2"}[:1+b.Below(3)]...)}
	for k := range 1 + b.Below(3) {
		s := slice(fmt.Sprint("s", b.Below(3), k), int64(b.Below(2)))
		s.Spec.Pool.Name = testkit.Pick(b, "p", "p", "p", "q")
		for range 1 + b.Below(3) {
			s.Spec.Devices[0].Taints = append(s.Spec.Devices[0].Taints, taint())
		}
		w.slices = append(w.slices, s)
	}
	for k := range b.Below(3) {
		t := taint()
		r := rule(fmt.Sprint("r", k), nil, resourcev1beta2.DeviceTaintEffect(t.Effect), 0)
		r.Spec.Taint.Key, r.Spec.Taint.Value, r.Spec.Taint.TimeAdded = t.Key, t.Value, t.TimeAdded
		r.Spec.DeviceSelector = testkit.Pick(b, &resourcev1beta2.DeviceTaintSelector{}, &resourcev1beta2.DeviceTaintSelector{Device: new("d0")}, &resourcev1beta2.DeviceTaintSelector{Driver: new("drv"), Pool: new("q")}, nil)
		w.rules = append(w.rules, r)
	}
	for k := range 3 {
		c := claim(fmt.Sprint("c", k), testkit.Pick(b, "d0", "d0", "d0", "d1"))
		for range b.Below(4) {
			c.Status.Allocation.Devices.Results[0].Tolerations = append(c.Status.Allocation.Devices.Results[0].Tolerations, toleration())
		}
		if b.OneIn(6) {
			c.Status.ReservedFor = nil
		}
		w.claims = append(w.claims, c)
	}
	return w
}

// oracle says the rules of the package again, one pair of device and taint after the other; it returns all times, and the earliest.
func oracle(w world) (earliest time.Time, ok bool) {
	for _, entry := range w.pod.Spec.ResourceClaims {
		for _, c := range w.claims {
			if c.Name != *entry.ResourceClaimName || len(c.Status.ReservedFor) == 0 {
				continue
			}
			for _, r := range c.Status.Allocation.Devices.Results {
				for _, t := range taintsOf(w, r) {
					if at, leaves := leavesAt(t, r.Tolerations); leaves && (!ok || at.Before(earliest)) {
						earliest, ok = at, true
					}
				}
			}
		}
	}
	return earliest, ok
}

func taintsOf(w world, r resourcev1.DeviceRequestAllocationResult) (out []resourcev1.DeviceTaint) {
	for _, s := range w.slices {
		newest := true
		for _, o := range w.slices {
			newest = newest && (o.Spec.Driver != s.Spec.Driver || o.Spec.Pool.Name != s.Spec.Pool.Name || o.Spec.Pool.Generation <= s.Spec.Pool.Generation)
		}
		if newest && s.Spec.Driver == r.Driver && s.Spec.Pool.Name == r.Pool && s.Spec.Devices[0].Name == r.Device {
			out = append(out, s.Spec.Devices[0].Taints...)
		}
	}
	for _, rule := range w.rules {
		s := rule.Spec.DeviceSelector
		if s != nil && (s.Device == nil || *s.Device == r.Device) && (s.Pool == nil || *s.Pool == r.Pool) {
			t := rule.Spec.Taint
			out = append(out, resourcev1.DeviceTaint{Key: t.Key, Value: t.Value, Effect: resourcev1.DeviceTaintEffect(t.Effect), TimeAdded: t.TimeAdded})
		}
	}
	return out
}

func leavesAt(t resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) (time.Time, bool) {
	if t.Effect != "NoExecute" {
		return time.Time{}, false
	}
	limits := []int64{}
	for _, o := range tolerations {
		matches := o.Effect == "NoExecute" && (o.Key == "" || o.Key == t.Key) && (o.Operator == "Exists" || (o.Operator == "" || o.Operator == "Equal") && o.Value == t.Value)
		switch {
		case matches && o.TolerationSeconds == nil:
			return time.Time{}, false
		case matches:
			limits = append(limits, *o.TolerationSeconds)
		}
	}
	seconds := int64(0)
	for k, l := range limits {
		if k == 0 || l < seconds {
			seconds = l
		}
	}
	added := start
	if t.TimeAdded != nil {
		added = t.TimeAdded.Time
	}
	if seconds < 0 {
		seconds = 0
	}
	return added.Add(time.Duration(seconds * 1e9)), true // wraps around
}

// The oracle agrees; the order of lists has no influence; what is asked is not modified.
func FuzzEviction(f *testing.F) {
	for seed := range uint64(testkit.Rounds(300)) {
		f.Add(testkit.RandomBytes(seed, 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, same := decode(testkit.NewBytes(data)), decode(testkit.NewBytes(data))
		got, ok := w.eviction()
		if !reflect.DeepEqual(w, same) {
			t.Fatal("an argument was modified")
		}
		if want, leaves := oracle(w); leaves != ok || !got.At.Equal(want) {
			t.Fatalf("want %v %v, got %v %v", want, leaves, got.At, ok)
		}
		reverse(w.slices)
		reverse(w.rules)
		if again, _ := w.eviction(); !reflect.DeepEqual(got, again) {
			t.Fatalf("%v, in another order %v", got, again)
		}
	})
}

func reverse[T any](list []T) {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
}

// Half of the random worlds evict, some by a taint that is tolerated for a time, some by a rule.
func TestWorldsEvict(t *testing.T) {
	var leaves, tolerated, ruled int
	for seed := range uint64(2000) {
		e, ok := decode(testkit.NewBytes(testkit.RandomBytes(seed, 80))).eviction()
		if !ok {
			continue
		}
		leaves++
		if e.Tolerated {
			tolerated++
		}
		if e.Rule != "" {
			ruled++
		}
	}
	t.Log(leaves, tolerated, ruled)
	if leaves < 1000 || tolerated < 200 || ruled < 200 {
		t.Fatal("the worlds are too quiet")
	}
}

// One thousand nodes with eight devices each, and a rule for one of them.
func BenchmarkEviction(b *testing.B) {
	w := world{pod: pod("c"), claims: claims{claim("c", "d7", tolerates(5))}, rules: rules{rule("r", &resourcev1beta2.DeviceTaintSelector{Device: new("d7")}, "NoExecute", 0)}}
	for n := range 1000 {
		s := slice(fmt.Sprint("s", n), 1)
		s.Spec.Pool.Name, s.Spec.Devices = fmt.Sprint("n", n), nil
		for d := range 8 {
			s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", d), Taints: []resourcev1.DeviceTaint{x(d)}})
		}
		w.slices = append(w.slices, s)
	}
	find := func(_, name string) *resourcev1.ResourceClaim { return w.claims[0] }
	b.Run("New", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			devicetaint.New(w.slices, w.rules, start)
		}
	})
	taints := devicetaint.New(w.slices, w.rules, start)
	b.Run("Eviction", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if e, ok := taints.Eviction(w.pod, find); !ok || e.Rule != "r" {
				b.Fatal(e)
			}
		}
	})
}

// An evaluation allocates nothing.
func TestEvictionDoesNotAllocate(t *testing.T) {
	w := world{pod: pod("c", "c"), slices: slices{slice("s", 1, x(0), x(1))}, rules: rules{rule("r", &resourcev1beta2.DeviceTaintSelector{}, "NoExecute", 0)}, claims: claims{claim("c", "d0", tolerates(5), tolerates(2))}}
	taints := devicetaint.New(w.slices, w.rules, start)
	find := func(_, name string) *resourcev1.ResourceClaim { return w.claims[0] }
	if n := testing.AllocsPerRun(100, func() { taints.Eviction(w.pod, find) }); n != 0 {
		t.Fatal(n)
	}
}
