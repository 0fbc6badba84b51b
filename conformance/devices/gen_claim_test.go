package devices

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var expressions = []string{
	`true`, `false`, `device.driver == "drv"`, `device.attributes["drv"].numa == 0`, `device.attributes["drv"].numa == 1`,
	`device.attributes["drv"].?model.orValue("a") == "a"`, `device.attributes["other"].model == "b"`, `has(device.attributes["drv"].model)`,
	`device.capacity["drv"].mem.isGreaterThan(quantity("5Gi"))`, `device.allowMultipleAllocations`, `device.attributes["drv"].model == "a" || device.attributes["drv"].missing == 1`,
}

// tooExpensive costs more than an evaluation may.
const tooExpensive = `[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a+b+c+d+e > 0)))))`

// safe expressions fail on no device.
var safe = []string{
	`true`, `device.driver == "drv"`, `device.attributes["drv"].?numa.orValue(0) == 0`, `device.attributes["drv"].?numa.orValue(1) == 1`,
	`device.attributes["drv"].?model.orValue("a") == "a"`, `device.attributes["other"].?model.orValue("b") == "b"`, `has(device.attributes["drv"].model)`, `device.allowMultipleAllocations`,
}

func (g *generator) selectors() (out []resourcev1.DeviceSelector) {
	for range pick(g, 0, 0, 0, 1, 1, 2) {
		if g.easy && g.chance(60) {
			continue
		}
		if g.clean {
			out = append(out, celSelector(pick(g, safe...)))
		} else {
			out = append(out, celSelector(pick(g, expressions...)))
		}
	}
	if g.mess(2) || g.flawed("selector that does not compile") {
		out = append(out, celSelector(`nope`))
	}
	if g.mess(2) || g.flawed("selector that is not a bool") {
		out = append(out, celSelector(`device.driver`))
	}
	if g.flawed("selector without an expression") {
		out = append(out, resourcev1.DeviceSelector{})
	}
	if g.flawed("runtime error") {
		out = append(out, celSelector(pick(g, `device.attributes["drv"].missing == 1`, `device.attributes["other"].numa == 1`)))
	}
	if g.flawed("dynamic type") {
		out = append(out, celSelector(`device.attributes["drv"].numa`))
	}
	if g.flawed("cost") {
		out = append(out, celSelector(tooExpensive))
	}
	return out
}

func (g *generator) tolerations() []resourcev1.DeviceToleration {
	if !g.chance(25) {
		return nil
	}
	var out []resourcev1.DeviceToleration
	for range pick(g, 1, 1, 2) {
		out = append(out, resourcev1.DeviceToleration{Key: pick(g, "k", "l", ""), Operator: pick(g, resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpEqual, "", "Foo"), Value: pick(g, "v", "w"), Effect: pick(g, "", resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute)})
	}
	return out
}

func (g *generator) capacity() *resourcev1.CapacityRequirements {
	if !g.chance(25) || g.easy && g.chance(60) {
		return nil
	}
	name := resourcev1.QualifiedName(pick(g, "mem", "mem", "mem", "mem", "mem", "mem", "mem", "mem", "bw", "drv/mem", "zz"))
	out := &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{name: resource.MustParse(pick(g, "500Mi", "1Gi", "1500Mi", "3Gi", "4Gi", "5Gi", "7680Mi", "9Gi", "11Gi", "0"))}}
	if g.chance(15) {
		out.Requests["bw"] = resource.MustParse(pick(g, "1", "5", "1500m"))
	}
	return out
}

func (g *generator) claim(name string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	class := func() string {
		switch {
		case g.mess(2) || g.flawed("class missing"):
			return "zz"
		case g.mess(2) || g.flawed("class without a name"):
			return ""
		}
		return pick(g, "c", "c", "c2")
	}
	mode := func() (resourcev1.DeviceAllocationMode, int64) {
		switch {
		case g.chance(12):
			return resourcev1.DeviceAllocationModeAll, 0
		case g.mess(2) || g.flawed("mode"):
			return pick(g, resourcev1.DeviceAllocationMode(""), "Some"), 0
		case g.chance(1):
			return resourcev1.DeviceAllocationModeExactCount, 0
		case g.flawed("number of devices"):
			return resourcev1.DeviceAllocationModeExactCount, 33
		case g.plenty && g.chance(50):
			return resourcev1.DeviceAllocationModeExactCount, pick(g, int64(2), 16, 31, 32, 32, 32, 33)
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
		if g.plenty || g.easy && g.chance(40) {
			continue
		}
		attribute := resourcev1.FullyQualifiedName(pick(g, "drv/numa", "drv/numa", "drv/model", "dom/root", "numa", "other/numa", "drv/list", "drv/rank"))
		switch {
		case g.mess(2) || g.flawed("empty constraint"):
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
