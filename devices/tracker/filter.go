package tracker

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
)

// Options configure the plugin DynamicResources over a tracker. The zero value is v1.37's, without a compiler of selectors and
// without a clock.
type Options struct {
	// Compiler compiles the CEL expressions of classes and requests. nil: a selector is an error that says so. Package
	// devices/cel has the compiler of Kubernetes.
	Compiler devices.SelectorCompiler
	// Search removes quirks of v1.37's allocator one by one and bounds a search.
	Search devices.Options
	// BindingTimeout is how long a claim may wait for the binding conditions of its devices. 0 means
	// 10 minutes, as in v1.37.
	BindingTimeout time.Duration
	// FilterTimeout is how long the search on one node may take by the clock; see devices.ErrStopped. 0, or no clock: no time-out, and
	// Search.Steps bounds the search. With a time-out a Search.Steps of 0 sets no bound, so the clock must go on while a search runs.
	FilterTimeout time.Duration
	// Now returns the time of a decision. The filters of one tracker have one clock, the last that was given. nil: without
	// another filter's clock, no binding condition times out and allocations get no time.
	Now func() time.Time
	// VictimsFree lets preemption see that devices become free when the pods that use their claims leave. v1.37 does not see it.
	VictimsFree bool
	// Templates makes the claims that do not exist yet from their ResourceClaimTemplates. v1.37 rejects the pod until a
	// controller has made the claims.
	Templates bool
	// GroupClaims is v1.37's feature gate DRAWorkloadResourceClaims: a claim that a pod has from its group is reserved for the group, and
	// every member may use it (rules PG8.1 to PG8.3). The cluster must have the groups (podgroup.Objects), as a cluster.Snapshot has. The
	// filters of one tracker have one gate: once on, it stays on. Claims from templates of groups are not made (Templates).
	GroupClaims bool
}

// Filter answers for DynamicResources with the same options for all pods. It keeps the answers of selectors and of classes of
// nodes from pod to pod.
type Filter interface {
	// Skips reports whether the pod needs no devices: it has no spec.resourceClaims, and no class provides an extended resource
	// that it asks for. The pod must not be nil. O(containers of the pod).
	Skips(pod *v1.Pod) bool
	// Compile looks up and checks the claims of a pod as the cluster is now. The pod must not be nil.
	Compile(pod *v1.Pod) *devices.Pod
	// On returns the filter and score of a pod of Compile. The result is right until claims, slices, classes or reservations
	// change.
	On(pod *devices.Pod) devices.State
}

type pluginFilter struct {
	tracker   *Tracker
	options   Options
	allocator *devices.Allocator
	ledger    *devices.Ledger // that the allocator is of
	epoch     uint64          // allocators made so far
}

// Filter returns the filter with these options over the tracker.
func (t *Tracker) Filter(o Options) Filter {
	if o.Now != nil {
		t.now = o.Now
	}
	t.groupClaims = t.groupClaims || o.GroupClaims
	return &pluginFilter{tracker: t, options: o}
}

func (f *pluginFilter) Skips(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return false
	}
	f.tracker.follow()
	return !f.tracker.extended.Serve(pod)
}

func (f *pluginFilter) Compile(pod *v1.Pod) *devices.Pod {
	f.tracker.follow()
	if f.options.Templates {
		if made, objects := f.tracker.made(pod); objects != nil {
			return devices.Compile(made, objects, f.tracker.extended)
		}
	}
	return devices.Compile(pod, f.tracker, f.tracker.extended)
}

func (f *pluginFilter) On(pod *devices.Pod) devices.State {
	f.follow()
	return pod.On(f.tracker.cluster, f.allocator, devices.Clock{Now: f.tracker.clock(), BindingTimeout: f.options.BindingTimeout})
}

// follow brings the tracker and the allocator up to date with the cluster.
func (f *pluginFilter) follow() {
	t := f.tracker
	t.follow()
	if f.ledger != t.ledger {
		f.allocator, f.ledger = devices.NewAllocator(t.ledger, t.DeviceClass, f.options.Compiler, f.search()), t.ledger
		f.epoch++
	}
}

// search returns the options of searches, with the time-out.
func (f *pluginFilter) search() devices.Options {
	o, limit, now := f.options.Search, f.options.FilterTimeout, f.tracker.now
	if limit <= 0 || now == nil || o.Stop != nil {
		return o
	}
	if o.Steps == 0 {
		o.Steps = -1
	}
	o.Stop = func() func() bool {
		began := now()
		return func() bool { return now().Sub(began) >= limit }
	}
	return o
}

// Offered is for package placement. See [devices.Allocator.Offered].
func (f *pluginFilter) Offered(resource v1.ResourceName, i int) (count, allocated int64) {
	f.follow()
	class, node := f.tracker.extended[resource], f.tracker.cluster.Node(i)
	if class == nil || node == nil {
		return 0, 0
	}
	return f.allocator.Offered(node, class)
}

// Kept is for package placement.
func (f *pluginFilter) Kept(s devices.State) engine.Kept {
	switch {
	case f.tracker.log == nil:
		return nil
	case f.options.VictimsFree:
		return f.Predicate(s).(keeper).Kept()
	}
	return s.(keeper).Kept()
}

// Elsewhere is for package placement.
func (f *pluginFilter) Elsewhere(s devices.State) (kept engine.Kept, nodes []string) {
	if f.tracker.log == nil {
		return nil, nil
	}
	return f.Predicate(s).(keeper).Elsewhere()
}

// keeper and freer are a devices.State.
type (
	// keeper has the answers that pods with equal claims share.
	keeper interface {
		Kept() engine.Kept
		Elsewhere() (kept engine.Kept, nodes []string)
	}
	// freer has the state for preemption that can free devices.
	freer interface {
		Freeing(objects devices.Objects) filter.Predicate
	}
)

// Epoch is for package placement.
func (f *pluginFilter) Epoch() uint64 { return f.epoch }

// Predicate is for package placement.
func (f *pluginFilter) Predicate(s devices.State) filter.Predicate {
	if f.options.VictimsFree {
		return s.(freer).Freeing(f.tracker)
	}
	return s
}
