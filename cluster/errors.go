package cluster

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Errors of [New], Set, Remove and Assume that callers decide on; test for them with [errors.Is]. [errors.As] finds a *field.Error in
// these errors and in all others of this package.
var (
	// ErrPlaced: the pod is on a node already, or its node is not in the snapshot.
	ErrPlaced = errors.New("the pod is placed already")
	// ErrNoSnapshot: the input of a planner, an estimate or a diagnosis has no Snapshot.
	ErrNoSnapshot = errors.New("the input has no snapshot")
	// ErrUnknownNode: the slot has no node, or no node has the name.
	ErrUnknownNode = errors.New("no such node")
	// ErrDuplicate: a list has two objects of the same namespace and name.
	ErrDuplicate = errors.New("the object is there already")
)

// failure is a *field.Error that is also one of the errors above for errors.Is.
type failure struct {
	error
	kind error
}

// Is reports whether target is the kind of the failure.
func (f failure) Is(target error) bool { return target == f.kind }

// Unwrap returns the *field.Error.
func (f failure) Unwrap() error { return f.error }

// invalid is the error of New: one *field.Error for each object that New refuses. errors.As finds the first.
type invalid field.ErrorList

func (e invalid) Error() string { return field.ErrorList(e).ToAggregate().Error() }

func (e invalid) Unwrap() []error {
	errs := make([]error, len(e))
	for i := range e {
		errs[i] = e[i]
		if e[i].Type == field.ErrorTypeDuplicate {
			errs[i] = failure{e[i], ErrDuplicate}
		}
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
