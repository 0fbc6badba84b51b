package devices

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Attributes that differ in any list have different keys, also where elements of one list look like those of another.
func TestKeysOfAttributes(t *testing.T) {
	seen := map[string]resourcev1.DeviceAttribute{}
	for _, ints := range [][]int64{nil, {0}, {1}, {0, 0}} {
		for _, bools := range [][]bool{nil, {false}, {true}, {true, false}} {
			for _, texts := range [][]string{nil, {""}, {"", ""}, {"\x00"}, {"\x01"}} {
				for _, versions := range [][]string{nil, {""}, {"", ""}, {"\x00"}, {"\x01"}} {
					a := resourcev1.DeviceAttribute{IntValues: ints, BoolValues: bools, StringValues: texts, VersionValues: versions}
					b := string(appendAttribute(nil, a))
					require.NotContains(t, seen, b, "%v", a)
					seen[b] = a
				}
			}
		}
	}
}

// Most devices have nothing that a kind depends on. Their kind is found without a text.
func TestKindOfPlainDevice(t *testing.T) {
	kinds := contents{}
	plain := &resourcev1.Device{Name: "d"}
	kinds.kindOf(plain, nil)
	require.Zero(t, testing.AllocsPerRun(10, func() { kinds.kindOf(plain, nil) }))
}

// Nodes whose pools differ in a counter alone are of different classes.
func TestClassesByCounters(t *testing.T) {
	counters := func(n string) map[string]resourcev1.Counter {
		out := map[string]resourcev1.Counter{"slots": {Value: resource.MustParse(n)}}
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} { // a map yields them in any order
			out[name] = resourcev1.Counter{Value: resource.MustParse("2")}
		}
		return out
	}
	var published []*resourcev1.ResourceSlice
	for name, have := range map[string]string{"few": "1", "enough": "2", "more": "2"} {
		slice := privateSlice(name, "d")
		slice.Spec.Pool.ResourceSliceCount = 2
		slice.Spec.Devices[0].ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: counters("2")}}
		sets := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-sets"}, Spec: slice.Spec}
		sets.Spec.Devices, sets.Spec.SharedCounters = nil, []resourcev1.CounterSet{{Name: "set", Counters: counters(have)}}
		published = append(published, slice, sets)
	}
	s := stateOfTwo(1)
	search := NewAllocator(NewLedger(NewInventory(published)), s.allocator.classes, nil, Options{}).Compile(s.pending...)
	answers := map[string]answer{}
	classes := map[string]int32{}
	for k, name := range []string{"few", "enough", "more"} {
		v := search.allocator.viewOf(k, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		answers[name], classes[name] = search.ask(v), search.classOf(v)
	}
	require.Equal(t, []bool{false, true, true}, []bool{answers["few"].ok, answers["enough"].ok, answers["more"].ok})
	require.Equal(t, classes["enough"], classes["more"])
	require.NotEqual(t, classes["few"], classes["more"])
}

// Nodes that see different devices of a pool are of different classes, also when the devices are alike.
func TestClassesByDevices(t *testing.T) {
	of := func(name, node string) *resourcev1.ResourceSlice {
		slice := privateSlice(node, name)
		slice.Name, slice.Spec.Pool.Name = name, "shared"
		return slice
	}
	s := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{of("a", "n"), of("b", "m")})), nil, nil, Options{}).Compile()
	n := s.classOf(s.allocator.viewOf(0, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	m := s.classOf(s.allocator.viewOf(1, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}))
	require.NotEqual(t, n, m)
	require.NotEqual(t, int32(-1), n)
}

// A node uses the slices that it sees, when they are as many as the pool says: others of the generation have no say.
func TestSlicesOfOtherNodes(t *testing.T) {
	own, other := privateSlice("n", "d"), privateSlice("m", "d")
	other.Spec.Pool.Name = "n"
	other.Spec.Devices[0].ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "unknown"}}
	a := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{own, other})), nil, nil, Options{})
	for name, want := range map[string]poolState{"n": complete, "m": invalid} {
		pools, err := a.poolsOf(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.NoError(t, err)
		require.Len(t, pools, 1)
		require.Equal(t, want, pools[0].state, name)
	}
}

// faulty is a compiler whose selectors fail. It counts the evaluations.
type faulty struct {
	asked *int
	err   error
}

func (f faulty) Compile(string) (Selector, error) { return f, nil }
func (f faulty) Matches(Device) (bool, error) {
	*f.asked++
	return true, f.err
}

// searchWith returns a search of a claim for one device with a selector, over a node n with devices a and b.
func searchWith(compiler SelectorCompiler) *Search {
	s := stateOfTwo(1)
	s.pending[0].Spec.Devices.Requests[0].Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "x"}}}
	inventory := NewInventory([]*resourcev1.ResourceSlice{privateSlice("n", "a", "b")})
	return NewAllocator(NewLedger(inventory), s.allocator.classes, compiler, Options{}).Compile(s.pending...)
}

// The cause of a failure can be found in the error.
func TestCauseOfFailure(t *testing.T) {
	cause := errors.New("no such key: x")
	s := searchWith(faulty{new(int), cause})
	_, ok, err := s.Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.False(t, ok)
	require.EqualError(t, err, "claim default/c: selector #0 on device example.com/n/a: CEL runtime error: no such key: x. consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields")
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, err, ErrFatal)
}

// Complete asks once for the class of a device, also when the device has none because a selector fails.
func TestClassOfDeviceOnce(t *testing.T) {
	f := faulty{new(int), errors.New("no such key: x")}
	s := searchWith(f)
	s.tried, s.shape = map[int32]int32{}, s.allocator.newShape(s)
	v := s.allocator.view(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	for range 3 {
		require.Zero(t, s.alike(candidate{v.pools[0], v.pools[0].devices[0]}))
	}
	require.Equal(t, 1, *f.asked)
	require.EqualValues(t, -1, s.classOf(v), "the error belongs to the node")
}

// Claims that ask for the same have shapes of their own when the object of their class is another.
func TestShapesByClass(t *testing.T) {
	s := stateOfTwo(1)
	class := s.allocator.classes("class")
	a := NewAllocator(s.allocator.ledger, func(string) *resourcev1.DeviceClass { return class }, nil, Options{})
	first := a.shapeOf(a.Compile(s.pending...))
	require.Same(t, first, a.shapeOf(a.Compile(s.pending[0].DeepCopy())))
	class = class.DeepCopy()
	require.NotSame(t, first, a.shapeOf(a.Compile(s.pending...)))
}
