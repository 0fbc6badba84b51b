package overhead

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateQuantities returns an error for every negative request, limit and overhead of a pod whose spec is at path (nil:
// the root). The API server rejects negative amounts; the arithmetic of this package computes with them as they are. A
// request above its limit is no error in this check. A nil pod has no errors. Rules O12.1 and O12.2: API field documentation
// of resources.requests.
func ValidateQuantities(pod *v1.Pod, path *field.Path) field.ErrorList {
	if pod == nil {
		return nil
	}
	var errs field.ErrorList
	for _, list := range [...]struct {
		name       string
		containers []v1.Container
	}{{"containers", pod.Spec.Containers}, {"initContainers", pod.Spec.InitContainers}} {
		for i := range list.containers {
			r, at := &list.containers[i].Resources, path.Child(list.name).Index(i).Child("resources")
			errs = append(errs, negatives(r.Limits, at.Child("limits"))...)
			errs = append(errs, negatives(r.Requests, at.Child("requests"))...)
		}
	}
	if r := pod.Spec.Resources; r != nil {
		errs = append(errs, negatives(r.Limits, path.Child("resources", "limits"))...)
		errs = append(errs, negatives(r.Requests, path.Child("resources", "requests"))...)
	}
	return append(errs, negatives(pod.Spec.Overhead, path.Child("overhead"))...)
}

func negatives(list v1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(list) {
		if q := list[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), q.String(), "must be greater than or equal to 0"))
		}
	}
	return errs
}
