package estimate

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/placement"
)

// Component is a number of equal pods of a workload.
type Component struct {
	// Name is for the caller, who finds it in the answer.
	Name string
	Pod  *v1.Pod
	// Replicas is the number of pods; 0 asks for none.
	Replicas int
}

// SetRoom says how many whole sets fit.
type SetRoom struct {
	Count int
	// Component is the name of the first component of the next set that does not fit, and Stop says why. Both are empty at the limit.
	Component string
	Stop      *placement.Failure
}

// Replicas returns how many copies of the pod the cluster takes, up to a limit, which must be positive, on which nodes, and why there is no
// further one. A node may allow more pods than anybody can count. The errors are those of Feasible, and a *field.Error for a limit that is
// not allowed. It is [placement.Placer.HowMany]: one decision for each copy.
func (e *Estimator) Replicas(pod *v1.Pod, limit int) (placement.Room, error) {
	if err := check(pod, field.NewPath("pod")); err != nil {
		return placement.Room{}, err
	}
	if limit < 1 {
		return placement.Room{}, field.Invalid(field.NewPath("limit"), limit, "must be greater than 0")
	}
	return e.placer.HowMany(pod, func(placed int) bool { return placed < limit })
}

// Sets returns how many whole sets of the components the cluster takes, up to a limit, which must be positive. The components are placed in
// their order, each copy by a decision; a set that is not whole leaves nothing. Sets without a pod reach the limit. The errors are those of
// Feasible, and a *field.Error for a limit or a number of replicas that is not allowed. The cost is a decision for each copy.
func (e *Estimator) Sets(components []Component, limit int) (SetRoom, error) {
	if limit < 1 {
		return SetRoom{}, field.Invalid(field.NewPath("limit"), limit, "must be greater than 0")
	}
	if err := checkAll(components); err != nil {
		return SetRoom{}, err
	}
	defer e.snapshot.Rollback(e.snapshot.Mark())
	var room SetRoom
	for ; room.Count < limit; room.Count++ {
		for k := range components {
			_, stop, err := e.put(&components[k])
			if err != nil || stop != nil {
				room.Component, room.Stop = components[k].Name, stop
				return room, err
			}
		}
	}
	return room, nil
}

// checkAll returns an error for components about which nobody can ask.
func checkAll(components []Component) error {
	path := field.NewPath("components")
	for k, c := range components {
		if err := check(c.Pod, path.Index(k).Child("pod")); err != nil {
			return err
		}
		if c.Replicas < 0 {
			return field.Invalid(path.Index(k).Child("replicas"), c.Replicas, "must not be negative")
		}
	}
	return nil
}

// put places all pods of a component. It returns those that it placed, and why the next one has no place.
func (e *Estimator) put(c *Component) (placed []*v1.Pod, stop *placement.Failure, err error) {
	for range c.Replicas {
		e.made++
		pod := copies.Of(e.snapshot, c.Pod, e.made, nil)
		pod.Status = v1.PodStatus{ResourceClaimStatuses: c.Pod.Status.ResourceClaimStatuses}
		if err := copies.SetClaims(e.snapshot, pod); err != nil {
			return placed, nil, err
		}
		d := e.placer.Decide(pod, placement.Options{})
		if !d.Placed() {
			return placed, d.Failure, errors.Join(d.Failure.Err, copies.RemoveClaims(e.snapshot, pod))
		}
		if err := e.placer.Assume(pod, d); err != nil {
			return placed, nil, errors.Join(err, copies.RemoveClaims(e.snapshot, pod))
		}
		placed = append(placed, pod)
	}
	return placed, nil, nil
}
