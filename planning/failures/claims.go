package failures

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/placement"
)

// release takes a pod of the cluster that left off its ResourceClaims. A claim that was made for the pod goes with the pod. A
// claim that no pod has reserved any more loses its allocation.
func (x *player) release(pod *v1.Pod) error {
	all := cluster.List[*resourcev1.ResourceClaim](x.snapshot)
	for _, name := range claimNames(pod) {
		c, ok := all.Get(pod.Namespace, name)
		if !ok {
			continue
		}
		var err error
		if left := devices.Abandoned(c, pod); left != nil {
			err = x.snapshot.Set(left)
		} else {
			err = x.snapshot.Unset(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// claimNames returns the names of the claims that a pod uses.
func claimNames(pod *v1.Pod) (names []string) {
	for k := range pod.Spec.ResourceClaims {
		if name := pod.Spec.ResourceClaims[k].ResourceClaimName; name != nil {
			names = append(names, *name)
		}
	}
	for k := range pod.Status.ResourceClaimStatuses {
		if name := pod.Status.ResourceClaimStatuses[k].ResourceClaimName; name != nil {
			names = append(names, *name)
		}
	}
	if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
		names = append(names, s.ResourceClaimName)
	}
	return names
}

// makeClaims makes the claims of a new pod from their templates and writes their names into the pod's status. A template that does
// not exist makes none, and the pod stays pending.
func (x *player) makeClaims(pod *v1.Pod) error {
	templates := cluster.List[*resourcev1.ResourceClaimTemplate](x.snapshot)
	for k := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[k]
		if e.ResourceClaimTemplateName == nil {
			continue
		}
		template, ok := templates.Get(pod.Namespace, *e.ResourceClaimTemplateName)
		if !ok {
			continue
		}
		c := devices.ClaimFromTemplate(pod, e.Name, template, "again")
		if err := x.snapshot.Set(c); err != nil {
			return err
		}
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: e.Name, ResourceClaimName: &c.Name})
	}
	return nil
}

// giveBack returns what v1.36's PostFilter of DynamicResources gives back for a pod that fits on no node.
func (x *player) giveBack(f *placement.Failure) devices.Release {
	if a := x.placer.Failed(f); a != nil {
		for _, p := range a.Predicates {
			if r, ok := p.(interface{ Release() devices.Release }); ok {
				return r.Release()
			}
		}
	}
	return devices.Release{Reason: "no new claims to deallocate"}
}

// write writes what PostFilter gave back. The pods that failed are tried again then.
func (x *player) write(r devices.Release) error {
	switch {
	case r.Deallocate != nil:
		x.changes++
		return x.snapshot.Set(devices.Deallocated(r.Deallocate))
	case r.Delete != nil:
		x.changes++
		return x.snapshot.Unset(r.Delete)
	}
	return nil
}
