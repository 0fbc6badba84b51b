// Package hints has the queueing hints of DynamicResources. Package placement gives them to its plugin, and callers find them there
// (Plugin.Hint).
package hints

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/release"
)

// Claim is the queueing hint for ResourceClaim events (rule U8.15) of a release. old and new are *resourcev1.ResourceClaim; old is
// nil for an addition, new for a deletion. The first line that holds decides:
//
//  1. The claim was deleted: whether it had an allocation in v1.37, false up to v1.36, whose queue never asks (rule L7.16).
//  2. The claims of the waiting pod do not all exist: false.
//  3. Any claim lost its allocation: true, because devices became free.
//  4. The claim is not one of the pod's claims: false.
//  5. The claim was added: true.
//  6. The status of the claim did not change: false.
//  7. Otherwise: true.
//
// The waiting pod and objects must not be nil. Objects of another type than ResourceClaim are an error.
func Claim(objects devices.Objects, v release.Version) engine.Hint {
	return func(pod *v1.Pod, old, new any) (bool, error) {
		before, after, err := pair[resourcev1.ResourceClaim](old, new)
		if err != nil {
			return false, err
		}
		if after == nil {
			return freesDevices(v, before), nil
		}
		claims, err := devices.PodClaims(pod, objects)
		switch {
		case err != nil:
			return false, nil // whatever the event is, the pod still waits for a claim
		case before != nil && before.Status.Allocation != nil && after.Status.Allocation == nil:
			return true, nil
		}
		used := false
		for _, c := range claims {
			used = used || c.UID == after.UID
		}
		switch {
		case !used:
			return false, nil
		case before == nil:
			return true, nil
		}
		return !equality.Semantic.DeepEqual(&before.Status, &after.Status), nil
	}
}

// Pod is the queueing hint for events of pods. It returns true when the event is an update of the waiting pod itself and
// all claims of the pod exist. The waiting pod and objects must not be nil. Objects of another type than Pod are an error.
func Pod(objects devices.Objects) engine.Hint {
	return func(pod *v1.Pod, old, new any) (bool, error) {
		_, after, err := pair[v1.Pod](old, new)
		if after == nil || after.UID != pod.UID {
			return false, err
		}
		_, err = devices.PodClaims(after, objects)
		return err == nil, nil
	}
}

// pair converts the objects of an event to their type.
func pair[T any](old, new any) (before, after *T, err error) {
	before, after, ok := engine.Typed[T](old, new)
	if !ok {
		return nil, nil, fmt.Errorf("unexpected objects: %T and %T, expected %T", old, new, before)
	}
	return before, after, nil
}
