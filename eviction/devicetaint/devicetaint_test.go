package devicetaint_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/devicetaint"
	"github.com/podberth/podberth/internal/testkit"
)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func at(seconds int) *metav1.Time {
	t := metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
	return &t
}

// x is the taint x:NoExecute that was added so many seconds after the start.
func x(seconds int) resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{Key: "x", Effect: resourcev1.DeviceTaintEffectNoExecute, TimeAdded: at(seconds)}
}

func changed[T any](o T, change func(*T)) T {
	change(&o)
	return o
}

func slice(name string, generation int64, taints ...resourcev1.DeviceTaint) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "drv", Pool: resourcev1.ResourcePool{Name: "p", Generation: generation, ResourceSliceCount: 2}, Devices: []resourcev1.Device{{Name: "d0", Taints: taints}},
	}}
}

func rule(name string, s *resourcev1beta2.DeviceTaintSelector, effect resourcev1beta2.DeviceTaintEffect, seconds int) *resourcev1beta2.DeviceTaintRule {
	return &resourcev1beta2.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1beta2.DeviceTaintRuleSpec{
		DeviceSelector: s, Taint: resourcev1beta2.DeviceTaint{Key: "x", Effect: effect, TimeAdded: at(seconds)},
	}}
}

// tolerates is a toleration of the taint x for so many seconds, for ever with ever.
func tolerates(seconds int64) resourcev1.DeviceToleration {
	t := resourcev1.DeviceToleration{Key: "x", Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute}
	if seconds > -100 {
		t.TolerationSeconds = &seconds
	}
	return t
}

const ever = -100

func claim(name, device string, tolerations ...resourcev1.DeviceToleration) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: "drv", Pool: "p", Device: device, Tolerations: tolerations},
	}}}
	return c
}

func owned(c *resourcev1.ResourceClaim, controller bool) *resourcev1.ResourceClaim {
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p", Controller: &controller}}
	return c
}

func pod(claims ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "p", UID: "p"}, Spec: v1.PodSpec{NodeName: "n"}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	for k := range claims {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: fmt.Sprint("r", k), ResourceClaimName: &claims[k]})
	}
	return p
}

// podWith is a pod with the claim c and a change.
func podWith(change func(*v1.Pod)) *v1.Pod {
	p := pod("c")
	change(p)
	return p
}

// generated is a pod whose claim c is made from a template.
func generated() *v1.Pod {
	p := pod()
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "r", ResourceClaimTemplateName: new("t")}}
	p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "r", ResourceClaimName: new("c")}}
	return p
}

func extended(claims ...string) *v1.Pod {
	p := pod(claims...)
	p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "c"}
	return p
}

type world struct {
	pod    *v1.Pod
	slices []*resourcev1.ResourceSlice
	rules  []*resourcev1beta2.DeviceTaintRule
	claims []*resourcev1.ResourceClaim
}

func (w world) eviction() (devicetaint.Eviction, bool) {
	return devicetaint.New(w.slices, w.rules, start).Eviction(w.pod, func(namespace, name string) *resourcev1.ResourceClaim {
		for _, c := range w.claims {
			if c.Namespace == namespace && c.Name == name {
				return c
			}
		}
		return nil
	})
}

func (w world) String() string {
	if e, ok := w.eviction(); ok {
		return fmt.Sprint(e.At.Sub(start))
	}
	return "stays"
}

type slices = []*resourcev1.ResourceSlice

type rules = []*resourcev1beta2.DeviceTaintRule

type claims = []*resourcev1.ResourceClaim

// Each case was played to the controller of v1.37.2.
func TestEviction(t *testing.T) {
	type selector = resourcev1beta2.DeviceTaintSelector
	one := slices{slice("s", 1, x(0))}
	free := slices{slice("s", 1)}
	of := func(list ...resourcev1.DeviceToleration) claims { return claims{claim("c", "d0", list...)} }
	odd := func(change func(*resourcev1.DeviceToleration)) resourcev1.DeviceToleration {
		return changed(tolerates(2), change)
	}
	value := slices{slice("s", 1, changed(x(0), func(t *resourcev1.DeviceTaint) { t.Value = "5" }))}
	type test struct {
		name, why string
		world     world
		want      string
	}
	testkit.Run(t, []test{
		{"not tolerated", "at the time of the taint", world{pod("c"), one, nil, of()}, "0s"},
		{"seconds", "from when the taint was added", world{pod("c"), slices{slice("s", 1, x(-2))}, nil, of(tolerates(5))}, "3s"},
		{"over", "the time may be over already", world{pod("c"), slices{slice("s", 1, x(-10))}, nil, of(tolerates(5))}, "-5s"},
		{"ahead", "a taint of the future waits, tolerated or not", world{pod("c"), slices{slice("s", 1, x(5))}, nil, of()}, "5s"},
		{"ahead and tolerated", "the seconds count from then", world{pod("c"), slices{slice("s", 1, x(5))}, nil, of(tolerates(2))}, "7s"},
		{"for ever", "no tolerationSeconds", world{pod("c"), one, nil, of(tolerates(ever))}, "stays"},
		{"zero", "is at once", world{pod("c"), one, nil, of(tolerates(0))}, "0s"},
		{"negative", "counts as 0", world{pod("c"), one, nil, of(tolerates(-5))}, "0s"},
		{"for ever first", "one toleration without a limit is enough", world{pod("c"), one, nil, of(tolerates(ever), tolerates(1))}, "stays"},
		{"for ever last", "one toleration without a limit is enough", world{pod("c"), one, nil, of(tolerates(1), tolerates(ever))}, "stays"},
		{"two limits", "the smaller one, in any order", world{pod("c"), one, nil, of(tolerates(5), tolerates(2))}, "2s"},
		{"two taints", "the earlier time", world{pod("c"), slices{slice("s", 1, x(0), changed(x(-2), func(t *resourcev1.DeviceTaint) { t.Value = "v" }))}, nil, of(tolerates(5))}, "3s"},
		{"effect not named", "does not keep a pod, other than in the scheduler", world{pod("c"), one, nil, of(odd(func(t *resourcev1.DeviceToleration) { t.Effect = "" }))}, "0s"},
		{"all tolerated", "even when it tolerates everything", world{pod("c"), one, nil, of(resourcev1.DeviceToleration{Operator: resourcev1.DeviceTolerationOpExists})}, "0s"},
		{"effect NoSchedule", "is another effect", world{pod("c"), one, nil, of(odd(func(t *resourcev1.DeviceToleration) { t.Effect = "NoSchedule" }))}, "0s"},
		{"any key", "an empty key is every key", world{pod("c"), one, nil, of(odd(func(t *resourcev1.DeviceToleration) { t.Key = "" }))}, "2s"},
		{"equal value", "Equal compares values", world{pod("c"), value, nil, of(odd(func(t *resourcev1.DeviceToleration) { t.Operator, t.Value = "Equal", "5" }))}, "2s"},
		{"other value", "Equal compares values", world{pod("c"), value, nil, of(odd(func(t *resourcev1.DeviceToleration) { t.Operator, t.Value = "Equal", "6" }))}, "0s"},
		{"no operator", "is Equal", world{pod("c"), value, nil, of(odd(func(t *resourcev1.DeviceToleration) { t.Operator, t.Value = "", "5" }))}, "2s"},
		{"unknown operator", "matches nothing", world{pod("c"), value, nil, of(odd(func(t *resourcev1.DeviceToleration) { t.Operator, t.Value = "Gt", "1" }))}, "0s"},
		{"wraps around", "more nanoseconds than an int64 holds", world{pod("c"), one, nil, of(tolerates(10_000_000_000))}, "-2346317h47m53.709551616s"},
		{"NoSchedule", "evicts nobody", world{pod("c"), slices{slice("s", 1, changed(x(0), func(t *resourcev1.DeviceTaint) { t.Effect = "NoSchedule" }))}, nil, of()}, "stays"},
		{"None", "evicts nobody", world{pod("c"), slices{slice("s", 1, changed(x(0), func(t *resourcev1.DeviceTaint) { t.Effect = "None" }))}, nil, of()}, "stays"},
		{"request tolerates", "the allocation decides, not the request", world{pod("c"), one, nil, claims{func() *resourcev1.ResourceClaim {
			c := claim("c", "d0")
			c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{Tolerations: []resourcev1.DeviceToleration{tolerates(ever)}}}}
			return c
		}()}}, "0s"},
		{"not reserved", "the pod does not use the claim", world{pod("c"), one, nil, claims{func() *resourcev1.ResourceClaim { c := claim("c", "d0"); c.Status.ReservedFor = nil; return c }()}}, "stays"},
		{"reserved for another pod", "the UID counts", world{podWith(func(p *v1.Pod) { p.UID = "q" }), one, nil, of()}, "stays"},
		{"not allocated", "there are no devices", world{pod("c"), one, nil, claims{func() *resourcev1.ResourceClaim { c := claim("c", "d0"); c.Status.Allocation = nil; return c }()}}, "stays"},
		{"not bound", "the pod does not run", world{podWith(func(p *v1.Pod) { p.Spec.NodeName = "" }), one, nil, of()}, "stays"},
		{"terminating", "the pod leaves already", world{podWith(func(p *v1.Pod) { p.DeletionTimestamp = at(0) }), one, nil, of()}, "stays"},
		{"succeeded", "pods that have ended are deleted too", world{podWith(func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }), one, nil, of()}, "0s"},
		{"claim is not in the spec", "the pod does not use the claim", world{pod(), one, nil, of()}, "stays"},
		{"missing claim first", "the other claims count", world{pod("none", "c"), one, nil, of()}, "0s"},
		{"two claims", "the earlier time", world{pod("c", "c2"), one, nil, claims{claim("c", "d0", tolerates(5)), claim("c2", "d0", tolerates(2))}}, "2s"},
		{"from a template", "the name stands in the pod's status", world{generated(), one, nil, claims{owned(claim("c", "d0"), true)}}, "0s"},
		{"from a template of another pod", "the pod must control the claim", world{generated(), one, nil, claims{owned(claim("c", "d0"), false)}}, "stays"},
		{"not needed", "the pod's status names no claim", world{func() *v1.Pod { p := generated(); p.Status.ResourceClaimStatuses[0].ResourceClaimName = nil; return p }(), one, nil, claims{owned(claim("c", "d0"), true)}}, "stays"},
		{"extended resources", "the claim that the scheduler made", world{extended(), one, nil, claims{owned(claim("c", "d0"), true)}}, "0s"},
		{"extended resources of another pod", "the pod must control the claim", world{extended(), one, nil, of()}, "stays"},
		{"older generation", "the newest generation counts", world{pod("c"), slices{slice("a", 1, x(0)), slice("b", 2)}, nil, of()}, "stays"},
		{"newer generation", "the newest generation counts, complete or not", world{pod("c"), slices{slice("a", 2, x(0)), slice("b", 1)}, nil, of()}, "0s"},
		{"two slices", "a device has the taints of all slices", world{pod("c"), slices{slice("a", 1), slice("b", 1, x(0))}, nil, of()}, "0s"},
		{"rule", "as a taint of the slice", world{pod("c"), free, rules{rule("r", &selector{}, "NoExecute", 1)}, of(tolerates(5))}, "6s"},
		{"rule without a slice", "no slice has to have the device", world{pod("c"), nil, rules{rule("r", &selector{}, "NoExecute", 1)}, of()}, "1s"},
		{"rule without a selector", "selects nothing", world{pod("c"), free, rules{rule("r", nil, "NoExecute", 1)}, of()}, "stays"},
		{"rule for another device", "selects others", world{pod("c"), free, rules{rule("r", &selector{Device: new("d1")}, "NoExecute", 1)}, of()}, "stays"},
		{"rule with effect None", "evicts nobody", world{pod("c"), free, rules{rule("r", &selector{}, "None", 1)}, of()}, "stays"},
		{"rule and slice", "the earlier time", world{pod("c"), one, rules{rule("r", &selector{}, "NoExecute", -2)}, of(tolerates(5))}, "3s"},
		{"taint without a time", "counts from when it is seen; v1.37 is never given one", world{pod("c"), slices{slice("s", 1, changed(x(0), func(t *resourcev1.DeviceTaint) { t.TimeAdded = nil }))}, nil, of(tolerates(5))}, "5s"},
	}, func(t *testing.T, c test) {
		before := c.world.pod.DeepCopy()
		require.Equal(t, c.want, c.world.String())
		require.Equal(t, before, c.world.pod)
	})
}

// The texts name claim, device, taint and rule; of two rules the first by name.
func TestText(t *testing.T) {
	w := world{pod("c"), slices{slice("s", 1)}, rules{rule("b", &resourcev1beta2.DeviceTaintSelector{}, "NoExecute", 1), rule("a", &resourcev1beta2.DeviceTaintSelector{}, "NoExecute", 1)}, claims{claim("c", "d0")}}
	e, _ := w.eviction()
	require.Equal(t, "claim c, device drv/p/d0: x:NoExecute of DeviceTaintRule a, not tolerated", e.String())
	w.claims[0] = claim("c", "d0", tolerates(3))
	w.slices[0].Spec.Devices[0].Taints = []resourcev1.DeviceTaint{changed(x(0), func(t *resourcev1.DeviceTaint) { t.Value = "v" })}
	e, _ = w.eviction()
	require.Equal(t, "claim c, device drv/p/d0: x=v:NoExecute", e.String())
	require.Equal(t, v1.PodCondition{Type: "DisruptionTarget", Status: "True", Reason: "DeletionByDeviceTaintManager", Message: "Device Taint manager: deleting due to NoExecute taint"}, devicetaint.Condition())
	require.Equal(t, [3]string{"DeviceTaintManagerEviction", "Marking for deletion", "Cancelling deletion"}, [3]string{devicetaint.EventReason, devicetaint.Marking, devicetaint.Cancelling})
}

// Of several rules, and of several slices, the first by name is named, whatever their order is.
func TestOrderByName(t *testing.T) {
	b, a := rule("b", nil, resourcev1beta2.DeviceTaintEffectNoExecute, 0), rule("a", nil, resourcev1beta2.DeviceTaintEffectNoExecute, 0)
	b.Spec.Taint.Key, a.Spec.Taint.Key = "of-b", "of-a"
	b.GenerateName, a.GenerateName = "1", "2"
	first := devicetaint.New(nil, []*resourcev1beta2.DeviceTaintRule{b, a}, start)
	second := devicetaint.New(nil, []*resourcev1beta2.DeviceTaintRule{a, b}, start)
	require.Equal(t, second, first)
	z, y := slice("z", 1, x(0)), slice("y", 1, x(0))
	z.GenerateName, y.GenerateName = "1", "2"
	z.Spec.Devices[0].Taints[0].Key, y.Spec.Devices[0].Taints[0].Key = "of-z", "of-y"
	require.Equal(t, devicetaint.New(slices{y, z}, nil, start), devicetaint.New(slices{z, y}, nil, start))
}
