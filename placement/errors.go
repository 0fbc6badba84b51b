package placement

import (
	"errors"
)

// Errors of this package; test for them with [errors.Is].
var (
	// ErrUnknownPlugin: no plugin of this package has the name.
	ErrUnknownPlugin = errors.New("no such plugin")
	// ErrNotFeasible: a filter rejects the pod on the node, or the slot has no node.
	ErrNotFeasible = errors.New("the node is not feasible")
)

// NoPlaceError is the error for a pod without a place. The fields of its [Failure] say why. Failure is nil when the decision
// had neither a node nor a failure; Text and MarshalJSON panic then, Error and Unwrap do not.
type NoPlaceError struct {
	*Failure
	pod string // namespace/name
}

// Error returns the name of the pod and the text of the failure.
func (e *NoPlaceError) Error() string {
	if e.Failure == nil {
		return "pod " + e.pod + ": the decision has no node"
	}
	return "pod " + e.pod + ": " + e.Text()
}

// Unwrap returns the error of a plugin that failed, nil when the pod was rejected.
func (e *NoPlaceError) Unwrap() error {
	if e.Failure == nil {
		return nil
	}
	return e.Err
}

// kindError is an error that is also a kind of error, such as cluster.ErrDuplicate, for errors.Is.
type kindError struct {
	error
	kind error
}

// Is reports whether target is the kind.
func (e kindError) Is(target error) bool { return target == e.kind }

// Unwrap returns the error that has the text.
func (e kindError) Unwrap() error { return e.error }
