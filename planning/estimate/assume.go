package estimate

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/copies"
)

// Assume holds room for workloads that are on their way: it places the pods of each component as Sets does, and they stay in the snapshot until
// release is called. A component of which a pod has no place takes nothing and is among the missing, in order. release may be called more than
// once and in any order with those of other calls; its error is that of [cluster.Snapshot.Remove], for a pod that somebody else took away.
// The errors are those of Sets; nothing is held then, and release is nil.
func (e *Estimator) Assume(components []Component) (missing []Component, release func() error, err error) {
	if err := checkAll(components); err != nil {
		return nil, nil, err
	}
	var held []*v1.Pod
	for k := range components {
		placed, stop, err := e.put(&components[k])
		if err != nil {
			return nil, nil, errors.Join(err, e.take(append(held, placed...)))
		}
		if stop == nil {
			held = append(held, placed...)
			continue
		}
		missing = append(missing, components[k])
		if err := e.take(placed); err != nil {
			return nil, nil, errors.Join(err, e.take(held))
		}
	}
	return missing, func() error {
		pods := held
		held = nil
		return e.take(pods)
	}, nil
}

// take takes pods that put placed away again, the last first.
func (e *Estimator) take(pods []*v1.Pod) error {
	var errs []error
	for _, pod := range slices.Backward(pods) {
		errs = append(errs, e.placer.Forget(pod), copies.RemoveClaims(e.snapshot, pod))
	}
	return errors.Join(errs...)
}
