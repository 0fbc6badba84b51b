package devices

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// world is one generated case.
type world struct {
	nodes   []*v1.Node
	slices  []*resourcev1.ResourceSlice
	classes []*resourcev1.DeviceClass
	running []*resourcev1.ResourceClaim // allocated
	claims  []*resourcev1.ResourceClaim // of one pod, to allocate
}

// generator makes cases. Most of its worlds are clean: what is rare there, a contradiction in a pool or a selector that
// fails, would hide what is left to compare.
type generator struct {
	*rand.Rand
	clean bool
}

// mess is chance in a world that is not clean.
func (g *generator) mess(percent int) bool { return !g.clean && g.chance(percent) }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func ptr[T any](x T) *T { return &x }

func (g *generator) world() *world {
	w := &world{}
	g.clean = g.chance(75)
	for k := range 1 + g.IntN(3) {
		w.nodes = append(w.nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", k+1), Labels: map[string]string{
			"zone": pick(g, "a", "b"), "rack": pick(g, "1", "2")}}})
	}
	g.classesOf(w)
	drivers := []string{"drv", "other"}
	used := map[[2]string]bool{} // two pools of one name and driver would disagree on the number of slices
	for k := range 1 + g.IntN(3) {
		driver, name := pick(g, drivers...), pick(g, "p", "p", fmt.Sprintf("q%d", k))
		if used[[2]string{driver, name}] {
			name = fmt.Sprintf("q%d", k)
		}
		used[[2]string{driver, name}] = true
		g.pool(w, driver, name, k)
	}
	g.allocations(w)
	for k := range pick(g, 1, 1, 1, 2, 2, 3) {
		w.claims = append(w.claims, g.claim(fmt.Sprintf("k%d", k+1)))
	}
	return w
}

func (g *generator) classesOf(w *world) {
	config := func(n int) (out []resourcev1.DeviceClassConfiguration) {
		for k := range n {
			out = append(out, resourcev1.DeviceClassConfiguration{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: fmt.Sprintf("config-%d", k)}}})
		}
		return out
	}
	w.classes = []*resourcev1.DeviceClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: resourcev1.DeviceClassSpec{Config: config(g.IntN(3))}},
		{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: resourcev1.DeviceClassSpec{Config: config(g.IntN(2)), Selectors: []resourcev1.DeviceSelector{celSelector(pick(g, `device.driver == "drv"`, `has(device.attributes["drv"].numa)`, `device.allowMultipleAllocations`, `!device.allowMultipleAllocations`))}}},
	}
	if g.mess(3) {
		w.classes[1].Spec.Selectors[0] = celSelector("device.nope")
	}
}

func celSelector(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

func (g *generator) selector() *v1.NodeSelector {
	r := v1.NodeSelectorRequirement{Key: pick(g, "zone", "rack", "none"), Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists), Values: pick(g, []string{"a"}, []string{"a", "b"}, []string{"b", "a"}, []string{"1"})}
	if r.Operator == v1.NodeSelectorOpExists {
		r.Values = nil
	}
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{r}}
	if g.chance(10) {
		term.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{pick(g, "n1", "n2")}}}
	}
	s := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	if g.mess(5) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, *term.DeepCopy())
	}
	return s
}

// pool makes the slices of one pool, mostly consistent.
func (g *generator) pool(w *world, driver, name string, at int) {
	n := 1 + g.IntN(3)
	counters := g.chance(35)
	count := int64(n)
	if counters {
		count++
	}
	if g.mess(25) {
		count += int64(pick(g, -1, 1))
	}
	shared := 0 // 1: the devices of several slices have the same names at times
	if g.mess(33) {
		shared = 1
	}
	generation := func() int64 {
		if g.mess(15) {
			return 2
		}
		return 1
	}
	for k := range n {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%c%d-%d", 'a'+rune(g.IntN(3)), at, k)}}
		s.Spec = resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: name, Generation: generation(), ResourceSliceCount: count}}
		switch g.IntN(8) {
		case 0, 1, 2:
			s.Spec.NodeName = ptr(pick(g, "n1", "n1", "n2"))
		case 3, 4:
			s.Spec.AllNodes = ptr(true)
		case 5:
			s.Spec.NodeSelector = g.selector()
		case 6:
			s.Spec.PerDeviceNodeSelection = ptr(true)
		case 7:
			if g.chance(15) {
				s.Spec.AllNodes = ptr(false)
			} else {
				s.Spec.NodeName = ptr("n1")
			}
		}
		for j := range 1 + g.IntN(5) {
			device := fmt.Sprintf("d%d", j+k*10*(1-shared)+shared*k*g.IntN(2)*10)
			s.Spec.Devices = append(s.Spec.Devices, g.device(device, driver, counters, s.Spec.PerDeviceNodeSelection != nil))
		}
		w.slices = append(w.slices, s)
	}
	if !counters {
		return
	}
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("counters-%d", at)}}
	s.Spec = resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: count}}
	if g.chance(50) {
		s.Spec.NodeName = ptr(pick(g, "n1", "n2"))
	} else {
		s.Spec.AllNodes = ptr(true)
	}
	for _, set := range []string{"gpu0", "gpu1"} {
		if g.mess(10) {
			continue
		}
		c := resourcev1.CounterSet{Name: set, Counters: map[string]resourcev1.Counter{"mem": {Value: resource.MustParse(pick(g, "40Gi", "20Gi"))}}}
		if !g.mess(10) {
			c.Counters["slots"] = resourcev1.Counter{Value: resource.MustParse(pick(g, "4", "2"))}
		}
		s.Spec.SharedCounters = append(s.Spec.SharedCounters, c)
	}
	if g.mess(6) && len(s.Spec.SharedCounters) > 0 {
		s.Spec.SharedCounters = append(s.Spec.SharedCounters, *s.Spec.SharedCounters[0].DeepCopy())
	}
	if g.mess(8) {
		s.Spec.Devices = append(s.Spec.Devices, g.device("beside", driver, true, false))
	}
	w.slices = append(w.slices, s)
}

func (g *generator) device(name, driver string, counters, each bool) resourcev1.Device {
	d := resourcev1.Device{Name: name}
	attribute := func(name string, value resourcev1.DeviceAttribute) {
		if d.Attributes == nil {
			d.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
		}
		d.Attributes[resourcev1.QualifiedName(name)] = value
	}
	if !g.mess(20) {
		attribute("numa", resourcev1.DeviceAttribute{IntValue: ptr(int64(g.IntN(2)))})
	}
	if !g.mess(20) {
		attribute("model", resourcev1.DeviceAttribute{StringValue: ptr(pick(g, "a", "b"))})
	}
	if g.chance(10) {
		attribute(driver+"/rank", resourcev1.DeviceAttribute{IntValue: ptr(int64(g.IntN(2)))})
	}
	if g.chance(15) { // beside drv/rank: what a selector would see is not determined, so no selector reads it
		attribute("rank", resourcev1.DeviceAttribute{IntValue: ptr(int64(g.IntN(2)))})
	}
	if g.chance(30) {
		attribute("dom/root", pick(g, resourcev1.DeviceAttribute{StringValue: ptr("x")}, resourcev1.DeviceAttribute{VersionValue: ptr("1.0.0")}, resourcev1.DeviceAttribute{BoolValue: ptr(true)}, resourcev1.DeviceAttribute{StringValue: ptr("y")}))
	}
	if g.mess(4) || g.chance(1) {
		attribute("list", resourcev1.DeviceAttribute{IntValues: []int64{1}})
	}
	if g.chance(30) {
		d.AllowMultipleAllocations = ptr(true)
	}
	if g.chance(40) {
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"mem": {Value: resource.MustParse("10Gi"), RequestPolicy: g.policy()}}
		if g.chance(20) {
			d.Capacity["bw"] = resourcev1.DeviceCapacity{Value: resource.MustParse("10")}
		}
	}
	if counters && g.chance(70) {
		use := resourcev1.DeviceCounterConsumption{CounterSet: pick(g, "gpu0", "gpu0", "gpu1"), Counters: map[string]resourcev1.Counter{"mem": {Value: resource.MustParse(pick(g, "10Gi", "20Gi", "40Gi"))}}}
		if g.chance(40) {
			use.Counters["slots"] = resourcev1.Counter{Value: resource.MustParse(pick(g, "1", "2"))}
		}
		d.ConsumesCounters = append(d.ConsumesCounters, use)
	}
	if each {
		switch g.IntN(5) {
		case 0, 1:
			d.NodeName = ptr(pick(g, "n1", "n2"))
		case 2:
			d.AllNodes = ptr(true)
		case 3:
			d.NodeSelector = g.selector()
		}
	}
	if g.chance(15) {
		d.Taints = append(d.Taints, resourcev1.DeviceTaint{Key: pick(g, "k", "l"), Value: pick(g, "v", "w"), Effect: pick(g, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone, "Weird")})
	}
	if g.chance(10) {
		d.BindsToNode = ptr(true)
	}
	if g.chance(8) {
		d.BindingConditions = pick(g, []string{"ready"}, []string{}, []string{"ready", "more"})
		d.BindingFailureConditions = pick(g, nil, []string{"bad"})
	}
	return d
}

func (g *generator) policy() *resourcev1.CapacityRequestPolicy {
	q := func(s string) *resource.Quantity { return ptr(resource.MustParse(s)) }
	switch g.IntN(7) {
	case 0:
		return &resourcev1.CapacityRequestPolicy{Default: q("3Gi"), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: q("1Gi"), Max: q("8Gi"), Step: q("2Gi")}}
	case 1:
		return &resourcev1.CapacityRequestPolicy{Default: q("1Gi"), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: q("1Gi")}}
	case 2:
		return &resourcev1.CapacityRequestPolicy{Default: q("2Gi"), ValidValues: []resource.Quantity{*q("1Gi"), *q("2Gi"), *q("4Gi")}}
	case 3:
		return &resourcev1.CapacityRequestPolicy{Default: q(pick(g, "2Gi", "20Gi"))}
	case 4:
		return &resourcev1.CapacityRequestPolicy{Default: q("2Gi"), ValidRange: &resourcev1.CapacityRequestPolicyRange{Max: q("4Gi")}}
	}
	return nil
}

// allocations takes some devices, as claims of running pods.
func (g *generator) allocations(w *world) {
	for _, s := range w.slices {
		for k := range s.Spec.Devices {
			d := &s.Spec.Devices[k]
			if !g.chance(18) {
				continue
			}
			r := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Device: d.Name}
			share := d.AllowMultipleAllocations != nil
			if g.chance(10) {
				share = !share
			}
			if share {
				r.ShareID = ptr(types.UID(fmt.Sprintf("running-%d-%s", len(w.running), d.Name)))
				if g.chance(75) {
					r.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"mem": resource.MustParse(pick(g, "0", "3Gi", "8Gi", "10Gi"))}
				}
			}
			if g.chance(8) {
				r.AdminAccess = ptr(true)
			}
			c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("running-%d", len(w.running))}}
			c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
			w.running = append(w.running, c)
		}
	}
}

var expressions = []string{
	`true`, `false`, `device.driver == "drv"`, `device.attributes["drv"].numa == 0`, `device.attributes["drv"].numa == 1`,
	`device.attributes["drv"].?model.orValue("a") == "a"`, `device.attributes["other"].model == "b"`, `has(device.attributes["drv"].model)`,
	`device.capacity["drv"].mem.isGreaterThan(quantity("5Gi"))`, `device.allowMultipleAllocations`, `device.attributes["drv"].model == "a" || device.attributes["drv"].missing == 1`,
}

// safe expressions fail on no device.
var safe = []string{
	`true`, `device.driver == "drv"`, `device.attributes["drv"].?numa.orValue(0) == 0`, `device.attributes["drv"].?numa.orValue(1) == 1`,
	`device.attributes["drv"].?model.orValue("a") == "a"`, `device.attributes["other"].?model.orValue("b") == "b"`, `has(device.attributes["drv"].model)`, `device.allowMultipleAllocations`,
}

func (g *generator) selectors() (out []resourcev1.DeviceSelector) {
	for range pick(g, 0, 0, 0, 1, 1, 2) {
		if g.clean {
			out = append(out, celSelector(pick(g, safe...)))
		} else {
			out = append(out, celSelector(pick(g, expressions...)))
		}
	}
	if g.mess(2) {
		out = append(out, celSelector(pick(g, `nope`, `device.driver`)))
	}
	return out
}

func (g *generator) tolerations() []resourcev1.DeviceToleration {
	if !g.chance(15) {
		return nil
	}
	return []resourcev1.DeviceToleration{{Key: pick(g, "k", "l", ""), Operator: pick(g, resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpEqual, "", "Foo"), Value: pick(g, "v", "w"), Effect: pick(g, "", resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute)}}
}

func (g *generator) capacity() *resourcev1.CapacityRequirements {
	if !g.chance(25) {
		return nil
	}
	name := resourcev1.QualifiedName(pick(g, "mem", "mem", "mem", "mem", "bw", "drv/mem"))
	return &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{name: resource.MustParse(pick(g, "500Mi", "1Gi", "1500Mi", "3Gi", "4Gi", "5Gi", "7680Mi", "9Gi", "11Gi", "0"))}}
}

func (g *generator) claim(name string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	class := func() string {
		if g.mess(2) {
			return pick(g, "", "zz")
		}
		return pick(g, "c", "c", "c2")
	}
	mode := func() (resourcev1.DeviceAllocationMode, int64) {
		switch {
		case g.chance(12):
			return resourcev1.DeviceAllocationModeAll, 0
		case g.mess(2):
			return pick(g, resourcev1.DeviceAllocationMode(""), "Some"), 0
		case g.chance(1):
			return resourcev1.DeviceAllocationModeExactCount, pick(g, int64(0), 33)
		}
		return resourcev1.DeviceAllocationModeExactCount, pick(g, int64(1), 1, 1, 1, 2, 2, 3)
	}
	for k := range pick(g, 1, 1, 1, 2, 2, 3) {
		r := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", k)}
		if g.chance(25) {
			for j := range 1 + g.IntN(3) {
				sub := resourcev1.DeviceSubRequest{Name: fmt.Sprintf("s%d", j), DeviceClassName: class(), Selectors: g.selectors(), Tolerations: g.tolerations(), Capacity: g.capacity()}
				sub.AllocationMode, sub.Count = mode()
				r.FirstAvailable = append(r.FirstAvailable, sub)
			}
		} else {
			r.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: class(), Selectors: g.selectors(), Tolerations: g.tolerations(), Capacity: g.capacity()}
			r.Exactly.AllocationMode, r.Exactly.Count = mode()
			if g.chance(12) {
				r.Exactly.AdminAccess = ptr(g.chance(85))
			}
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, r)
	}
	names := func() []string {
		return pick(g, nil, nil, []string{"r0"}, []string{"r0", "r1"}, []string{"r1/s0"}, []string{"r0/s0", "r1"}, []string{"zz"})
	}
	for range pick(g, 0, 0, 0, 1, 1, 2) {
		x := resourcev1.DeviceConstraint{Requests: names()}
		attribute := resourcev1.FullyQualifiedName(pick(g, "drv/numa", "drv/numa", "drv/model", "dom/root", "numa", "other/numa", "drv/list", "drv/rank"))
		switch {
		case g.mess(2):
		case g.chance(60):
			x.MatchAttribute = &attribute
		default:
			x.DistinctAttribute = &attribute
		}
		c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, x)
	}
	for k := range pick(g, 0, 0, 1, 2) {
		c.Spec.Devices.Config = append(c.Spec.Devices.Config, resourcev1.DeviceClaimConfiguration{Requests: names(), DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: fmt.Sprintf("claim-%d", k)}}})
	}
	return c
}
