package cluster

import (
	"errors"
	"fmt"
)

// Errors of changes to a snapshot; test for them with errors.Is. When a method of Snapshot returns an error, the snapshot
// has not changed.
var (
	// ErrInvalid: the object is nil, has no name, is of a kind that Objects does not have, or is a pod that has ended.
	ErrInvalid = errors.New("the object is invalid")
	// ErrNotFound: no such node, pod or object is in the snapshot, or the slot has no node, or the UID differs.
	ErrNotFound = errors.New("the object is not found")
	// ErrPlaced: the pod is on a node already.
	ErrPlaced = errors.New("the pod is placed")
)

// failure is an error of one kind with a text of its own.
type failure struct {
	kind error
	text string
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.kind }

func fail(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}
