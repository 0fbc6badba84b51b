package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func (g *generator) device(name, driver string, counters, each bool) resourcev1.Device {
	d := resourcev1.Device{Name: name}
	attribute := func(name string, value resourcev1.DeviceAttribute) {
		if d.Attributes == nil {
			d.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
		}
		d.Attributes[resourcev1.QualifiedName(name)] = value
	}
	if g.plenty { // equal devices, because a search among many different devices takes too long
		attribute("numa", resourcev1.DeviceAttribute{IntValue: ptr(int64(0))})
		return d
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
	if g.chance(15) { // beside drv/rank the selector's answer is not determined, so no selector reads this attribute
		attribute("rank", resourcev1.DeviceAttribute{IntValue: ptr(int64(g.IntN(2)))})
	}
	if g.chance(30) {
		attribute("dom/root", pick(g, resourcev1.DeviceAttribute{StringValue: ptr("x")}, resourcev1.DeviceAttribute{VersionValue: ptr(g.version())}, resourcev1.DeviceAttribute{BoolValue: ptr(true)}, resourcev1.DeviceAttribute{StringValue: ptr("y")}))
	}
	if (g.mess(4) || g.chance(1)) && g.defect != "version that cannot be parsed" { // of two broken attributes either may be named
		attribute("list", resourcev1.DeviceAttribute{IntValues: []int64{1}})
	}
	if g.chance(30) {
		d.AllowMultipleAllocations = ptr(true)
	}
	if g.chance(40) {
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"mem": {Value: resource.MustParse("10Gi"), RequestPolicy: g.policy()}}
		if g.chance(30) {
			d.Capacity["bw"] = resourcev1.DeviceCapacity{Value: resource.MustParse("10")}
		}
	}
	if counters && g.chance(70) {
		use := resourcev1.DeviceCounterConsumption{CounterSet: pick(g, "gpu0", "gpu0", "gpu1"), Counters: map[string]resourcev1.Counter{"mem": {Value: resource.MustParse(pick(g, "10Gi", "20Gi", "40Gi"))}}}
		if g.chance(40) {
			use.Counters["slots"] = resourcev1.Counter{Value: resource.MustParse(pick(g, "1", "2"))}
		}
		d.ConsumesCounters = append(d.ConsumesCounters, use)
		if g.chance(15) {
			second := resourcev1.DeviceCounterConsumption{CounterSet: "gpu0", Counters: map[string]resourcev1.Counter{"mem": {Value: resource.MustParse("5Gi")}}}
			if use.CounterSet == "gpu0" {
				second.CounterSet = "gpu1"
			}
			d.ConsumesCounters = append(d.ConsumesCounters, second)
		}
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
	for g.chance(15) {
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
	switch g.IntN(9) {
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
	case 5:
		return &resourcev1.CapacityRequestPolicy{Default: q("3Gi"), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: q("1Gi"), Max: q("2Gi")}}
	}
	return nil
}

func (g *generator) version() string {
	if g.flawed("version that cannot be parsed") {
		return "1"
	}
	return "1.0.0"
}
