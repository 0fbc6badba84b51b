package scheduler

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// dynamicResources is DynamicResources at all its points. It chooses the devices of the pod's claims together with the node,
// reserves the devices so that no other pod gets them, and writes the claims before the pod is bound.
type dynamicResources struct{ podFilter }

// releaser is the state of the filter, which knows what to give back when no node can take the pod.
type releaser interface{ Freed() devices.Freed }

// sight is what PostFilter knows of the pod; nil when the plugin rejected or skipped the pod.
type sight struct{ releaser }

var (
	// allocated holds what the pod's claims get on the chosen node.
	allocated = NewKey[devices.Allocation]("DynamicResources allocation")
	// seen is written once DynamicResources has seen the pod.
	seen = NewKey[sight](nameDynamicResources + " state")
	// written is true once claims of the pod were written.
	written = NewKey[bool](nameDynamicResources + " written")
)

// withDevices returns DynamicResources with the scheduler's compiler of selectors, its clock and random share IDs, where the plugin has none
// of its own, and with the scheduler's gate of claims of groups; and any other plugin as it is.
func withDevices(p *placement.Plugin, compiler devices.SelectorCompiler, now func() time.Time, groupClaims bool) (*placement.Plugin, error) {
	o, ok := p.Args.(tracker.Options)
	if !ok {
		return p, nil
	}
	if o.Compiler == nil {
		o.Compiler = compiler
	}
	if o.Now == nil {
		o.Now = now
	}
	if o.Search.ShareID == nil {
		o.Search.ShareID = newShareID
	}
	o.GroupClaims = o.GroupClaims || groupClaims
	return placement.PluginArgs{Devices: o}.Plugin(p.Name)
}

// newShareID returns a random UUID: the API server takes no other share IDs.
func newShareID() types.UID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// sawDevices reports whether DynamicResources has seen the pod at PreFilter: no plugin before it ended PreFilter.
func (f *Framework) sawDevices(pre filter.PreFilters) bool {
	if pre.Code != UnschedulableAndUnresolvable {
		return true
	}
	order, rejecters := namesOf(f.lists[PreFilter]), pre.Rejecters()
	return slices.Index(order, nameDynamicResources) <= slices.Index(order, rejecters[len(rejecters)-1])
}

// releaserOf returns the releaser among predicates; without one the sight is empty.
func releaserOf(ps filter.Predicates) sight {
	for _, p := range ps {
		if r, ok := p.(releaser); ok {
			return sight{r}
		}
	}
	return sight{}
}

// scoredDynamicResources is DynamicResources in releases in which it scores.
type scoredDynamicResources struct{ dynamicResources }

func (p scoredDynamicResources) libraryScore() *placement.Plugin { return p.plugin }

// Score asks the scorer; 0 for a pod that needs no devices.
func (p scoredDynamicResources) Score(_ context.Context, _ *State, pod *v1.Pod, node *NodeInfo) (int64, *Status) {
	x, err := p.plugin.Score(pod, p.h.s.snapshot)
	if x == nil || err != nil {
		return 0, AsStatus(err)
	}
	return x.Raw(node.Slot), nil
}

// NormalizeScores applies the scorer's rule.
func (p scoredDynamicResources) NormalizeScores(_ context.Context, _ *State, _ *v1.Pod, list []NodeScore) *Status {
	hi := int64(0)
	for _, x := range list {
		hi = max(hi, x.Score)
	}
	for k := range list {
		list[k].Score = devices.Normalize(list[k].Score, 0, hi)
	}
	return nil
}

// objects are the claims and classes, and groups whose claims count, as the API server has reported them.
func (p dynamicResources) objects() tracker.Objects { return p.h.s.deviceObjects() }

// deviceObjects are the claims and classes, and groups whose claims count, as the API server has reported them.
func (s *Scheduler) deviceObjects() tracker.Objects {
	o := s.namespaces.DeviceObjects()
	if s.groups != nil && s.groups.gates.Claims {
		o.Groups = s.groups
	}
	return o
}

// PreEnqueue keeps a pod out of the active queue until its claims exist.
func (p dynamicResources) PreEnqueue(pod *v1.Pod) *Status {
	if text := devices.Gate(pod, p.objects()); text != "" {
		return NewStatus(UnschedulableAndUnresolvable, text)
	}
	return nil
}

// PreFilter looks up the pod's claims.
func (p dynamicResources) PreFilter(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) ([]string, *Status) {
	names, st := p.podFilter.PreFilter(ctx, s, pod, nodes)
	var known sight
	if x, err := p.key.Read(s); err == nil {
		known.releaser, _ = x.predicate.(releaser)
	}
	seen.Write(s, known)
	return names, st
}

// PostFilter gives back an allocation that keeps the pod from every node. It fails when an earlier PreFilter plugin ended the
// attempt.
func (p dynamicResources) PostFilter(ctx context.Context, s *State, pod *v1.Pod, _ *NodeStatuses) (*Nomination, *Status) {
	state, err := seen.Read(s)
	if err != nil {
		return nil, AsStatus(err)
	}
	if state.releaser == nil {
		return nil, NewStatus(Unschedulable, p.h.s.o.postFilterText(preemption.PostFilterOutcome{})...)
	}
	release := state.Freed()
	var w ClaimWrites
	if c := release.Deallocate; c != nil {
		w.Set = append(w.Set, devices.Deallocated(c))
	}
	if release.Delete != nil {
		w.Delete = append(w.Delete, release.Delete)
	}
	if len(w.Set)+len(w.Delete) > 0 {
		if err := p.h.s.writeClaims(ctx, pod, w); err != nil {
			return nil, AsStatus(err)
		}
	}
	return nil, NewStatus(Unschedulable, p.h.s.o.postFilterText(preemption.PostFilterOutcome{Devices: release.Reason})...)
}

// Reserve reserves the devices for the pod.
func (p dynamicResources) Reserve(_ context.Context, s *State, pod *v1.Pod, node string) *Status {
	d, err := allocated.Read(s)
	if err != nil {
		x, err := p.key.Read(s)
		if err != nil {
			return nil // the plan found nothing to do
		}
		state, ok := x.predicate.(interface {
			Allocation(i int) devices.Allocation
		})
		if !ok {
			return nil // the pod needs no devices
		}
		d = state.Allocation(p.h.s.snapshot.Slot(node))
		allocated.Write(s, d)
	}
	if p.h.s.groups.tree(pod) != nil {
		return AsStatus(p.h.s.devices.ReserveMember(pod, d))
	}
	return AsStatus(p.h.s.devices.Reserve(pod, d))
}

// Unreserve releases the reserved devices. Claims that were written lose the pod's reservation and keep the allocation; a claim
// that was created for extended resources is deleted.
func (p dynamicResources) Unreserve(ctx context.Context, s *State, pod *v1.Pod, _ string) {
	if _, err := written.Read(s); err == nil {
		var w ClaimWrites
		for _, c := range p.reservedFor(pod) {
			if c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
				w.Delete = append(w.Delete, c)
			} else {
				w.Unreserve = append(w.Unreserve, c)
			}
		}
		p.h.s.report(p.h.s.writeClaims(ctx, pod, w))
	}
	p.release(pod)
}

// release releases the reserved devices at the start of the next scheduling cycle.
func (p dynamicResources) release(pod *v1.Pod) {
	s := p.h.s
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.cache.later(func(*cluster.Snapshot) error { s.devices.Unreserve(pod); return nil })
}

// PreBindPreFlight returns Skip for pods that need no devices.
func (p dynamicResources) PreBindPreFlight(_ context.Context, s *State, pod *v1.Pod, _ string) (bool, *Status) {
	if d, err := allocated.Read(s); len(pod.Spec.ResourceClaims) == 0 && (err != nil || len(d.Claims) == 0) {
		return false, NewStatus(Skip)
	}
	return true, nil
}

// PreBind calls Client.WriteClaims, and once more when the pod must wait for its devices.
func (p dynamicResources) PreBind(ctx context.Context, s *State, pod *v1.Pod, node string) *Status {
	d, err := allocated.Read(s)
	if err != nil {
		d = devices.Allocation{}
	}
	objects := p.objects()
	claims, err := objects.Bound(pod, d, p.h.s.clock.Now())
	if err != nil {
		return AsStatus(err)
	}
	written.Write(s, true)
	if err := p.h.s.writeClaims(ctx, pod, ClaimWrites{Set: claims, Again: again(objects, pod, d, p.h.s.clock.Now()), Mappings: d.Mappings}); err != nil {
		return AsStatus(err)
	}
	p.release(pod) // the cluster shows it now
	waits := slices.DeleteFunc(append(p.reservedFor(pod), ofGroup(pod, objects)...), func(c *resourcev1.ResourceClaim) bool { return !conditional(c) })
	if len(waits) == 0 {
		return nil
	}
	p.h.s.event(pod, v1.EventTypeNormal, "BindingConditionsPending", "Scheduling", "waiting for binding conditions for device on node "+node)
	return AsStatus(p.h.s.writeClaims(ctx, pod, ClaimWrites{Ready: waits}))
}

// again returns a function that makes the claim for PreBind from the newest version of the claim. It is called when the claim has changed.
func again(objects tracker.Objects, pod *v1.Pod, d devices.Allocation, now time.Time) func(claim, latest *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return func(claim, latest *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
		if claim.UID != "" && claim.UID != latest.UID {
			return nil, fmt.Errorf("claim %s/%s got deleted in the meantime", claim.Namespace, claim.Name)
		}
		isNew := claim.UID == "" || slices.ContainsFunc(d.Claims, func(c *resourcev1.ResourceClaim) bool { return c.UID == claim.UID })
		if !isNew {
			return objects.BoundClaim(latest, pod, nil, now)
		}
		return objects.BoundClaim(latest, pod, claim.Status.Allocation, now)
	}
}

// reservedFor returns the claims that are reserved for the pod.
func (p dynamicResources) reservedFor(pod *v1.Pod) (out []*resourcev1.ResourceClaim) {
	for c := range p.objects().ResourceClaims(pod.Namespace) {
		if slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }) {
			out = append(out, c)
		}
	}
	return out
}

// ofGroup returns the claims of the pod that are reserved for its group.
func ofGroup(pod *v1.Pod, objects tracker.Objects) (out []*resourcev1.ResourceClaim) {
	group := objects.ClaimGroup(pod)
	if group == nil {
		return nil
	}
	claims, err := devices.PodClaims(pod, objects)
	if err != nil {
		return nil // PreBind has just written them: one is gone already
	}
	return slices.DeleteFunc(claims, func(c *resourcev1.ResourceClaim) bool {
		return !slices.Contains(c.Status.ReservedFor, group.Consumer())
	})
}

// conditional reports whether a device of a claim has binding conditions.
func conditional(c *resourcev1.ResourceClaim) bool {
	return c.Status.Allocation != nil && slices.ContainsFunc(c.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return len(r.BindingConditions) > 0 })
}
