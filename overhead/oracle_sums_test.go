package overhead

import (
	"math/big"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
)

// This file has what the oracle computes otherwise for v1.37: sums over the pod, then the largest of them.

func (x oracle) sumsFirst() bool { return x.o.UseStatus && x.o.Release.AtLeast(release.V1_37) }

func (x oracle) status(c v1.Container) (found v1.ContainerStatus) {
	for _, list := range [][]v1.ContainerStatus{x.pod.Status.ContainerStatuses, x.pod.Status.InitContainerStatuses} {
		for _, s := range list {
			if s.Name == c.Name {
				found = s
			}
		}
	}
	return found
}

// sums is the largest sum over the containers, or what the pod's status says of the pod as a whole in place of them.
func (x oracle) sums() *big.Rat {
	fill := func(r *big.Rat) *big.Rat {
		if r == nil && !x.limits {
			return rat(x.o.Missing, x.name)
		}
		return r
	}
	spec := func(c v1.Container) *big.Rat { return fill(x.pick(c.Resources)) }
	allocated := func(c v1.Container) *big.Rat {
		switch s := x.status(c); {
		case s.AllocatedResources != nil && !x.limits:
			return fill(rat(s.AllocatedResources, x.name))
		case x.infeasible():
			return fill(nil)
		}
		return spec(c)
	}
	used := func(c v1.Container) *big.Rat {
		if s := x.status(c); s.Resources != nil && (x.limits && s.Resources.Limits != nil || !x.limits && s.Resources.Requests != nil) {
			return fill(x.pick(*s.Resources))
		}
		return allocated(c)
	}
	all := func(of func(v1.Container) *big.Rat) *big.Rat {
		return x.walk(func(c v1.Container, _, _ bool) *big.Rat { return of(c) })
	}
	var found []*big.Rat
	switch whole := x.pod.Status.Resources; {
	case x.limits && !x.o.IgnorePodStatus && whole != nil && whole.Limits != nil:
		found = append(found, x.pick(*whole))
	case !x.limits && !x.o.IgnorePodStatus && whole != nil && whole.Requests != nil && x.pod.Status.AllocatedResources != nil:
		found = append(found, x.pick(*whole), rat(x.pod.Status.AllocatedResources, x.name))
	case x.limits:
		found = append(found, all(used))
	default:
		found = append(found, all(allocated), all(used))
	}
	if !x.infeasible() {
		found = append(found, all(spec))
	}
	return most(found...)
}

// held is the largest amount at pod level, of the spec and of the status; nil where the sums count.
func (x oracle) held() *big.Rat {
	named := false
	for _, list := range []v1.ResourceList{x.pod.Spec.Resources.Requests, x.pod.Spec.Resources.Limits}[:1+bit(x.limits)] {
		named = named || anySupported(list)
	}
	if !named {
		return nil
	}
	var spec, allocated *big.Rat
	if !x.infeasible() {
		spec = x.pick(*x.pod.Spec.Resources)
	}
	if !x.limits {
		allocated = rat(x.pod.Status.AllocatedResources, x.name)
	}
	return most(spec, x.pick(*x.pod.Status.Resources), allocated)
}
