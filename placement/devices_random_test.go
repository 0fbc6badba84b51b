package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
)

// models compiles expressions "MODEL" and "!MODEL". The expression "fails" fails for devices of model c.
type models struct{}

func (models) Compile(expression string) (devices.Selector, error) {
	if expression == "(" {
		return nil, errors.New("no expression")
	}
	return model(expression), nil
}

type model string

func (m model) Matches(d devices.Device) (bool, error) {
	is := ""
	if a, ok := d.Attributes["model"]; ok {
		is = *a.StringValue
	}
	if m == "fails" && is == "c" {
		return false, errors.New("no such key")
	}
	if other, not := strings.CutPrefix(string(m), "!"); not {
		return is != other, nil
	}
	return m == "fails" || is == string(m), nil
}

// deviceWorld makes random slices and claims from few names and values.
type deviceWorld struct {
	*world
	claims int
}

// pool publishes devices that one node, the nodes of a zone, or all nodes see.
func (w *deviceWorld) pool(name string, nodes int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
	}}
	node, all := fmt.Sprintf("n%d", w.r.IntN(nodes)), true
	switch k := w.r.IntN(10); {
	case k == 0:
		s.Spec.AllNodes = &all
	case k == 1:
		s.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{w.pick("a", "b")}}}}}}
	default:
		s.Spec.NodeName = &node
	}
	if w.chance(12) {
		s.Spec.Pool.ResourceSliceCount = 2 // a slice is missing
	}
	conditions := []string(nil)
	if w.chance(12) {
		conditions = []string{"Attached"}
	}
	for k := range 1 + w.r.IntN(4) {
		d := resourcev1.Device{Name: fmt.Sprintf("d%d", k), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
		if !w.chance(6) {
			value := w.pick("a", "b", "a", "b", "a", "b", "c")
			d.Attributes["model"] = resourcev1.DeviceAttribute{StringValue: &value}
		}
		d.BindingConditions = conditions
		link := int64(w.r.IntN(2))
		d.Attributes["link"] = resourcev1.DeviceAttribute{IntValue: &link}
		if w.chance(4) {
			d.AllowMultipleAllocations = &all
			d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("8Gi")}}
		}
		if w.chance(8) {
			d.Taints = []resourcev1.DeviceTaint{{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
		}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	return s
}

func selectors(expression string) []resourcev1.DeviceSelector {
	if expression == "" {
		return nil
	}
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

func (w *deviceWorld) class(name string) *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Selectors = selectors(w.pick("", "!b", "a"))
	if w.chance(3) {
		extended := "example.com/gpu"
		c.Spec.ExtendedResourceName = &extended
	}
	return c
}

// claim makes one of few kinds of claims.
func (w *deviceWorld) claim() *resourcev1.ResourceClaim {
	w.claims++
	r := &world{r: rand.New(rand.NewPCG(uint64(w.r.IntN(8)), 3))}
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: r.pick("default", "other"), Name: fmt.Sprintf("c%d", w.claims)}}
	c.UID = types.UID(c.Name)
	exactly := func() *resourcev1.ExactDeviceRequest {
		x := &resourcev1.ExactDeviceRequest{DeviceClassName: r.pick("one", "two"), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + r.r.IntN(2)), Selectors: selectors(r.pick("", "", "a", "!a", "b", "fails"))}
		if r.chance(6) {
			x.AllocationMode, x.Count = resourcev1.DeviceAllocationModeAll, 0
		}
		if r.chance(4) {
			x.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("3Gi")}}
		}
		return x
	}
	for k := range 1 + r.r.IntN(2) {
		request := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", k)}
		if r.chance(3) {
			for j := range 2 {
				x := exactly()
				request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", j), DeviceClassName: x.DeviceClassName, AllocationMode: x.AllocationMode, Count: x.Count, Selectors: x.Selectors, Capacity: x.Capacity})
			}
		} else {
			request.Exactly = exactly()
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, request)
	}
	if link := resourcev1.FullyQualifiedName("gpu.example.com/link"); r.chance(3) {
		c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &link}}
	}
	return c
}

// whole is text with what the claims get.
func whole(t *testing.T, d Decision) string {
	results, err := json.Marshal(d.Devices.Results)
	require.NoError(t, err)
	return fmt.Sprint(text(d), given(d.Devices), string(results))
}

// Kept answers about claims change no decision, after any changes of claims, slices, classes, nodes and pods.
func TestKeptClaimsChangeNothing(t *testing.T) {
	seeds := max(30, testkit.Rounds(60))
	var sum keptDecisions
	for seed := range seeds {
		n := playDevices(t, rand.New(rand.NewPCG(uint64(seed), 11)), fmt.Sprint("seed ", seed), 60)
		sum = keptDecisions{sum.shared + n.shared, sum.extended + n.extended, sum.allocated + n.allocated, sum.given + n.given, sum.homeless + n.homeless}
	}
	require.Greater(t, sum.shared, seeds*5, "decisions about pods with claims that used shared work")
	require.Greater(t, sum.extended, seeds*2, "decisions about pods with extended resources of classes that used shared work")
	require.Greater(t, sum.allocated, seeds, "decisions about pods with allocated claims that used shared work")
	require.Positive(t, sum.given, "allocations that PostFilter gives back after shared work")
	require.Greater(t, sum.homeless, seeds, "failures of pods with allocated claims from shared work")
}

func FuzzKeptClaims(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 2000), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, steps uint8) {
		playDevices(t, rand.New(testkit.NewBytes(data)), "fuzz", int(steps%16))
	})
}

// keptDecisions counts decisions that used kept work: about pods with claims, with extended resources of classes, and with allocated
// claims, homeless of the last the failures. given counts the allocations that PostFilter would give back after such a failure.
type keptDecisions struct{ shared, extended, allocated, given, homeless int }

// playDevices runs random operations on a cluster with devices and decides pods with and without kept work.
func playDevices(t *testing.T, r *rand.Rand, name string, steps int) (out keptDecisions) {
	w := &deviceWorld{world: &world{r: r}}
	nodes := 3 + w.r.IntN(6)
	s := w.snapshot(t, nodes, w.r.IntN(8))
	for k := range nodes + 2 {
		require.NoError(t, s.Set(w.pool(fmt.Sprintf("p%d", k), nodes)))
	}
	for _, name := range []string{"one", "two"} {
		require.NoError(t, s.Set(w.class(name)))
	}
	profile := PluginArgs{Devices: tracker.Options{Compiler: models{}, VictimsFree: w.chance(4)}}.Profile()
	with, err := NewPlacer(s, profile)
	require.NoError(t, err)
	var assumed []*v1.Pod
	base := w.r.IntN(30)
	for step := range steps {
		at := fmt.Sprintf("%s step %d", name, step)
		switch w.r.IntN(32) {
		case 0:
			require.NoError(t, s.Set(w.pool(fmt.Sprintf("p%d", w.r.IntN(nodes+2)), nodes)), at)
		case 1:
			require.NoError(t, s.Set(w.class(w.pick("one", "two"))), at)
		case 2:
			n := s.Node(w.r.IntN(nodes)).DeepCopy()
			n.Labels[v1.LabelTopologyZone] = w.pick("a", "b", "c")
			require.NoError(t, s.Set(n), at)
		case 3:
			n := s.Node(w.r.IntN(nodes)).DeepCopy()
			n.Status.Allocatable = testkit.Resources(w.pick("cpu=9,memory=9Gi,pods=9", "cpu=9,memory=9Gi,pods=9,example.com/gpu=2", "cpu=9,memory=9Gi,pods=9,example.com/gpu=0"))
			require.NoError(t, s.Set(n), at)
		case 4, 5, 6:
			if n := len(assumed); n > 0 {
				k := w.r.IntN(n)
				require.NoError(t, with.Forget(assumed[k]), at)
				assumed = append(assumed[:k], assumed[k+1:]...)
			}
		case 7: // a reservation beside the snapshot, which is counted and taken back
			c := w.claim()
			require.NoError(t, s.Set(c), at)
			pod := w.pod(base)
			pod.Namespace = c.Namespace
			claiming(pod, c.Name)
			if d := with.Decide(pod, Options{}); d.Placed() {
				require.NoError(t, with.profile.Devices.Reserve(pod, d.Devices), at)
				w.same(t, with, w.user(t, s, base), at)
				require.Equal(t, len(d.Devices.Claims) > 0, with.profile.Devices.Unreserve(pod), at)
			}
		case 8: // a try that is rolled back
			m := s.Mark()
			for range 3 {
				pod := w.user(t, s, base)
				w.assume(with, pod, w.same(t, with, pod, at))
			}
			require.True(t, s.Rollback(m), at)
		case 9:
			if w.chance(3) {
				s = s.Fork()
				with, err = NewPlacer(s, profile)
				require.NoError(t, err)
				assumed = nil
			}
		case 10: // a pod without claims
			pod := w.pod(base)
			if w.assume(with, pod, w.same(t, with, pod, at)) {
				assumed = append(assumed, pod)
			}
		case 11, 12, 13: // extended resources, mostly of classes
			pod := w.asking(base)
			d := w.same(t, with, pod, at)
			if used(with.Plan, pod) && with.profile.Devices.ExtendedResources().Serve(pod) {
				out.extended++
			}
			if !d.Placed() {
				with.Preempt(pod, d.Failure, Options{}, PreemptOptions{})
				w.same(t, with, pod, at)
			}
			if w.assume(with, pod, d) {
				assumed = append(assumed, pod)
			}
		case 14, 15, 16, 17, 18: // pods in a row that share claims with an allocation
			names := allocatedClaims(s)
			if len(names) == 0 {
				break
			}
			if c := get(t, s, names[0]); w.chance(6) && len(c.Status.ReservedFor) > 0 { // an allocation that nobody uses can be given back
				c = c.DeepCopy()
				c.Status.ReservedFor = nil
				require.NoError(t, s.Set(c))
			}
			several := 1 + w.r.IntN(4)/3
			first, second := names[w.r.IntN(len(names))], names[w.r.IntN(len(names))]
			for range 4 {
				pod := w.pod(base)
				pod.Namespace = "default"
				claiming(pod, []string{first, second}[:several]...)
				if w.chance(6) {
					c := w.claim()
					c.Namespace = "default"
					require.NoError(t, s.Set(c))
					claiming(pod, c.Name)
				}
				d := w.same(t, with, pod, at)
				if used(with.Plan, pod) {
					out.allocated++
				}
				if !d.Placed() {
					if a := with.Plan.Failed(d.Failure); a != nil && !a.Rejected() && a.verdicts == nil {
						if out.homeless++; released(with.Plan, d).Deallocate != nil {
							out.given++
						}
					}
					with.Preempt(pod, d.Failure, Options{}, PreemptOptions{})
				}
				if w.assume(with, pod, d) {
					assumed = append(assumed, pod)
				}
			}
		default:
			pod := w.user(t, s, base)
			d := w.same(t, with, pod, at)
			if used(with.Plan, pod) {
				out.shared++
			}
			if !d.Placed() { // preemption tries nodes without some of the claims, and leaves all as it was
				with.Preempt(pod, d.Failure, Options{}, PreemptOptions{})
				w.same(t, with, pod, at)
			}
			if w.assume(with, pod, d) {
				assumed = append(assumed, pod)
			}
		}
	}
	return out
}

func get(t *testing.T, s *cluster.Snapshot, claim string) *resourcev1.ResourceClaim {
	c, ok := cluster.List[*resourcev1.ResourceClaim](s).Get("default", claim)
	require.True(t, ok)
	return c
}

// allocatedClaims returns the names of the allocated claims of the namespace default, in order.
func allocatedClaims(s *cluster.Snapshot) (out []string) {
	for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
		if c.Namespace == "default" && c.Status.Allocation != nil {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out
}

// asking makes one of few kinds of pods whose containers ask for extended resources.
func (w *deviceWorld) asking(base int) *v1.Pod {
	pod := w.pod(base + w.r.IntN(2))
	pod.Namespace = "default"
	r := &world{r: rand.New(rand.NewPCG(uint64(w.r.IntN(6)), 5))}
	container := func() v1.Container {
		requests := testkit.Resources(r.pick("example.com/gpu=1", "example.com/gpu=2", "deviceclass.resource.kubernetes.io/one=1", "deviceclass.resource.kubernetes.io/two=1,example.com/gpu=1", "cpu=100m"))
		return v1.Container{Name: fmt.Sprintf("more-%d", w.r.IntN(9)), Resources: v1.ResourceRequirements{Requests: requests}}
	}
	if r.chance(3) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container())
	}
	pod.Spec.Containers = append(pod.Spec.Containers, container())
	return pod
}

// user makes a pod with one claim or two, which mostly are new.
func (w *deviceWorld) user(t *testing.T, s *cluster.Snapshot, base int) *v1.Pod {
	pod := w.pod(base + w.r.IntN(3))
	pod.Namespace = "default"
	for range 1 + w.r.IntN(5)/4 {
		name := fmt.Sprintf("c%d", 1+w.r.IntN(w.claims+1))
		if !w.chance(8) {
			c := w.claim()
			c.Namespace = "default"
			require.NoError(t, s.Set(c))
			name = c.Name
		}
		claiming(pod, name)
	}
	return pod
}

// assume reports whether the pod is on a node now. v1.36 cannot bind every pod that it places (quirk U10.7).
func (*deviceWorld) assume(p *Placer, pod *v1.Pod, d Decision) bool {
	return d.Placed() && p.Assume(pod, d) == nil
}

// same decides with and without kept work.
func (w *deviceWorld) same(t *testing.T, with *Placer, pod *v1.Pod, at string) Decision {
	without, err := New(with.snapshot, with.profile)
	require.NoError(t, err)
	without.engine = nil
	d := with.Decide(pod, Options{})
	plain := without.Decide(pod, Options{})
	require.Equal(t, whole(t, plain), whole(t, d), at)
	if !d.Placed() {
		require.Equal(t, released(without, plain), released(with.Plan, d), at)
	}
	return d
}

// released returns what PostFilter gives back after a decision without a node.
func released(p *Plan, d Decision) (out devices.Freed) {
	if a := p.Failed(d.Failure); a != nil {
		for _, x := range a.Predicates {
			if r, ok := x.(interface{ Freed() devices.Freed }); ok {
				out = r.Freed()
			}
		}
	}
	return out
}
