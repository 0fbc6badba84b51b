package devices

import (
	"errors"
	"fmt"
)

// ErrInvalidPools is the answer for a node where no allocation was found and a pool of the node contradicts itself. It is
// about the node only: other nodes may serve.
var ErrInvalidPools = errors.New("invalid resource pools were encountered")

// ErrSteps is the answer for a node where the search was cut by Options.Steps.
var ErrSteps = errors.New("the search for devices reached its limit of steps")

// FatalError ends the attempt of a pod on every node: v1.36 answers with the code Error.
type FatalError struct{ err error }

// Error returns v1.36's text.
func (e *FatalError) Error() string { return e.err.Error() }

// Unwrap returns the cause, such as the error of a selector.
func (e *FatalError) Unwrap() error { return e.err }

func fatal(format string, args ...any) error { return &FatalError{fmt.Errorf(format, args...)} }
