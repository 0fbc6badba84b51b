package devices

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// Amounts at the ends of a policy.
func TestPolicies(t *testing.T) {
	q := func(text string) *resource.Quantity {
		if text == "" {
			return nil
		}
		x := resource.MustParse(text)
		return &x
	}
	between := func(low, high, step string) *resourcev1.CapacityRequestPolicy {
		return &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: q(low), Max: q(high), Step: q(step)}}
	}
	values := &resourcev1.CapacityRequestPolicy{ValidValues: []resource.Quantity{*q("1"), *q("4")}}
	u := units{}
	type test struct {
		name, why string
		policy    *resourcev1.CapacityRequestPolicy
		amount    string
		rounded   string
		permitted bool
	}
	testkit.Run(t, []test{
		{"no policy", "any amount", nil, "7", "7", true},
		{"the minimum", "allowed as it is", between("2", "8", ""), "2", "2", true},
		{"the minimum in another notation", "allowed as it is", between("1Ki", "", ""), "1024", "1024", true},
		{"below the minimum", "becomes the minimum", between("2", "8", ""), "1", "2", true},
		{"the maximum", "allowed", between("2", "8", ""), "8", "8", true},
		{"above the maximum", "not allowed", between("2", "8", ""), "9", "9", false},
		{"on a step", "stays", between("2", "8", "3"), "5", "5", true},
		{"between steps", "goes up", between("2", "8", "3"), "6", "8", true},
		{"above the last step", "not allowed", between("2", "8", "3"), "9", "11", false},
		{"a step of 0", "no step", between("2", "8", "0"), "3", "3", true},
		{"a negative step", "no step", between("2", "8", "-1"), "3", "3", true},
		{"a step without a minimum", "an error", between("", "8", "3"), "4", "4", true},
		{"no minimum", "nothing is rounded", between("", "8", ""), "3", "3", true},
		{"a value", "allowed", values, "4", "4", true},
		{"between values", "goes up", values, "2", "4", true},
		{"above the values", "not allowed", values, "5", "5", false},
	}, func(t *testing.T, c test) {
		got, err := u.rounded(*q(c.amount), c.policy)
		require.Equal(t, c.name == "a step without a minimum", err != nil)
		require.Equal(t, c.rounded, got.String())
		require.Equal(t, c.permitted, u.permitted(got, c.policy))
	})
	require.False(t, u.permitted(*q("6"), between("2", "8", "3")), "between steps")
	require.True(t, u.permitted(*q("6"), between("2", "8", "1")), "every integer is on a step of 1")
	require.False(t, u.permitted(*q("2"), values))
	fallback := between("2", "8", "3")
	fallback.Default = q("6")
	require.True(t, u.permitted(*q("6"), fallback), "the default is allowed anywhere")
}

// Values of every type are equal to themselves alone.
func TestAttributeValues(t *testing.T) {
	yes, no, one, two, a, b, v := true, false, int64(1), int64(2), "a", "b", "1.0.0"
	all := []*resourcev1.DeviceAttribute{
		{IntValue: &one}, {IntValue: &two}, {BoolValue: &yes}, {BoolValue: &no}, {StringValue: &a}, {StringValue: &b}, {StringValue: &v}, {VersionValue: &v}, {VersionValue: &a},
	}
	list := []*resourcev1.DeviceAttribute{
		{IntValues: []int64{1}}, {IntValues: []int64{1, 1}}, {IntValues: []int64{11}}, {BoolValues: []bool{true}}, {StringValues: []string{"a"}}, {StringValues: []string{"a", "a"}}, {VersionValues: []string{"a"}}, {},
	}
	texts := map[string]bool{}
	for i, x := range all {
		for k, y := range all {
			require.Equal(t, i == k, sameValue(x, y), "%d and %d", i, k)
			require.Equal(t, i != k, differs(x, y), "%d and %d", i, k)
		}
		for _, y := range list {
			require.False(t, sameValue(x, y))
			require.False(t, sameValue(y, x))
			require.False(t, differs(x, y), "a list differs from no value")
			require.True(t, differs(y, x))
		}
		texts[string(appendAttribute(nil, *x))] = true
	}
	for _, x := range list {
		texts[string(appendAttribute(nil, *x))] = true
	}
	require.Len(t, texts, len(all)+len(list), "each value has a text of its own")
}

// Devices have equal numbers when selectors, or searches, cannot tell them apart.
func TestDeviceContents(t *testing.T) {
	yes, no, a := true, false, "a"
	amount := func(text string) resourcev1.DeviceCapacity {
		return resourcev1.DeviceCapacity{Value: resource.MustParse(text)}
	}
	taint := []resourcev1.DeviceTaint{{Key: "k"}}
	list := []resourcev1.Device{
		{},
		{AllowMultipleAllocations: &yes},
		{Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"m": {StringValue: &a}}},
		{Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"n": {StringValue: &a}}},
		{Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": amount("1")}},
		{Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": amount("2")}},
		{Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"n": amount("1")}},
	}
	c, seen := contents{}, map[int32]bool{}
	for k := range list {
		seen[c.of("drv", &list[k])] = true
		seen[c.of("other", &list[k])] = true
	}
	require.Len(t, seen, 2*len(list))
	require.Equal(t, c.of("drv", &list[0]), c.of("drv", &resourcev1.Device{Name: "x", AllowMultipleAllocations: &no, Taints: taint}))

	kinds := append(slices.Clone(list[4:]), resourcev1.Device{}, resourcev1.Device{AllowMultipleAllocations: &yes}, resourcev1.Device{Taints: taint},
		resourcev1.Device{ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "s"}}},
		resourcev1.Device{Capacity: list[4].Capacity, ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "s"}}})
	k, seen := contents{}, map[int32]bool{}
	for i := range kinds {
		seen[k.kindOf(&kinds[i], nil)] = true
	}
	require.Len(t, seen, len(kinds))
	require.Equal(t, k.kindOf(&list[0], nil), k.kindOf(&list[2], nil), "attributes make no difference")
	require.NotEqual(t, k.kindOf(&resourcev1.Device{AllowMultipleAllocations: &yes}, nil), k.kindOf(&resourcev1.Device{AllowMultipleAllocations: &no}, nil))
}

// Each operator of a condition holds for the orders that it names.
func TestClauseHolds(t *testing.T) {
	for op, want := range map[string][]bool{ // less, equal, more
		"==": {false, true, false}, "!=": {true, false, true}, "<": {true, false, false}, "<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true},
	} {
		c := clause{op: op}
		require.Equal(t, want, []bool{c.holds(-1), c.holds(0), c.holds(1)}, op)
	}
}

// Requirements with equal keys, operators and sets of values are one.
func TestRequirements(t *testing.T) {
	r := func(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
	}
	first := []v1.NodeSelectorRequirement{r("zone", v1.NodeSelectorOpIn, "a", "b")}
	require.Equal(t, first, addRequirements(slices.Clone(first), []v1.NodeSelectorRequirement{r("zone", v1.NodeSelectorOpIn, "b", "a")}))
	for _, other := range []v1.NodeSelectorRequirement{
		r("rack", v1.NodeSelectorOpIn, "a", "b"), r("zone", v1.NodeSelectorOpNotIn, "a", "b"), r("zone", v1.NodeSelectorOpIn, "a"), r("zone", v1.NodeSelectorOpIn, "a", "b", "c"),
	} {
		require.Equal(t, []v1.NodeSelectorRequirement{first[0], other}, addRequirements(slices.Clone(first), []v1.NodeSelectorRequirement{other}))
	}
}

// U9.2: the newer of two classes provides a resource; of two equally old classes the first by name, in any order of the list.
func TestExtendedResourceOfClasses(t *testing.T) {
	class := func(name string, at int64) *resourcev1.DeviceClass {
		resource := "example.com/gpu"
		return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(at, 0)}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &resource}}
	}
	old, young, twin := class("a", 100), class("b", 200), class("c", 200)
	plain := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	for _, order := range [][]*resourcev1.DeviceClass{{old, young, twin, plain}, {twin, plain, young, old}, {young, old, plain, twin}} {
		require.Equal(t, ExtendedResources{
			"example.com/gpu": young, "deviceclass.resource.kubernetes.io/a": old, "deviceclass.resource.kubernetes.io/b": young,
			"deviceclass.resource.kubernetes.io/c": twin, "deviceclass.resource.kubernetes.io/plain": plain,
		}, NewExtendedResources(slices.Values(order)))
	}
	require.Nil(t, NewExtendedResources(slices.Values[[]*resourcev1.DeviceClass](nil)))
	asks := func(amount string) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse(amount)}}}}}}
	}
	e := NewExtendedResources(slices.Values([]*resourcev1.DeviceClass{young}))
	require.True(t, e.Serve(asks("1")))
	require.False(t, e.Serve(asks("0")))
	quota := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "quota"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new("requests.example.com/gpu")}}
	counted := asks("1")
	counted.Spec.Containers[0].Resources.Requests = v1.ResourceList{"requests.example.com/gpu": resource.MustParse("1")}
	require.False(t, NewExtendedResources(slices.Values([]*resourcev1.DeviceClass{quota})).Serve(counted), "the name belongs to quotas")
	require.False(t, ExtendedResources(nil).Serve(asks("1")))
}

// U9.3: the claim for extended resources belongs to its pod.
func TestExtendedClaim(t *testing.T) {
	yes, no := true, false
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: "u"}}
	made := extendedClaim(pod, onlyClaims{})
	require.Equal(t, metav1.ObjectMeta{Namespace: "ml", Name: "<extended-resources>", GenerateName: "p-extended-resources-",
		Annotations:     map[string]string{"resource.kubernetes.io/extended-resource-claim": "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: &yes}}}, made.ObjectMeta)
	before := func(change func(c *resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
		c := made.DeepCopy()
		c.Name, c.UID = "p-extended-resources-x", "x"
		change(c)
		return c
	}
	found := before(func(*resourcev1.ResourceClaim) {})
	for _, c := range []*resourcev1.ResourceClaim{
		before(func(c *resourcev1.ResourceClaim) { c.Annotations = nil }),
		before(func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Name = "q" }),
		before(func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].UID = "w" }),
		before(func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Controller = &no }),
		before(func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Controller = nil }),
	} {
		require.Equal(t, made, extendedClaim(pod, onlyClaims{c}))
		require.Same(t, found, extendedClaim(pod, onlyClaims{c, found}))
	}
}

// U9.7: which containers ask for what, at the borders of the rule.
func TestExtendedRequests(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	container := func(name string, amount string) v1.Container {
		c := v1.Container{Name: name}
		if amount != "" {
			c.Resources.Requests = v1.ResourceList{"example.com/gpu": resource.MustParse(amount)}
		}
		return c
	}
	sidecar := func(c v1.Container) v1.Container {
		c.RestartPolicy = &always
		return c
	}
	type test struct {
		name, why  string
		init, main []v1.Container
		requests   map[string]int64
		mappings   []string
	}
	e := ExtendedResources{"example.com/gpu": {ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}
	testkit.Run(t, []test{
		{"none", "no container asks", []v1.Container{container("i", "")}, []v1.Container{container("a", "0"), container("b", "-1")}, map[string]int64{}, nil},
		{"exactly enough", "the init container uses what b gets", []v1.Container{container("i", "2")}, []v1.Container{container("b", "2")},
			map[string]int64{"container-1-request-0": 2}, []string{"b container-1-request-0", "i container-1-request-0"}},
		{"one too few", "one device more for the init container", []v1.Container{container("i", "3")}, []v1.Container{container("b", "2")},
			map[string]int64{"container-0-request-0": 1, "container-1-request-0": 2}, []string{"b container-1-request-0", "i container-1-request-0", "i container-0-request-0"}},
		{"the first of two", "the second is not needed", []v1.Container{container("i", "1")}, []v1.Container{container("a", "1"), container("b", "1")},
			map[string]int64{"container-1-request-0": 1, "container-2-request-0": 1}, []string{"a container-1-request-0", "b container-2-request-0", "i container-1-request-0"}},
		{"a sidecar before", "its devices are in use", []v1.Container{sidecar(container("s", "1")), container("i", "1")}, []v1.Container{container("b", "")},
			map[string]int64{"container-0-request-0": 1, "container-1-request-0": 1}, []string{"s container-0-request-0", "i container-1-request-0"}},
		{"init containers that ask for nothing", "they share nothing", []v1.Container{container("i", "0"), container("j", "")}, []v1.Container{container("b", "1")},
			map[string]int64{"container-2-request-0": 1}, []string{"b container-2-request-0"}},
	}, func(t *testing.T, c test) {
		pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: c.init, Containers: c.main}}
		requests, mappings := e.requests(pod, []v1.ResourceName{"example.com/gpu"})
		got, names := map[string]int64{}, []string(nil)
		for _, r := range requests {
			require.Equal(t, "gpu", r.Exactly.DeviceClassName)
			got[r.Name] = r.Exactly.Count
		}
		for _, m := range mappings {
			names = append(names, m.ContainerName+" "+m.RequestName)
		}
		require.Equal(t, c.requests, got)
		require.Equal(t, c.mappings, names)
	})
}

// A claim with several devices is ready when all of them are.
func TestReadinessOfSeveralDevices(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for _, device := range []string{"plain", "a", "b"} {
		r := resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "p", Device: device}
		if device != "plain" {
			r.BindingConditions, r.BindingFailureConditions = []string{"up", "linked"}, []string{"broken", "lost"}
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, r)
	}
	is := func(name string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: "R" + name, Message: "m"}
	}
	report := func(device string, conditions ...metav1.Condition) {
		c.Status.Devices = append(c.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: "d", Pool: "p", Device: device, Conditions: conditions})
	}
	ask := func() Readiness { return BindingReadiness(c, time.Minute, now) }
	require.Equal(t, Readiness{}, ask(), "no time of allocation: no time-out")
	report("b", is("up", metav1.ConditionTrue), is("linked", metav1.ConditionTrue))
	require.Equal(t, Readiness{}, ask(), "a has not reported")
	report("a", is("linked", metav1.ConditionTrue))
	require.Equal(t, Readiness{}, ask(), "a is not up")
	c.Status.Devices[1].Conditions = append(c.Status.Devices[1].Conditions, is("up", metav1.ConditionTrue), is("lost", metav1.ConditionFalse))
	require.Equal(t, Readiness{Ready: true}, ask())
	c.Status.Devices[0].Conditions = append(c.Status.Devices[0].Conditions, is("lost", metav1.ConditionTrue), is("broken", metav1.ConditionTrue))
	require.Equal(t, Readiness{Failed: `device binding failed: claim=c, reason=Rbroken, message="m"`}, ask(), "in the order of the allocation's list")
	c.Status.Devices[1].Conditions[0].Status = metav1.ConditionUnknown
	require.Equal(t, Readiness{}, ask(), "the first device that is not ready ends the walk")
}

// onlyClaims are the objects of a namespace with nothing but these claims.
type onlyClaims []*resourcev1.ResourceClaim

func (onlyClaims) ResourceClaim(string, string) *resourcev1.ResourceClaim { return nil }
func (c onlyClaims) ResourceClaims(string) iter.Seq[*resourcev1.ResourceClaim] {
	return slices.Values(c)
}
func (onlyClaims) InFlight(types.UID) bool                    { return false }
func (onlyClaims) DeviceClass(string) *resourcev1.DeviceClass { return nil }
