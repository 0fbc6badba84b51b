package devices

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// census counts in how many cases each feature and each outcome occurs. Every feature must occur in one case of 200: a run of
// 200,000 cases fails when one of them occurs fewer than 1,000 times. A comparison says nothing about what the generator does not make.
type census struct {
	cases  int
	counts map[string]int
}

func newCensus() *census { return &census{counts: map[string]int{}} }

// add counts one case. A name that is given twice counts once.
func (c *census) add(names map[string]bool) {
	c.cases++
	for name := range names {
		c.counts[name]++
	}
}

// report logs all counts. It fails when a wanted name is rare. made is the number of cases that were made; the cases that were left out
// count too.
func (c *census) report(t *testing.T, wanted []string, made int) {
	for _, name := range slices.Sorted(maps.Keys(c.counts)) {
		t.Logf("%7d %s", c.counts[name], name)
	}
	share := 200
	if made < 10_000 { // chance decides more
		share = 400
	}
	for _, name := range wanted {
		if c.counts[name]*share < made {
			t.Errorf("%s: %d of %d cases, less than one in %d", name, c.counts[name], made, share)
		}
	}
}

// wantedFeatures are what every long comparison must contain.
var wantedFeatures = []string{
	"pool: two generations", "pool: incomplete", "pool: newer generation elsewhere", "pool: too many slices", "pool: a device twice",
	"pool: counter set missing", "pool: counter set twice", "pool: counter missing", "pool: devices beside counters", "pool: one name, two drivers", "pool: order of slice names",
	"reach: node", "reach: all nodes", "reach: selector", "reach: per device", "reach: nothing set",
	"device reach: node", "device reach: all nodes", "device reach: selector", "device reach: nothing set", "device: binds to node",
	"attribute: int", "attribute: bool", "attribute: string", "attribute: version", "attribute: list", "attribute: domain of the driver", "attribute: other domain",
	"mode: one", "mode: several", "mode: all", "mode: unknown", "mode: no device",
	"firstAvailable", "firstAvailable: all", "firstAvailable: several",
	"constraint: match", "constraint: distinct", "constraint: empty", "constraint: of one request", "constraint: of an alternative", "constraint: on a list", "constraint: without a domain", "constraint: two",
	"admin access", "admin access: false", "admin access: an allocation",
	"counters: a device consumes", "counters: two sets", "counters: a shareable device consumes", "counters: of a node's slice", "counters: for all nodes",
	"capacity", "capacity: not shareable", "capacity: asked", "capacity: name that no device has", "capacity: default domain spelled out", "capacity: two names",
	"policy: none", "policy: default", "policy: default above the value", "policy: default outside the range", "policy: valid values", "policy: range with a minimum", "policy: range with a maximum", "policy: range with a step",
	"taint: NoSchedule", "taint: NoExecute", "taint: None", "taint: unknown effect", "taint: two",
	"toleration: Exists", "toleration: Equal", "toleration: no operator", "toleration: unknown operator", "toleration: no key", "toleration: any effect", "toleration: one effect", "toleration: two",
	"binding conditions", "binding conditions: empty list", "binding conditions: failure", "binding conditions: failure alone",
	"limit: 32 devices", "limit: more than 32 devices", "limit: more than 32 over requests", "limit: more than 32 in an alternative",
	"selector: of a class", "selector: of a request", "selector: two", "selector: does not compile", "selector: not a bool", "selector: without an expression", "selector: too expensive",
	"allocated: dedicated", "allocated: a share", "allocated: a share without capacity", "allocated: a share of a dedicated device", "allocated: a device that is gone",
	"class: missing", "class: no name", "config: of a class", "config: of a claim", "claims: two", "claims: three",
}

// features names what the case contains.
func (w *world) features() map[string]bool {
	f := map[string]bool{}
	set := func(name string, ok bool) {
		if ok {
			f[name] = true
		}
	}
	w.poolFeatures(set)
	for _, s := range w.slices {
		set("reach: node", s.Spec.NodeName != nil)
		set("reach: all nodes", s.Spec.AllNodes != nil && *s.Spec.AllNodes)
		set("reach: selector", s.Spec.NodeSelector != nil)
		set("reach: per device", s.Spec.PerDeviceNodeSelection != nil)
		set("reach: nothing set", s.Spec.NodeName == nil && s.Spec.NodeSelector == nil && s.Spec.PerDeviceNodeSelection == nil && (s.Spec.AllNodes == nil || !*s.Spec.AllNodes))
		set("counters: of a node's slice", len(s.Spec.SharedCounters) > 0 && s.Spec.NodeName != nil)
		set("counters: for all nodes", len(s.Spec.SharedCounters) > 0 && s.Spec.AllNodes != nil)
		for k := range s.Spec.Devices {
			deviceFeatures(&s.Spec.Devices[k], s, set)
		}
	}
	for _, c := range w.classes {
		set("config: of a class", len(c.Spec.Config) > 0)
		set("selector: of a class", len(c.Spec.Selectors) > 0)
	}
	for _, c := range w.running {
		for _, r := range c.Status.Allocation.Devices.Results {
			w.allocatedFeatures(&r, set)
		}
	}
	set("claims: two", len(w.claims) == 2)
	set("claims: three", len(w.claims) > 2)
	for _, c := range w.claims {
		claimFeatures(c, set)
	}
	return f
}

func (w *world) poolFeatures(set func(string, bool)) {
	type key struct{ driver, pool string }
	pools := map[key][]*resourcev1.ResourceSlice{}
	drivers := map[string]string{}
	for _, s := range w.slices {
		k := key{s.Spec.Driver, s.Spec.Pool.Name}
		pools[k] = append(pools[k], s)
		set("pool: one name, two drivers", drivers[k.pool] != "" && drivers[k.pool] != k.driver)
		drivers[k.pool] = k.driver
	}
	for _, list := range pools {
		newest := slices.MaxFunc(list, func(a, b *resourcev1.ResourceSlice) int {
			return cmp.Compare(a.Spec.Pool.Generation, b.Spec.Pool.Generation)
		})
		generation, n, seen := newest.Spec.Pool.Generation, int64(0), map[string]bool{}
		set("pool: order of slice names", !slices.IsSortedFunc(list, func(a, b *resourcev1.ResourceSlice) int { return strings.Compare(a.Name, b.Name) }))
		sets := map[string]map[string]resourcev1.Counter{}
		for _, s := range list {
			set("pool: two generations", s.Spec.Pool.Generation != generation)
			set("pool: newer generation elsewhere", s.Spec.Pool.Generation < generation && s.Spec.NodeName != nil && newest.Spec.NodeName != nil && *s.Spec.NodeName != *newest.Spec.NodeName)
			if s.Spec.Pool.Generation != generation {
				continue
			}
			n++
			for k := range s.Spec.SharedCounters {
				c := &s.Spec.SharedCounters[k]
				set("pool: counter set twice", sets[c.Name] != nil)
				sets[c.Name] = c.Counters
			}
			set("pool: devices beside counters", len(s.Spec.SharedCounters) > 0 && len(s.Spec.Devices) > 0)
			for k := range s.Spec.Devices {
				set("pool: a device twice", seen[s.Spec.Devices[k].Name])
				seen[s.Spec.Devices[k].Name] = true
			}
		}
		set("pool: incomplete", n < newest.Spec.Pool.ResourceSliceCount)
		set("pool: too many slices", n > newest.Spec.Pool.ResourceSliceCount)
		for _, s := range list {
			for k := range s.Spec.Devices {
				for _, use := range s.Spec.Devices[k].ConsumesCounters {
					set("pool: counter set missing", sets[use.CounterSet] == nil)
					for name := range use.Counters {
						_, ok := sets[use.CounterSet][name]
						set("pool: counter missing", sets[use.CounterSet] != nil && !ok)
					}
				}
			}
		}
	}
}

func deviceFeatures(d *resourcev1.Device, s *resourcev1.ResourceSlice, set func(string, bool)) {
	if s.Spec.PerDeviceNodeSelection != nil {
		set("device reach: node", d.NodeName != nil)
		set("device reach: all nodes", d.AllNodes != nil)
		set("device reach: selector", d.NodeSelector != nil)
		set("device reach: nothing set", d.NodeName == nil && d.AllNodes == nil && d.NodeSelector == nil)
	}
	set("device: binds to node", d.BindsToNode != nil)
	for name, a := range d.Attributes {
		set("attribute: int", a.IntValue != nil)
		set("attribute: bool", a.BoolValue != nil)
		set("attribute: string", a.StringValue != nil)
		set("attribute: version", a.VersionValue != nil)
		set("attribute: list", a.IntValues != nil)
		domain, _, ok := strings.Cut(string(name), "/")
		set("attribute: domain of the driver", ok && domain == s.Spec.Driver)
		set("attribute: other domain", ok && domain != s.Spec.Driver)
	}
	shareable := d.AllowMultipleAllocations != nil
	set("counters: a device consumes", len(d.ConsumesCounters) > 0)
	set("counters: two sets", len(d.ConsumesCounters) > 1)
	set("counters: a shareable device consumes", len(d.ConsumesCounters) > 0 && shareable)
	set("capacity", len(d.Capacity) > 0)
	set("capacity: not shareable", len(d.Capacity) > 0 && !shareable)
	for _, c := range d.Capacity {
		policyFeatures(&c, set)
	}
	for _, taint := range d.Taints {
		switch taint.Effect {
		case resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone:
			set("taint: "+string(taint.Effect), true)
		default:
			set("taint: unknown effect", true)
		}
	}
	set("taint: two", len(d.Taints) > 1)
	set("binding conditions", len(d.BindingConditions) > 0)
	set("binding conditions: empty list", d.BindingConditions != nil && len(d.BindingConditions) == 0)
	set("binding conditions: failure", len(d.BindingConditions) > 0 && len(d.BindingFailureConditions) > 0)
	set("binding conditions: failure alone", len(d.BindingConditions) == 0 && len(d.BindingFailureConditions) > 0)
}

func policyFeatures(c *resourcev1.DeviceCapacity, set func(string, bool)) {
	p := c.RequestPolicy
	if p == nil {
		set("policy: none", true)
		return
	}
	r := p.ValidRange
	set("policy: default", p.Default != nil && r == nil && p.ValidValues == nil)
	set("policy: default above the value", p.Default != nil && p.Default.Cmp(c.Value) > 0)
	set("policy: valid values", len(p.ValidValues) > 0)
	if r == nil {
		return
	}
	set("policy: default outside the range", p.Default != nil && r.Max != nil && p.Default.Cmp(*r.Max) > 0)
	set("policy: range with a minimum", r.Min != nil)
	set("policy: range with a maximum", r.Max != nil && r.Min == nil)
	set("policy: range with a step", r.Step != nil)
}

func (w *world) allocatedFeatures(r *resourcev1.DeviceRequestAllocationResult, set func(string, bool)) {
	device := w.device(r.Driver, r.Pool, r.Device)
	set("allocated: a device that is gone", device == nil)
	set("admin access: an allocation", r.AdminAccess != nil)
	set("allocated: dedicated", r.ShareID == nil)
	set("allocated: a share", r.ShareID != nil && r.ConsumedCapacity != nil)
	set("allocated: a share without capacity", r.ShareID != nil && r.ConsumedCapacity == nil)
	set("allocated: a share of a dedicated device", r.ShareID != nil && device != nil && device.AllowMultipleAllocations == nil)
}

func (w *world) device(driver, pool, name string) *resourcev1.Device {
	for _, s := range w.slices {
		for k := range s.Spec.Devices {
			if d := &s.Spec.Devices[k]; d.Name == name && s.Spec.Driver == driver && s.Spec.Pool.Name == pool {
				return d
			}
		}
	}
	return nil
}

func claimFeatures(c *resourcev1.ResourceClaim, set func(string, bool)) {
	sum := int64(0)
	for k := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[k]
		if e := r.Exactly; e != nil {
			sum += e.Count
			set("mode: one", e.AllocationMode == resourcev1.DeviceAllocationModeExactCount && e.Count == 1)
			set("mode: several", e.Count > 1)
			set("admin access", e.AdminAccess != nil && *e.AdminAccess)
			set("admin access: false", e.AdminAccess != nil && !*e.AdminAccess)
			set("limit: more than 32 devices", e.Count > 32)
			set("limit: 32 devices", e.Count == 32)
			requestFeatures(e.DeviceClassName, e.AllocationMode, e.Count, e.Selectors, e.Tolerations, e.Capacity, set)
		}
		set("firstAvailable", len(r.FirstAvailable) > 0)
		for j := range r.FirstAvailable {
			e := &r.FirstAvailable[j]
			set("firstAvailable: all", e.AllocationMode == resourcev1.DeviceAllocationModeAll)
			set("firstAvailable: several", e.Count > 1)
			set("limit: more than 32 in an alternative", e.Count > 32)
			requestFeatures(e.DeviceClassName, e.AllocationMode, e.Count, e.Selectors, e.Tolerations, e.Capacity, set)
		}
	}
	set("limit: more than 32 over requests", sum > 32)
	for _, x := range c.Spec.Devices.Constraints {
		attribute := cmp.Or(x.MatchAttribute, x.DistinctAttribute)
		set("constraint: match", x.MatchAttribute != nil)
		set("constraint: distinct", x.DistinctAttribute != nil)
		set("constraint: empty", attribute == nil)
		set("constraint: of one request", len(x.Requests) == 1 && !strings.Contains(x.Requests[0], "/"))
		set("constraint: of an alternative", len(x.Requests) > 0 && strings.Contains(x.Requests[0], "/"))
		set("constraint: on a list", attribute != nil && strings.HasSuffix(string(*attribute), "/list"))
		set("constraint: without a domain", attribute != nil && !strings.Contains(string(*attribute), "/"))
	}
	set("constraint: two", len(c.Spec.Devices.Constraints) > 1)
	set("config: of a claim", len(c.Spec.Devices.Config) > 0)
}

func requestFeatures(class string, mode resourcev1.DeviceAllocationMode, count int64, selectors []resourcev1.DeviceSelector, tolerations []resourcev1.DeviceToleration, capacity *resourcev1.CapacityRequirements, set func(string, bool)) {
	set("class: no name", class == "")
	set("class: missing", class == "zz")
	set("mode: all", mode == resourcev1.DeviceAllocationModeAll)
	set("mode: unknown", mode != resourcev1.DeviceAllocationModeAll && mode != resourcev1.DeviceAllocationModeExactCount)
	set("mode: no device", mode == resourcev1.DeviceAllocationModeExactCount && count == 0)
	set("selector: of a request", len(selectors) > 0)
	set("selector: two", len(selectors) > 1)
	for _, s := range selectors {
		set("selector: without an expression", s.CEL == nil)
		set("selector: does not compile", s.CEL != nil && s.CEL.Expression == "nope")
		set("selector: not a bool", s.CEL != nil && s.CEL.Expression == "device.driver")
		set("selector: too expensive", s.CEL != nil && s.CEL.Expression == tooExpensive)
	}
	for _, x := range tolerations {
		switch x.Operator {
		case "":
			set("toleration: no operator", true)
		case resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpEqual:
			set("toleration: "+string(x.Operator), true)
		default:
			set("toleration: unknown operator", true)
		}
		set("toleration: no key", x.Key == "")
		set("toleration: any effect", x.Effect == "")
		set("toleration: one effect", x.Effect != "")
	}
	set("toleration: two", len(tolerations) > 1)
	if capacity == nil {
		return
	}
	set("capacity: asked", true)
	set("capacity: two names", len(capacity.Requests) > 1)
	for name := range capacity.Requests {
		set("capacity: name that no device has", name == "zz")
		set("capacity: default domain spelled out", strings.Contains(string(name), "/"))
	}
}

var quoted = regexp.MustCompile(`(claim|request|class|slice|pool|device|attribute) (\S+?)([,: ]|$)|#\d+|\d+`)

// errorKind is an error without the names in it.
func errorKind(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if i := strings.Index(text, "failed to parse node selector "); i >= 0 {
		text = text[:i]
	}
	return "error: " + quoted.ReplaceAllString(text, "$1 X$3")
}

// outcomes names what the answers are.
func (a answers) outcomes() map[string]bool {
	f := map[string]bool{}
	for _, x := range a {
		switch {
		case x.err != nil:
			f[errorKind(x.err)] = true
		case !x.ok:
			f["outcome: none"] = true
		default:
			f["outcome: allocated"] = true
			for _, r := range x.results {
				resultOutcomes(&r, f)
			}
		}
	}
	return f
}

func resultOutcomes(r *resourcev1.AllocationResult, f map[string]bool) {
	for _, d := range r.Devices.Results {
		if _, alternative, ok := strings.Cut(d.Request, "/"); ok {
			f["outcome: alternative "+alternative] = true
		}
		if d.ShareID != nil {
			f["outcome: a share"] = true
		}
		if d.AdminAccess != nil {
			f["outcome: admin access"] = true
		}
		if d.Tolerations != nil {
			f["outcome: tolerations"] = true
		}
		if d.BindingConditions != nil {
			f["outcome: binding conditions"] = true
		}
	}
	f[fmt.Sprintf("outcome: on %s", reachKind(r.NodeSelector))] = true
}

func reachKind(s *v1.NodeSelector) string {
	switch {
	case s == nil:
		return "all nodes"
	case len(s.NodeSelectorTerms[0].MatchExpressions) == 0:
		return "one node"
	}
	return "a selector"
}

var wantedOutcomes = []string{
	"outcome: none", "outcome: allocated", "outcome: alternative s0", "outcome: alternative s1", "outcome: a share", "outcome: admin access",
	"outcome: tolerations", "outcome: binding conditions", "outcome: on all nodes", "outcome: on one node", "outcome: on a selector",
	"error: invalid resource pools were encountered",
}
