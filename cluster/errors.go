package cluster

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// invalid is the error of New: one *field.Error for each object that New refuses. errors.As finds the first.
type invalid field.ErrorList

func (e invalid) Error() string { return field.ErrorList(e).ToAggregate().Error() }

func (e invalid) Unwrap() []error {
	errs := make([]error, len(e))
	for i := range e {
		errs[i] = e[i]
	}
	return errs
}

// failed returns an error about one object of a list of Objects.
func failed(kind field.ErrorType, list string, value any, format string, args ...any) *field.Error {
	return &field.Error{Type: kind, Field: list, BadValue: value, Detail: fmt.Sprintf(format, args...)}
}

// nameOf returns the name of an object as errors print it: namespace/name, or the name of a cluster-wide object.
func nameOf(obj metav1.Object) string {
	return strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
}
