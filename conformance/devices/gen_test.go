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
// fails, would hide what is left to compare. Other worlds have one defect, and some have several of them.
type generator struct {
	*rand.Rand
	clean  bool
	easy   bool   // claims that often fit
	plenty bool   // many devices, for the limit of a claim
	defect string // of this world; "" without
}

// defects are what flawed asks about.
var defects = []string{
	"node selector that cannot be parsed", "node selector with two terms", "count of slices", "generation", "a device twice",
	"counter set missing", "counter set twice", "counter missing", "devices beside counters", "version that cannot be parsed",
	"class missing", "class without a name", "mode", "number of devices", "empty constraint", "selector that does not compile",
	"selector that is not a bool", "selector without an expression", "class selector", "runtime error", "dynamic type", "cost",
}

// flawed reports whether this place of the world has the world's defect.
func (g *generator) flawed(defect string) bool { return g.defect == defect && g.chance(50) }

// mess is chance in a world that is not clean.
func (g *generator) mess(percent int) bool { return !g.clean && g.chance(percent) }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func ptr[T any](x T) *T { return &x }

func (g *generator) world() *world {
	w := &world{}
	g.clean = g.chance(85)
	g.defect = ""
	if g.clean && g.chance(35) {
		g.defect = pick(g, defects...)
	}
	g.easy, g.plenty = g.chance(40), g.chance(4)
	for k := range 1 + g.IntN(3) {
		w.nodes = append(w.nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", k+1), Labels: map[string]string{
			"zone": pick(g, "a", "b"), "rack": pick(g, "1", "2")}}})
	}
	g.classesOf(w)
	drivers := []string{"drv", "other"}
	if g.easy {
		drivers = []string{"drv", "drv", "drv", "other"}
	}
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
	if g.mess(3) || g.flawed("class selector") {
		w.classes[g.IntN(2)].Spec.Selectors = []resourcev1.DeviceSelector{celSelector("device.nope")}
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
	if g.mess(5) || g.flawed("node selector with two terms") {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, *term.DeepCopy())
	}
	if g.flawed("node selector that cannot be parsed") {
		s.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Bad"
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
	if g.mess(25) || g.flawed("count of slices") {
		count += int64(pick(g, -1, 1))
	}
	shared := 0 // 1: the devices of several slices have the same names at times
	if g.mess(33) || g.flawed("a device twice") {
		shared = 1
	}
	if g.chance(12) && !counters { // an old generation that the driver has not deleted yet
		g.slices(w, driver, name, at, n, 1, count, false, shared, "old")
	}
	g.slices(w, driver, name, at, n, 2, count, counters, shared, "s")
	if counters {
		g.counterSlice(w, driver, name, at, count)
	}
}

// slices makes the slices with devices of one generation of a pool.
func (g *generator) slices(w *world, driver, name string, at, n int, newest, count int64, counters bool, shared int, prefix string) {
	generation := func() int64 {
		if g.mess(15) || g.flawed("generation") && g.chance(50) {
			return 3
		}
		return newest
	}
	for k := range n {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s%c%d-%d", prefix, 'a'+rune(g.IntN(3)), at, k)}}
		s.Spec = resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: name, Generation: generation(), ResourceSliceCount: count}}
		reach := g.IntN(8)
		if g.easy && g.chance(60) {
			reach = pick(g, 3, 7)
		}
		switch reach {
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
		for j := range g.devices() {
			device := fmt.Sprintf("d%d", j+k*10*(1-shared)+shared*k*g.IntN(2)*10)
			s.Spec.Devices = append(s.Spec.Devices, g.device(device, driver, counters, s.Spec.PerDeviceNodeSelection != nil))
		}
		w.slices = append(w.slices, s)
	}
}

// devices returns the number of devices of a slice.
func (g *generator) devices() int {
	if g.plenty {
		return 20
	}
	return 1 + g.IntN(5)
}

func (g *generator) counterSlice(w *world, driver, name string, at int, count int64) {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("counters-%d", at)}}
	s.Spec = resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: name, Generation: 2, ResourceSliceCount: count}}
	if g.chance(50) {
		s.Spec.NodeName = ptr(pick(g, "n1", "n2"))
	} else {
		s.Spec.AllNodes = ptr(true)
	}
	for _, set := range []string{"gpu0", "gpu1"} {
		if g.mess(10) || g.flawed("counter set missing") {
			continue
		}
		c := resourcev1.CounterSet{Name: set, Counters: map[string]resourcev1.Counter{"mem": {Value: resource.MustParse(pick(g, "40Gi", "20Gi"))}}}
		if !g.mess(10) && !g.flawed("counter missing") {
			c.Counters["slots"] = resourcev1.Counter{Value: resource.MustParse(pick(g, "4", "2"))}
		}
		s.Spec.SharedCounters = append(s.Spec.SharedCounters, c)
	}
	if (g.mess(6) || g.flawed("counter set twice")) && len(s.Spec.SharedCounters) > 0 {
		s.Spec.SharedCounters = append(s.Spec.SharedCounters, *s.Spec.SharedCounters[0].DeepCopy())
	}
	if g.mess(8) || g.flawed("devices beside counters") {
		s.Spec.Devices = append(s.Spec.Devices, g.device("beside", driver, true, false))
	}
	w.slices = append(w.slices, s)
}

// allocations takes some devices, as claims of running pods.
func (g *generator) allocations(w *world) {
	share := pick(g, 6, 15, 30) // of the devices, in percent
	if g.easy {
		share = 4
	}
	if g.chance(4) {
		w.running = append(w.running, g.running(0, resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: "drv", Pool: "p", Device: "gone"}))
	}
	for _, s := range w.slices {
		for k := range s.Spec.Devices {
			d := &s.Spec.Devices[k]
			if !g.chance(share) {
				continue
			}
			r := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Device: d.Name}
			shared := d.AllowMultipleAllocations != nil
			if g.chance(10) {
				shared = !shared
			}
			if shared {
				r.ShareID = ptr(types.UID(fmt.Sprintf("running-%d-%s", len(w.running), d.Name)))
				if g.chance(75) {
					r.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"mem": resource.MustParse(pick(g, "0", "3Gi", "8Gi", "10Gi"))}
				}
			}
			if g.chance(8) {
				r.AdminAccess = ptr(true)
			}
			w.running = append(w.running, g.running(len(w.running), r))
		}
	}
}

func (g *generator) running(number int, r resourcev1.DeviceRequestAllocationResult) *resourcev1.ResourceClaim {
	name := fmt.Sprintf("running-%d", number)
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	return c
}
