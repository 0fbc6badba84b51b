package diagnose

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// mostReleased is the number of claims whose devices a search may release.
const mostReleased = 6

// deviceChanges lists the changes of the pod's claims of devices, and of claims that hold devices for no pod. cut reports that there
// are more of the latter than a search takes.
func deviceChanges(s *cluster.Snapshot, pod *v1.Pod) (out []*Change, cut bool) {
	objects := tracker.Of(s)
	own, err := devices.PodClaims(pod, objects)
	if err != nil {
		return nil, false // a claim is missing: no change of the others helps
	}
	for _, c := range own {
		if c.Status.Allocation == nil {
			out = append(out, claimChanges(c)...)
		}
	}
	var idle []*resourcev1.ResourceClaim
	for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
		used := slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID != podinfo.UID(pod) })
		if c.Status.Allocation != nil && !used {
			idle = append(idle, c)
		}
	}
	slices.SortFunc(idle, func(a, b *resourcev1.ResourceClaim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range idle[:min(mostReleased, len(idle))] {
		out = append(out, onClaim(c, ReleaseClaim, "status.allocation", "", func(x *resourcev1.ResourceClaim, _ int64) { *x = *devices.Deallocated(x) }))
	}
	return out, len(idle) > mostReleased
}

// claimChanges lists the changes of a claim that has no devices yet.
func claimChanges(c *resourcev1.ResourceClaim) (out []*Change) {
	for i, r := range c.Spec.Devices.Requests {
		if r.Exactly == nil || r.Exactly.AllocationMode == resourcev1.DeviceAllocationModeAll || r.Exactly.Count < 2 {
			continue
		}
		x := onClaim(c, LowerCount, fmt.Sprintf("spec.devices.requests[%d].exactly.count", i), decimal(r.Exactly.Count), func(x *resourcev1.ResourceClaim, v int64) {
			x.Spec.Devices.Requests[i].Exactly.Count = v
		})
		x.value = &span{from: r.Exactly.Count, loosest: 1, show: decimal}
		out = append(out, x)
	}
	for i, k := range c.Spec.Devices.Constraints {
		from := ""
		switch {
		case k.MatchAttribute != nil:
			from = "matchAttribute " + string(*k.MatchAttribute)
		case k.DistinctAttribute != nil:
			from = "distinctAttribute " + string(*k.DistinctAttribute)
		}
		out = append(out, onClaim(c, DropConstraint, fmt.Sprintf("spec.devices.constraints[%d]", i), from, func(x *resourcev1.ResourceClaim, _ int64) {
			x.Spec.Devices.Constraints = slices.DeleteFunc(x.Spec.Devices.Constraints, func(y resourcev1.DeviceConstraint) bool { return reflect.DeepEqual(y, k) })
		}))
	}
	return out
}

func onClaim(c *resourcev1.ResourceClaim, kind Kind, path, from string, edit func(x *resourcev1.ResourceClaim, v int64)) *Change {
	return &Change{Kind: kind, Object: "ResourceClaim " + c.Namespace + "/" + c.Name, Path: path, From: from, make: func(s *cluster.Snapshot, x *Change) {
		now, ok := cluster.List[*resourcev1.ResourceClaim](s).Get(c.Namespace, c.Name)
		if !ok {
			return // the claim went with a pod that left
		}
		now = now.DeepCopy()
		edit(now, x.now())
		must.Do(s.Set(now))
	}}
}
