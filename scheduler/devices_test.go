package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// deviceRig is a scheduler over the nodes n1 and n2, of which n2 has two GPUs, and the named claims for one GPU each.
func deviceRig(t *testing.T, o Options, claims ...string) *rig {
	r := newRig(t, o, []*v1.Node{testkit.Node("n1").Capacity("cpu=4").Obj(), testkit.Node("n2").Capacity("cpu=4").Obj()})
	node, extended := "n2", "example.com/gpu"
	r.s.Set(nil, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n2"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "n2", ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}},
	}})
	r.s.Set(nil, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &extended}})
	for _, name := range claims {
		r.claim(name)
	}
	return r
}

// claim adds a claim for one GPU.
func (r *rig) claim(name string) {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	r.claims[name] = c
	r.s.Set(nil, c)
}

func withClaim(pod *v1.Pod, claim string) *v1.Pod {
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	return pod
}

// held writes the claims of the API server as "claim: device for pod".
func (r *rig) held() (out []string) {
	for _, name := range sortedKeys(r.claims) {
		c, line := r.claims[name].(*resourcev1.ResourceClaim), name+":"
		if c.Status.Allocation != nil {
			for _, x := range c.Status.Allocation.Devices.Results {
				line += " " + x.Device
			}
		}
		for _, x := range c.Status.ReservedFor {
			line += " for " + x.Name
		}
		out = append(out, line)
	}
	return out
}

// everyWay runs a test with the plan of the library and with the plugins one by one.
func everyWay(t *testing.T, run func(t *testing.T, o Options)) {
	t.Run("plan", func(t *testing.T) { run(t, Options{}) })
	t.Run("one by one", func(t *testing.T) { run(t, Options{OneByOne: true}) })
}

// Claims are allocated, reserved until PreBind has written them, and shown in the result.
func TestClaims(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o, "a", "b", "c")
		for _, name := range []string{"a", "b"} {
			r.add(withClaim(testkit.Pod("pod-"+name).Obj(), name))
			require.True(t, r.s.TryScheduleOne(context.Background()))
		}
		require.Equal(t, []string{"a:", "b:", "c:"}, r.held(), "nothing is written before the binding cycle")
		r.add(withClaim(testkit.Pod("same").Obj(), "a"), withClaim(testkit.Pod("pod-c").Obj(), "c"))
		require.True(t, r.s.TryScheduleOne(context.Background()))
		require.Contains(t, r.last().Message, "resource claim default/a is in the process of being allocated")
		require.True(t, r.s.TryScheduleOne(context.Background()))
		require.Contains(t, r.last().Message, "2 cannot allocate all claims. preemption: ")
		r.work()
		require.Equal(t, []string{"a: gpu-0 for pod-a", "b: gpu-1 for pod-b", "c:"}, r.held())
		require.Equal(t, "n2", r.last().Node)
		r.s.View(func(*cluster.Snapshot) {
			_, reserved := r.s.devices.Reserved(r.pods["default/pod-b"])
			require.False(t, reserved, "the claim says it now")
		})
		require.Equal(t, "gpu-1", r.last().Devices.Results[0].Devices.Results[0].Device)
		require.Empty(t, r.errs)
	})
}

// Each share of a device has a UUID of its own, as the API server wants it.
func TestShareIDs(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o, "a", "b")
		node, several := "n2", true
		r.s.Set(nil, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n2"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "n2", ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0", AllowMultipleAllocations: &several}},
		}})
		for _, name := range []string{"a", "b"} {
			r.add(withClaim(testkit.Pod("pod-"+name).Obj(), name)).step()
		}
		require.Equal(t, []string{"a: gpu-0 for pod-a", "b: gpu-0 for pod-b"}, r.held())
		ids := map[types.UID]bool{}
		for _, name := range []string{"a", "b"} {
			id := r.claims[name].(*resourcev1.ResourceClaim).Status.Allocation.Devices.Results[0].ShareID
			require.Regexp(t, "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", *id)
			ids[*id] = true
		}
		require.Len(t, ids, 2)
	})
}

// A pod whose claims have nothing to give back writes no claim.
func TestNoClaimIsWritten(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o, "a", "b", "c")
		for _, name := range []string{"a", "b"} {
			r.add(withClaim(testkit.Pod("pod-"+name).Obj(), name)).step()
		}
		before := r.writes
		r.add(withClaim(testkit.Pod("pod-c").Obj(), "c")).step()
		require.Equal(t, Rejected, r.last().Outcome)
		require.Equal(t, before, r.writes)
	})
}

// A claim that was deleted gates its pod. Devices are free again as soon as the API server has released the bound claim.
func TestClaimsThatLeave(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o, "a", "b", "c")
		r.s.Remove(r.claims["c"])
		r.add(withClaim(testkit.Pod("pod-c").Obj(), "c"))
		require.False(t, r.step())
		for _, name := range []string{"a", "b"} {
			r.add(withClaim(testkit.Pod("pod-"+name).Obj(), name)).step()
			require.Equal(t, Scheduled, r.last().Outcome)
			old := r.claims[name].(*resourcev1.ResourceClaim)
			free := old.DeepCopy()
			free.Status = resourcev1.ResourceClaimStatus{}
			r.claims[name] = free
			r.s.Set(old, free)
		}
		for _, name := range []string{"d", "e"} {
			r.claim(name)
			r.add(withClaim(testkit.Pod("pod-"+name).Obj(), name)).step()
			require.Equal(t, Scheduled, r.last().Outcome)
		}
	})
}

// A node whose devices serve an earlier alternative of a request scores more.
func TestScoreOfAlternatives(t *testing.T) {
	var totals []int64
	everyWay(t, func(t *testing.T, o Options) {
		o.Profiles = []Profile{{Plugins: Plugins{Score: {Enabled: []PluginRef{{Name: nameDynamicResources, Weight: 7}}, Disabled: []string{"*"}}, PreScore: {Disabled: []string{"*"}}}}}
		r := deviceRig(t, o)
		name := "n1"
		r.s.Set(nil, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &name, Pool: resourcev1.ResourcePool{Name: "n1", ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}})
		r.claim("a")
		c := r.claims["a"].(*resourcev1.ResourceClaim)
		sub := func(name string, count int64) resourcev1.DeviceSubRequest {
			return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
		}
		better := c.DeepCopy()
		better.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", FirstAvailable: []resourcev1.DeviceSubRequest{sub("two", 2), sub("one", 1)}}}
		r.claims["a"] = better
		r.s.Set(c, better)
		r.add(withClaim(testkit.Pod("p").Obj(), "a")).step()
		require.Equal(t, "n2", r.last().Node, "n1 has a single device")
		require.EqualValues(t, 2, r.last().Feasible)
		totals = append(totals, r.last().Total)
	})
	require.Equal(t, []int64{700, 700}, totals)
}

// A pod whose claim does not exist is gated, and enters the queue when the claim comes.
func TestClaimGate(t *testing.T) {
	r := deviceRig(t, Options{})
	pod := withClaim(testkit.Pod("p").Obj(), "late")
	r.add(pod)
	require.False(t, r.step())
	r.claim("late")
	require.True(t, r.step())
	r.work()
	require.Equal(t, []string{"late: gpu-0 for p"}, r.held())
}

// A failed binding cycle gives the reservation back: what was written stays allocated without the pod, as in v1.36, and devices
// that were not written are free.
func TestClaimsAfterFailures(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o, "a")
		r.bindErr = func(*v1.Pod) error { return errors.New("no") }
		r.add(withClaim(testkit.Pod("p").Obj(), "a"))
		require.True(t, r.step())
		r.work()
		require.Equal(t, []string{"a: gpu-0"}, r.held())
		r.s.View(func(*cluster.Snapshot) {
			_, reserved := r.s.devices.Reserved(r.pods["default/p"])
			require.False(t, reserved)
		})
	})
}

// An extended resource becomes a claim of the pod, which a failed binding deletes.
func TestExtendedResourceClaim(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o)
		fail := true
		r.bindErr = func(*v1.Pod) error {
			if fail {
				return errors.New("no")
			}
			return nil
		}
		r.add(testkit.Pod("p").Request("example.com/gpu=2").Obj())
		require.True(t, r.step())
		r.work()
		require.Empty(t, r.held())
		fail = false
		r.add(testkit.Pod("q").Request("example.com/gpu=2").Obj())
		require.True(t, r.step())
		r.work()
		require.Equal(t, []string{"q-extended-resources-made: gpu-0 gpu-1 for q"}, r.held())
		require.Equal(t, "q-extended-resources-made", r.extended.ResourceClaimName)
		require.Len(t, r.extended.RequestMappings, 1)
	})
}

// PostFilter deallocates a claim that nobody uses and that keeps the pod from every node.
func TestPostFilterDeallocates(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o, "a")
		old := r.claims["a"].(*resourcev1.ResourceClaim)
		c := old.DeepCopy()
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"gone"}}},
		}}}}
		r.claims["a"] = c
		r.s.Set(old, c)
		r.add(withClaim(testkit.Pod("p").Obj(), "a"))
		require.True(t, r.step())
		require.Contains(t, r.last().Message, "2 resourceclaim not available on the node. deallocation of ResourceClaim completed, preemption: ")
		require.Nil(t, r.claims["a"].(*resourcev1.ResourceClaim).Status.Allocation)
	})
}

// A claim that somebody changed before it was written gets the pod all the same, or the attempt fails with v1.36's text.
func TestClaimsAgain(t *testing.T) {
	type test struct {
		name, why string
		allocated bool // before the attempt
		change    func(*resourcev1.ResourceClaim)
		held      []string
		want      string
	}
	device := &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: "n2", Device: "gpu-1"}}}}
	other := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "other", UID: "other"}
	const failed = `running PreBind plugin "DynamicResources": claim default/a got `
	testkit.Run(t, []test{
		{"a label", "the devices are given to the newer version", false, func(c *resourcev1.ResourceClaim) { c.Labels = map[string]string{"a": "b"} }, []string{"a: gpu-0 for p"}, ""},
		{"shared", "another pod came first", true, func(c *resourcev1.ResourceClaim) { c.Status.ReservedFor = append(c.Status.ReservedFor, other) }, []string{"a: gpu-1 for other for p"}, ""},
		{"reserved already", "the answer to an earlier write was lost", true, func(c *resourcev1.ResourceClaim) {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: "default/p"})
		}, []string{"a: gpu-1 for p"}, ""},
		{"allocated", "two attempts must not give devices", false, func(c *resourcev1.ResourceClaim) { c.Status.Allocation = device }, []string{"a:"}, failed + "allocated elsewhere in the meantime"},
		{"deallocated", "its devices may be another's", true, func(c *resourcev1.ResourceClaim) { c.Status.Allocation = nil }, []string{"a: gpu-1"}, failed + "deallocated elsewhere in the meantime"},
		{"replaced", "it is another claim", false, func(c *resourcev1.ResourceClaim) { c.UID = "new" }, []string{"a:"}, failed + "deleted in the meantime"},
	}, func(t *testing.T, x test) {
		r := deviceRig(t, Options{}, "a")
		if x.allocated {
			old := r.claims["a"].(*resourcev1.ResourceClaim)
			c := old.DeepCopy()
			c.Status.Allocation = device
			r.claims["a"] = c
			r.s.Set(old, c)
		}
		r.meanwhile = func(name string) *resourcev1.ResourceClaim {
			c := r.claims[name].(*resourcev1.ResourceClaim).DeepCopy()
			x.change(c)
			return c
		}
		p := withClaim(testkit.Pod("p").Obj(), "a")
		p.UID = "default/p"
		r.add(p)
		require.True(t, r.s.TryScheduleOne(context.Background()))
		r.work()
		if x.want == "" {
			require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)
		} else {
			require.Equal(t, x.want, r.last().Message, x.why)
		}
		require.Equal(t, x.held, r.held(), x.why)
	})
}

// A pod waits for devices with binding conditions after its claims are written, also for those of a claim that is its own since an earlier
// attempt. An event says so.
func TestDevicesWithConditions(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r := deviceRig(t, o, "a", "b")
		node := "n1"
		r.s.Set(nil, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "slow.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "n1", ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "slow-0", BindingConditions: []string{"Attached"}, BindingFailureConditions: []string{"Broken"}}},
		}})
		r.add(withClaim(testkit.Pod("plain").NodeSelector("kubernetes.io/hostname=n2").Obj(), "a")).step()
		require.Equal(t, "n2", r.last().Node)
		require.Empty(t, r.waited, "its device has no conditions")
		require.NotContains(t, strings.Join(r.events, ""), "BindingConditionsPending")

		r.failing["devices"] = errors.New("not attached")
		pod := withClaim(testkit.Pod("p").NodeSelector("kubernetes.io/hostname=n1").Obj(), "b")
		r.add(pod).step()
		require.Equal(t, SchedulingError, r.last().Outcome)
		require.Equal(t, `running PreBind plugin "DynamicResources": not attached`, r.last().Message)
		require.Equal(t, []string{"b"}, r.waited)
		require.Contains(t, r.events, "p: Normal BindingConditionsPending/Scheduling waiting for binding conditions for device on node n1")
		require.Equal(t, []string{"a: gpu-0 for plain", "b: slow-0"}, r.held())

		delete(r.failing, "devices")
		mine := r.claims["b"].(*resourcev1.ResourceClaim).DeepCopy() // as an attempt leaves it whose process was killed
		mine.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: pod.UID}}
		r.s.Set(r.claims["b"], mine)
		r.claims["b"] = mine
		r.clock.advance(time.Minute)
		r.s.Tick()
		require.True(t, r.step())
		require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)
		require.Equal(t, []string{"b", "b"}, r.waited)
	})
}

// A failure of Client.WriteClaims fails the attempt and keeps nothing.
func TestBadWriteClaims(t *testing.T) {
	r := deviceRig(t, Options{}, "a")
	r.failing["claims"] = errors.New("no claims today")
	r.add(withClaim(testkit.Pod("p").Obj(), "a"))
	require.True(t, r.step())
	r.work()
	require.Contains(t, r.last().Message, "no claims today")
	require.Equal(t, []string{"a:"}, r.held())
	require.True(t, slices.ContainsFunc(r.results, func(x Result) bool { return x.Outcome == SchedulingError }))
	require.NoError(t, r.server.WriteClaims(context.Background(), nil, ClaimWrites{}))
}

// noSelectors is a compiler that refuses every text.
type noSelectors struct{ name string }

func (noSelectors) Compile(string) (devices.Selector, error) { return nil, errors.New("no selectors") }

// The scheduler's compiler and clock are for plugins that have none of their own.
func TestCompilerAndClockOfPlugins(t *testing.T) {
	theirs, own := noSelectors{"scheduler"}, noSelectors{"plugin"}
	at := func(hour int) func() time.Time {
		return func() time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	}
	for _, c := range []struct {
		given tracker.Options
		want  noSelectors
		hour  int
	}{
		{tracker.Options{}, theirs, 1},
		{tracker.Options{Compiler: own}, own, 1},
		{tracker.Options{Now: at(2)}, theirs, 2},
		{tracker.Options{Compiler: own, Now: at(2)}, own, 2},
	} {
		p, err := placement.PluginArgs{Devices: c.given}.Plugin(nameDynamicResources)
		require.NoError(t, err)
		got, err := withDevices(p, theirs, at(1), false)
		require.NoError(t, err)
		o, ok := got.Args.(tracker.Options)
		require.True(t, ok)
		require.Equal(t, c.want, o.Compiler)
		require.Equal(t, c.hour, o.Now().Hour())
	}
}
