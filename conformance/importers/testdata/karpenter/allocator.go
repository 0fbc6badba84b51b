package dynamicresources

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// question is one call of Allocate, and the commits before it. Package main of conformance/importers reads it.
type question struct {
	Spec     string
	Slices   []*resourcev1.ResourceSlice
	Held     []device
	Bindings bool
	Classes  []resourcev1.DeviceClass
	Earlier  []answer // committed
	Released bool     // an instance type was released
	Claim    answer
	Error    string
}

// answer is what a node claim got for claims, by instance type.
type answer struct {
	ID, Node     string
	Requirements []corev1.NodeSelectorRequirement
	Claims       []*resourcev1.ResourceClaim
	Types        []instance
}

// instance is an instance type with the slices that its node would publish.
type instance struct {
	Name   string
	Slices []*resourcev1.ResourceSlice
	Fits   bool
	Got    []device
}

type device struct {
	Claim, Request, Driver, Pool, Device string
	Template                             bool
	Consumed                             map[resourcev1.QualifiedName]string
}

// history has what an allocator was made from and what was done with it, so that another one can be brought to the same state.
type history struct {
	fresh    func() *Allocator
	slices   []ResourceSlice
	held     AllocatedDeviceState
	bindings bool
	client   client.Client
	steps    []func(*Allocator)
	earlier  []answer
	released bool
}

var (
	mu        sync.Mutex
	histories = map[*Allocator]*history{}
)

func NewAllocator(slices []ResourceSlice, held AllocatedDeviceState, bindings AttributeBindings, c client.Client, deleting sets.Set[types.UID]) *Allocator {
	fresh := func() *Allocator { return replacedNewAllocator(slices, held, bindings, c, deleting) }
	a := fresh()
	mu.Lock()
	defer mu.Unlock()
	histories[a] = &history{fresh: fresh, slices: slices, held: held, bindings: len(bindings) > 0, client: c}
	return a
}

// frozen is a node claim as it was when it was asked about.
type frozen struct {
	id           NodeClaimID
	node         string
	pool         NodePoolID
	requirements scheduling.Requirements
	types        []InstanceTypeID
	slices       map[InstanceTypeID][]ResourceSlice
}

func (f frozen) ID() NodeClaimID                                    { return f.id }
func (f frozen) NodeName() string                                   { return f.node }
func (f frozen) NodePoolID() NodePoolID                             { return f.pool }
func (f frozen) Requirements() scheduling.Requirements              { return f.copied() }
func (f frozen) InstanceTypes() []InstanceTypeID                    { return f.types }
func (f frozen) ResourceSlices() map[InstanceTypeID][]ResourceSlice { return f.slices }
func (f frozen) copied() scheduling.Requirements {
	out := scheduling.Requirements{}
	for k, r := range f.requirements {
		out[k] = r.DeepCopy()
	}
	return out
}

func freeze(n NodeClaim) frozen {
	f := frozen{n.ID(), n.NodeName(), n.NodePoolID(), n.Requirements(), append([]InstanceTypeID(nil), n.InstanceTypes()...), map[InstanceTypeID][]ResourceSlice{}}
	f.requirements = f.copied()
	for k, list := range n.ResourceSlices() {
		f.slices[k] = append([]ResourceSlice(nil), list...)
	}
	return f
}

// committed is an allocation whose commit is noted.
type committed struct {
	Allocation
	note func()
}

func (c committed) Commit(ctx context.Context) {
	c.Allocation.Commit(ctx)
	c.note()
}

func (a *Allocator) Allocate(ctx context.Context, n NodeClaim, claims []*resourcev1.ResourceClaim) (*AllocationResult, error) {
	mu.Lock()
	h := histories[a]
	mu.Unlock()
	if h == nil {
		return a.replacedAllocate(ctx, n, claims)
	}
	f := freeze(n)
	given := make([]*resourcev1.ResourceClaim, len(claims))
	for i, c := range claims {
		given[i] = c.DeepCopy()
	}
	q := h.question(f, given)
	result, err := a.replacedAllocate(ctx, n, claims)
	if err != nil {
		q.Error = err.Error()
	}
	step := func(b *Allocator) {
		if again, err := b.replacedAllocate(ctx, f, given); err == nil && again != nil && again.Allocation != nil {
			again.Allocation.Commit(ctx)
		}
	}
	if err == nil && result != nil {
		b := h.fresh()
		for _, s := range h.steps {
			s(b)
		}
		step(b)
		for i, t := range q.Claim.Types {
			for _, fits := range result.InstanceTypes {
				if fits.Value() == t.Name {
					q.Claim.Types[i].Fits = true
				}
			}
			for _, c := range given {
				m := b.ResourceClaimAllocationMetadataForClaim(types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
				if m == nil {
					continue
				}
				for id, list := range m.Devices {
					if id.Value() != t.Name {
						continue
					}
					for _, d := range list {
						q.Claim.Types[i].Got = append(q.Claim.Types[i].Got, named(c.Namespace+"/"+c.Name, d))
					}
				}
			}
		}
	}
	if err := write(q); err != nil {
		panic(err)
	}
	if err == nil && result != nil && result.Allocation != nil {
		result.Allocation = committed{result.Allocation, func() {
			h.steps = append(h.steps, step)
			h.earlier = append(h.earlier, q.Claim)
		}}
	}
	return result, err
}

func (a *Allocator) ReleaseInstanceType(ctx context.Context, n NodeClaimID, types ...InstanceTypeID) {
	a.replacedReleaseInstanceType(ctx, n, types...)
	mu.Lock()
	defer mu.Unlock()
	if h := histories[a]; h != nil {
		h.released = true
		h.steps = append(h.steps, func(b *Allocator) { b.replacedReleaseInstanceType(ctx, n, types...) })
	}
}

// question returns the question without its answer.
func (h *history) question(f frozen, claims []*resourcev1.ResourceClaim) question {
	q := question{Spec: ginkgo.CurrentSpecReport().FullText(), Bindings: h.bindings, Released: h.released,
		Earlier: append([]answer(nil), h.earlier...), Claim: answer{ID: f.id.Value(), Node: f.node, Claims: claims}}
	for i, s := range h.slices {
		q.Slices = append(q.Slices, published(fmt.Sprintf("slice-%03d", i), s))
	}
	for id := range h.held.ExclusiveDevices {
		q.Held = append(q.Held, device{Driver: id.Driver.Value(), Pool: id.Pool.Value(), Device: id.Device.Value()})
	}
	for id, amounts := range h.held.ConsumedCapacity {
		d := device{Driver: id.Driver.Value(), Pool: id.Pool.Value(), Device: id.Device.Value(), Consumed: map[resourcev1.QualifiedName]string{}}
		for name, amount := range amounts {
			d.Consumed[name] = amount.String()
		}
		q.Held = append(q.Held, d)
	}
	var classes resourcev1.DeviceClassList
	if h.client != nil {
		if err := h.client.List(context.Background(), &classes); err != nil {
			panic(err)
		}
	}
	q.Classes = classes.Items
	for _, r := range f.requirements.NodeSelectorRequirements() {
		q.Claim.Requirements = append(q.Claim.Requirements, corev1.NodeSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
	}
	for _, t := range f.types {
		one := instance{Name: t.Value()}
		for i, s := range f.slices[t] {
			one.Slices = append(one.Slices, published(fmt.Sprintf("template-%03d", i), s))
		}
		q.Claim.Types = append(q.Claim.Types, one)
	}
	return q
}

// published is a slice as an API server would have it.
func published(name string, s ResourceSlice) *resourcev1.ResourceSlice {
	out := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.Driver = s.Driver().Value()
	out.Spec.Pool = resourcev1.ResourcePool{Name: s.Pool().Name.Value(), Generation: s.Generation(), ResourceSliceCount: s.ResourceSliceCount()}
	out.Spec.NodeSelector, out.Spec.SharedCounters = s.NodeSelector(), s.SharedCounters()
	if node := s.NodeName(); node != "" {
		out.Spec.NodeName = &node
	}
	if s.AllNodes() {
		all := true
		out.Spec.AllNodes = &all
	}
	for _, d := range s.Devices() {
		one := resourcev1.Device{Name: d.Name.Value(), Attributes: d.Attributes, Capacity: d.Capacity, ConsumesCounters: d.ConsumesCounters}
		if d.AllowMultipleAllocations {
			one.AllowMultipleAllocations = &d.AllowMultipleAllocations
		}
		out.Spec.Devices = append(out.Spec.Devices, one)
	}
	return out
}

func named(claim string, d DeviceAllocationResult) device {
	out := device{Claim: claim, Request: d.RequestName.Parent, Driver: d.DeviceID.Driver.Value(), Pool: d.DeviceID.Pool.Value(), Device: d.DeviceID.Device.Value(), Template: d.DeviceID.Template}
	if d.RequestName.Sub != "" {
		out.Request += "/" + d.RequestName.Sub
	}
	for name, amount := range d.ConsumedCapacity {
		if out.Consumed == nil {
			out.Consumed = map[resourcev1.QualifiedName]string{}
		}
		out.Consumed[name] = amount.String()
	}
	return out
}

func write(q question) error {
	mu.Lock()
	defer mu.Unlock()
	file, err := os.OpenFile(os.Getenv("PODBERTH_RECORD"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	return json.NewEncoder(file).Encode(q)
}
