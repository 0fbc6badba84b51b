package devices_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// All that is said about pods and claims of random racks, as a hash for each rack: allocations, explanations, capacities, verdicts about
// devices, rejections, scores, what leaving pods free and what PostFilter gives back. Some searches may try a few devices only, so that
// a search that tries more of them says less.
func TestSaid(t *testing.T) {
	var out strings.Builder
	for seed := range 500 {
		h := testkit.Hash64(t, seed)
		n := 0
		say := func(what string, values ...any) {
			n++
			fmt.Fprint(h, what)
			for _, v := range values {
				if err, is := v.(error); is && err != nil {
					v = err.Error()
				}
				text, err := json.Marshal(v)
				require.NoError(t, err)
				h.Write(text)
			}
		}
		said(t, &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 77)), free: seed%3 == 0, clean: seed%7 == 0}, say)
		fmt.Fprintf(&out, "%d: %d answers %016x\n", seed, n, h.Sum64())
	}
	testkit.Golden(t, "testdata/said.golden", out.String())
}

func said(t *testing.T, r *rack, say func(what string, values ...any)) {
	for k := range 1 + r.IntN(4) {
		r.nodes = append(r.nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", k)}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{}}})
		if r.chance(30) {
			r.nodes[k].Status.Allocatable["example.com/gpu"] = resource.MustParse(fmt.Sprint(r.IntN(3)))
		}
	}
	gpu := class("gpu")
	if r.chance(60) {
		gpu.Spec.ExtendedResourceName = new("example.com/gpu")
	}
	if r.chance(20) {
		gpu.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "model=a"}}}
	}
	if r.chance(20) {
		gpu.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: "drv"}}}}
	}
	inventory := devices.NewInventory(r.slices())
	o := r.options()
	ledger := devices.NewLedger(inventory)
	allocator := devices.NewAllocator(ledger, func(name string) *resourcev1.DeviceClass {
		if name == gpu.Name {
			return gpu
		}
		return nil
	}, equals{}, o)
	extended := devices.NewExtendedResources(slices.Values([]*resourcev1.DeviceClass{gpu}))
	var running []*resourcev1.ResourceClaim
	for k := range 8 {
		w := &byName{list: slices.Clone(running)}
		pod := user(fmt.Sprintf("p%d", k))
		for j := range r.IntN(3) {
			c := r.rich(fmt.Sprintf("c%d-%d", k, j))
			w.list = append(w.list, c)
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: c.Name, ResourceClaimName: &c.Name})
		}
		if len(running) > 0 && r.chance(30) {
			name := running[r.IntN(len(running))].Name
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "shared", ResourceClaimName: &name})
		}
		for j := range r.IntN(3) {
			c := v1.Container{Name: fmt.Sprintf("k%d", j), Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}}}
			if r.chance(40) {
				c.Resources.Requests["example.com/gpu"] = resource.MustParse(fmt.Sprint(r.IntN(3)))
			}
			if j > 0 && r.chance(50) {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
				continue
			}
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
		compiled := devices.Compile(pod, w, extended)
		say("pod", compiled.Code(), compiled.Reason(), compiled.Claims())
		if own := compiled.Claims(); len(own) > 0 {
			search := allocator.Compile(own...)
			for i, n := range r.nodes {
				results, ok, err := search.Allocate(n)
				say("allocate", i, results, ok, err)
				results, ok, err = search.Complete(n)
				say("complete", results, ok, err)
				e := search.Explain(n)
				say("explain", e.Lines(), fmt.Sprintf("%+v", e))
				capacity, err := search.Capacity(n, 3)
				say("capacity", capacity, err)
				verdicts, err := search.Verdicts(n)
				say("verdicts", fmt.Sprintf("%+v", verdicts), err)
				count, allocated := allocator.Offered(n, gpu)
				say("offered", count, allocated)
			}
		}
		state := compiled.Onto(r.nodes, allocator, devices.Clock{Now: noon, BindingTimeout: 30 * time.Second})
		if compiled.Code() != 0 {
			continue
		}
		kept, chosen := state.Kept(), -1
		for i := range r.nodes {
			v := state.Check(i)
			say("check", v, state.Code(v), state.Reasons(v), state.Numbers(i))
			if kept != nil {
				v := kept.Check(i)
				say("kept", v, kept.(filter.Coder).Code(v), kept.Reasons(v), kept.Raw(i), kept.AppendSignature(nil, i))
			}
			if v == 0 {
				chosen = i
				say("fits", state.Raw(i), state.Normalize(state.Raw(i), 0, 8), state.Allocation(i))
			}
			e, ok := state.Explain(i)
			say("explained", fmt.Sprintf("%+v", e), ok)
		}
		free := state.Frees(w)
		trial := free.NewTrial()
		for i := range r.nodes {
			for _, c := range running {
				if r.chance(40) {
					for _, u := range c.Status.ReservedFor {
						trial.Remove(user(u.Name, c.Name), i)
					}
				}
			}
			v := trial.Check(i)
			say("freed", v, free.Check(i), state.Reasons(v))
		}
		trial.Reset()
		release := state.Freed()
		say("release", release)
		if chosen < 0 || !r.chance(80) {
			continue
		}
		a := state.Allocation(chosen)
		for j, c := range a.Claims {
			if j < len(a.Results) && c.Status.Allocation == nil {
				c = devices.Reserved(c, &a.Results[j])
				c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
				running = append(running, c)
				ledger.Add(c, c.Status.Allocation)
			}
		}
		if len(running) > 0 && r.chance(30) {
			at := r.IntN(len(running))
			ledger.Remove(running[at], running[at].Status.Allocation)
			running = append(running[:at:at], running[at+1:]...)
		}
	}
}

// options are those of v1.36 or v1.37, or some corrections, and sometimes few steps.
func (r *rack) options() devices.Options {
	some := func() bool { return r.chance(30) }
	o := devices.Options{Release: release.Versions()[r.IntN(4)], Steps: []int{100_000, 100_000, 12, 40}[r.IntN(4)]}
	switch r.IntN(3) {
	case 0:
		shares := 0
		o.ShareID = func() types.UID { shares++; return types.UID(fmt.Sprint("own-", shares)) }
	case 1:
		o.CountersOnce, o.CountersByDriver, o.AdminApart, o.AllDistinct, o.AllPerNode, o.AllStatic = some(), some(), some(), some(), some(), some()
		o.ConfigOnce, o.SharesBlock, o.CurrentGeneration, o.NoEmptyClaim, o.AlwaysRelease, o.ClaimOnce = some(), some(), some(), some(), some(), some()
	}
	return o
}

// rich is claim with admin access, tolerations, configurations, conditions and classes that do not exist.
func (r *rack) rich(name string) *resourcev1.ResourceClaim {
	c := r.claim(name)
	q := c.Spec.Devices.Requests[0].Exactly
	if r.chance(10) {
		yes := true
		q.AdminAccess = &yes
	}
	if r.chance(20) {
		q.Tolerations = []resourcev1.DeviceToleration{{Key: "k", Operator: resourcev1.DeviceTolerationOpExists}}
	}
	if r.chance(4) {
		q.DeviceClassName = "gone"
	}
	if r.chance(15) {
		c.Spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{{Requests: [][]string{nil, {"gpu"}, {"gpu", "f"}, {"f/two"}}[r.IntN(4)],
			DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: "drv"}}}}
	}
	if r.chance(20) {
		other := gpuClaim("x", 1).Spec.Devices.Requests[0]
		other.Name = "more"
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, other)
		if r.chance(50) {
			c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, alikeOf("drv/model", "gpu", "more"))
		}
	}
	return c
}

func alikeOf(attribute string, requests ...string) resourcev1.DeviceConstraint {
	name := resourcev1.FullyQualifiedName(attribute)
	return resourcev1.DeviceConstraint{MatchAttribute: &name, Requests: requests}
}
