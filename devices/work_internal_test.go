package devices

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// oneClaim has a claim under every name, and its class.
type oneClaim struct {
	onlyClaims
	class *resourcev1.DeviceClass
}

func (c oneClaim) DeviceClass(string) *resourcev1.DeviceClass             { return c.class }
func (c oneClaim) ResourceClaim(string, string) *resourcev1.ResourceClaim { return c.onlyClaims[0] }

type nodeList []*v1.Node

func (l nodeList) Len() int            { return len(l) }
func (l nodeList) Node(i int) *v1.Node { return l[i] }

// stateOfTwo returns the state of a pod that wants n devices, over two nodes with one device each.
func stateOfTwo(n int64) *state {
	var published []*resourcev1.ResourceSlice
	var nodes nodeList
	for k := range 2 {
		name := fmt.Sprint("n", k)
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		published = append(published, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "example.com", Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1}, NodeName: &name, Devices: []resourcev1.Device{{Name: "d"}}}})
	}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "class", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n}}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim.Name}}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}
	a := NewAllocator(NewLedger(NewInventory(published)), func(string) *resourcev1.DeviceClass { return class }, nil, Options{})
	return Compile(pod, oneClaim{onlyClaims{claim}, class}, nil).on(nodes, a, Clock{})
}

// Nodes of a class are searched once, and the class of a node is found once.
func TestSearchesOnce(t *testing.T) {
	s := stateOfTwo(1)
	search := s.searchFor(nil).Search
	require.Same(t, search, s.searchFor(nil).Search, "the search of a state is made once")
	require.Zero(t, s.Check(0))
	first := search.node
	require.Zero(t, s.Check(1))
	require.Same(t, first, search.node, "the second node has the answer of the first")

	search.shape.buffer = nil
	for i, node := range s.cluster.(nodeList) {
		require.Zero(t, search.classOf(s.allocator.viewOf(i, node)))
	}
	require.Nil(t, search.shape.buffer, "no signature is written again")
}

// Nodes of a class with an invalid pool are searched once.
func TestSearchesInvalidPoolsOnce(t *testing.T) {
	s := stateOfTwo(1)
	search := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{privateSlice("n0", "d", "d"), privateSlice("n1", "d", "d")})), s.allocator.classes, nil, Options{}).Compile(s.pending...)
	nodes := s.cluster.(nodeList)
	for i, node := range nodes {
		require.Equal(t, ErrInvalidPools, search.ask(search.allocator.viewOf(i, node)).err)
	}
	require.Same(t, nodes[0], search.node)
}

// Nodes of a class share the lines of an explanation.
func TestExplainsOnce(t *testing.T) {
	s := stateOfTwo(2)
	first, second := s.Numbers(0), s.Numbers(1)
	require.Equal(t, []string{"claim default/c, request r: wants 2, 1 of 1 devices left"}, first)
	require.Same(t, &first[0], &second[0])

	s = stateOfTwo(2)
	s.allocator.inventory.coupled = true
	first, second = s.Numbers(0), s.Numbers(1)
	require.Equal(t, first, second)
	require.NotSame(t, &first[0], &second[0], "without classes each node has lines of its own")
}

// Resources whose names together give one text have searches of their own.
func TestSearchesByResources(t *testing.T) {
	s := stateOfTwo(1)
	two := s.searchFor([]v1.ResourceName{"x/ab", "x/c"})
	require.Same(t, two, s.searchFor([]v1.ResourceName{"x/ab", "x/c"}))
	require.NotSame(t, two, s.searchFor([]v1.ResourceName{"x/a", "bx/c"}))
}

// A claim that several victims use is free once, when all of its users are gone.
func TestFreesOnce(t *testing.T) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	for _, uid := range []types.UID{"a", "b", "c"} {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{UID: uid})
	}
	trial := (&state{}).Freeing(oneClaim{onlyClaims: onlyClaims{claim}}).(*freeing).NewTrial().(*freeingTrial)
	for k := range 3 {
		require.Empty(t, trial.free(), "%d users are gone", k)
		uid := claim.Status.ReservedFor[k].UID
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid}}
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim.Name}}
		trial.Remove(pod, 0)
	}
	require.Equal(t, []*resourcev1.ResourceClaim{claim}, trial.free())
}

// The search without quirks is made once for all nodes.
func TestCompleteKeepsSearch(t *testing.T) {
	s := stateOfTwo(2)
	search := s.searchFor(nil).Search
	for _, node := range s.cluster.(nodeList) {
		before := search.corrected
		_, ok, err := search.Complete(node)
		require.NoError(t, err)
		require.False(t, ok)
		if before != nil {
			require.Same(t, before, search.corrected)
		}
		require.Len(t, search.corrected.tried, 1, "the classes of devices are those of one node")
	}
	require.NotNil(t, search.corrected)
}

// Slices with counters alone offer no devices, so nobody looks for devices in them.
func TestCountersAlone(t *testing.T) {
	counters := []resourcev1.CounterSet{{Name: "set", Counters: map[string]resourcev1.Counter{"c": {Value: resource.MustParse("1")}}}}
	slice := func(name string, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "example.com", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 2}, NodeName: new("n"), SharedCounters: counters, Devices: devices}}
	}
	inventory := NewInventory([]*resourcev1.ResourceSlice{slice("alone"), slice("with", resourcev1.Device{Name: "d"})})
	require.Len(t, inventory.both, 1)
	require.Equal(t, "with", inventory.both[0].object.Name)
}

// A slot is noted once for each pool that its nodes see, also when the object of the node changes.
func TestSlotsOfAPool(t *testing.T) {
	a := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{privateSlice("n", "d"), privateSlice("m", "d")})), nil, nil, Options{})
	at := func(name string) int32 { return a.inventory.byNode[name][0].devices[0].index }
	for _, name := range []string{"n", "n", "m", "n"} {
		a.viewOf(3, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		a.viewOf(5, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, name := range []string{"n", "m"} {
		require.Equal(t, []int32{3, 5}, a.seenBy[a.inventory.poolOf[at(name)]], name)
	}
}

// counting counts the calls of a compiler and of its selectors, which match the devices that allow several allocations.
type counting struct{ compiled, asked *int }

func (c counting) Compile(string) (Selector, error) {
	*c.compiled++
	return c, nil
}

func (c counting) Matches(d Device) (bool, error) {
	*c.asked++
	return d.AllowMultipleAllocations, nil
}

// A selector is compiled once, and evaluated once for devices of equal contents.
func TestEvaluatesOnce(t *testing.T) {
	slice := privateSlice("n", "a", "b", "shared")
	slice.Spec.Devices[2].AllowMultipleAllocations = new(true)
	inventory := NewInventory([]*resourcev1.ResourceSlice{slice})
	c := counting{new(int), new(int)}
	a := NewAllocator(NewLedger(inventory), nil, c, Options{})
	for range 2 {
		for k := range slice.Spec.Devices {
			ok, err := a.matches(a.program("x"), &inventory.byNode["n"][0].devices[k])
			require.NoError(t, err)
			require.Equal(t, k == 2, ok)
		}
	}
	require.Equal(t, []int{1, 2}, []int{*c.compiled, *c.asked})
}

// A node shares no answers when its answer depends on the nodes before it, and when it has an error of its own.
func TestNodesWithoutClass(t *testing.T) {
	consuming := func(driver, node string) *resourcev1.ResourceSlice {
		s := privateSlice(node, "d")
		s.Spec.Driver, s.Spec.Pool.Name = driver, "p"
		s.Spec.Devices[0].ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set"}}
		return s
	}
	faulty := privateSlice("m", "d")
	faulty.Spec.NodeName = nil
	faulty.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "rack", Operator: "Like", Values: []string{"n"}}}}}}
	for name, c := range map[string]struct {
		published []*resourcev1.ResourceSlice
		class     int32
	}{
		"alone":             {[]*resourcev1.ResourceSlice{privateSlice("n", "d")}, 0},
		"shared counters":   {[]*resourcev1.ResourceSlice{consuming("a", "n"), consuming("b", "n")}, -1},
		"a selector failed": {[]*resourcev1.ResourceSlice{privateSlice("n", "d"), faulty}, -1},
	} {
		s := NewAllocator(NewLedger(NewInventory(c.published)), nil, nil, Options{}).Compile()
		s.shape = s.allocator.shapeOf(s)
		s.shape.buffer = make([]byte, 0, 64)
		require.Equal(t, c.class, s.classOf(s.allocator.viewOf(0, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})), name)
	}
}

// The place of a holder that has gone is used again.
func TestPlacesOfHolders(t *testing.T) {
	l := NewLedger(NewInventory([]*resourcev1.ResourceSlice{privateSlice("n", "d")}))
	r := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: "n", Device: "d"}
	for k := range 5 {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("c", k)}}
		allocation := &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
		l.Add(c, allocation)
		l.Remove(c, allocation)
	}
	require.Len(t, l.holders, 1)
}

// A state answers about nodes that came after it, even when there are many more.
func TestStateOfAGrownCluster(t *testing.T) {
	s := stateOfTwo(1)
	require.Zero(t, s.Check(1))
	few := s.cluster.(nodeList)
	for _, n := range []int{pageSize, pageSize + 1, 5*pageSize + 1} {
		grown := make(nodeList, n)
		copy(grown, few)
		grown[n-1] = few[0]
		s.cluster = grown
		require.Zero(t, s.Check(n-1))
		require.Zero(t, s.Check(0))
	}
	require.Len(t, s.answers, 6)
}

// A claim that gives a device back is told from the device's other holders, also by a copy of its object.
func TestReleasedHolder(t *testing.T) {
	r := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: "n", Device: "d"}
	allocation := &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	for name, change := range map[string]func(c *resourcev1.ResourceClaim){
		"namespace":     func(c *resourcev1.ResourceClaim) { c.Namespace = "other" },
		"name":          func(c *resourcev1.ResourceClaim) { c.Name = "other" },
		"generate name": func(c *resourcev1.ResourceClaim) { c.GenerateName = "other-" },
		"allocation":    func(c *resourcev1.ResourceClaim) { c.Status.Allocation = allocation },
	} {
		l := NewLedger(NewInventory([]*resourcev1.ResourceSlice{privateSlice("n", "d")}))
		gone := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
		stays := gone.DeepCopy()
		change(stays)
		l.Add(gone, allocation)
		l.Add(stays, allocation)
		l.Remove(gone.DeepCopy(), allocation)
		require.Same(t, stays, l.holders[l.first[0]-1].claim, name)
	}
}

// A node looks at a slice with node selections of its devices when it can use one of them.
func TestRelevantByDevice(t *testing.T) {
	slice := privateSlice("n", "a", "b")
	slice.Spec.NodeName, slice.Spec.PerDeviceNodeSelection = nil, new(true)
	slice.Spec.Devices[0].NodeName, slice.Spec.Devices[1].NodeName = new("n"), new("m")
	inventory := NewInventory([]*resourcev1.ResourceSlice{slice})
	for name, want := range map[string]bool{"n": true, "m": true, "o": false} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		got, err := inventory.open[0].relevant(node)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
		pools, err := NewAllocator(NewLedger(inventory), nil, nil, Options{}).poolsOf(node)
		require.NoError(t, err)
		require.Equal(t, want, len(pools) == 1, name)
	}
}

// A clock without a time-out for binding conditions has the default.
func TestDefaultTimeout(t *testing.T) {
	s := stateOfTwo(1)
	require.Equal(t, defaultBindingTimeout, s.clock.BindingTimeout)
	require.Equal(t, defaultBindingTimeout+1, s.pod.on(s.cluster, s.allocator, Clock{BindingTimeout: defaultBindingTimeout + 1}).clock.BindingTimeout)
}
