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
	offered := offersOf(s)
	for _, c := range own {
		if c.Status.Allocation != nil {
			continue
		}
		for _, x := range slices.Concat(classMends(s, c), selectorMends(offered, c), claimChanges(c), selectorChanges(offered, c)) { // the spec of a claim and of a template never changes
			x.Again = true
			if template := templateOf(pod, c); template != "" {
				x.Object, x.Path = "ResourceClaimTemplate "+pod.Namespace+"/"+template, "spec."+x.Path
			}
			out = append(out, x)
		}
	}
	var idle []*resourcev1.ResourceClaim
	for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
		used := slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID != podinfo.UID(pod) })
		if c.Status.Allocation != nil && !used {
			idle = append(idle, c)
		}
	}
	idle = unnamed(s, idle)
	slices.SortFunc(idle, func(a, b *resourcev1.ResourceClaim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range idle[:min(mostReleased, len(idle))] {
		x := onClaim(c, ReleaseClaim, "status.allocation", "", func(x *resourcev1.ResourceClaim, _ int64) { *x = *devices.Deallocated(x) })
		x.Again = slices.Contains(own, c)
		out = append(out, x)
	}
	return out, len(idle) > mostReleased
}

// templateOf returns the name of the template of which a claim of the pod is made, "" when the pod names the claim itself.
func templateOf(pod *v1.Pod, c *resourcev1.ResourceClaim) string {
	for _, status := range pod.Status.ResourceClaimStatuses {
		if status.ResourceClaimName == nil || *status.ResourceClaimName != c.Name {
			continue
		}
		for _, x := range pod.Spec.ResourceClaims {
			if x.Name == status.Name && x.ResourceClaimTemplateName != nil {
				return *x.ResourceClaimTemplateName
			}
		}
	}
	return ""
}

// unnamed returns the claims that no pod with a node names: a running pod may be about to reserve its claim.
func unnamed(s *cluster.Snapshot, claims []*resourcev1.ResourceClaim) []*resourcev1.ResourceClaim {
	if len(claims) == 0 {
		return nil
	}
	named := map[string]bool{}
	for _, i := range s.Order() {
		for p := range s.Pods(int(i)) {
			for _, x := range p.Spec.ResourceClaims {
				if x.ResourceClaimName != nil {
					named[p.Namespace+"/"+*x.ResourceClaimName] = true
				}
			}
			for _, x := range p.Status.ResourceClaimStatuses {
				if x.ResourceClaimName != nil {
					named[p.Namespace+"/"+*x.ResourceClaimName] = true
				}
			}
		}
	}
	return slices.DeleteFunc(claims, func(c *resourcev1.ResourceClaim) bool { return named[c.Namespace+"/"+c.Name] })
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
