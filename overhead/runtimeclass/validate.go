package runtimeclass

import (
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
)

// ValidateUpdate returns what the API server finds wrong with an update of the RuntimeClass at path (nil: the root) from old
// to class: the handler must not change. The error has no value, as in v1.37. Overhead and scheduling may change; pods that exist keep what
// [Admit] gave them. A nil argument has no errors. Rule O6.9: API field RuntimeClass.handler.
func ValidateUpdate(old, class *nodev1.RuntimeClass, path *field.Path) field.ErrorList {
	if old == nil || class == nil || old.Handler == class.Handler {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("handler"), nil, "field is immutable")}
}

// ValidateOverhead returns what the API server finds wrong with the overhead of a RuntimeClass. podFixed is its
// overhead.podFixed, and path (nil: the root) is that of overhead. The API server checks podFixed like the limits of a
// container:
//
//   - Names are cpu, memory, ephemeral-storage, huge pages or qualified names such as "example.com/gpu".
//   - Amounts are not negative. Amounts of extended resources are whole. Amounts of huge pages are multiples of the page size.
//   - Huge pages come with cpu or memory.
//
// Errors are in the order of the names. Rule O6.6: API field RuntimeClass.overhead.podFixed.
func ValidateOverhead(podFixed v1.ResourceList, path *field.Path) field.ErrorList {
	return apiserver.ValidateResources(podFixed, nil, apiserver.ResourceName, path)
}
