package devices

import (
	"errors"
	"fmt"
)

// ErrInvalidPools is the error for a node on which no allocation was found and a pool contradicts itself. Other nodes may
// still serve.
var ErrInvalidPools = errors.New("invalid resource pools were encountered")

// FatalError ends the attempt of a pod on every node. v1.37 returns the code Error. The zero value is not usable.
type FatalError struct{ err error }

// Error returns v1.37's text.
func (e *FatalError) Error() string { return e.err.Error() }

// Unwrap returns the cause, such as the error of a selector.
func (e *FatalError) Unwrap() error { return e.err }

func fatal(format string, args ...any) error { return &FatalError{fmt.Errorf(format, args...)} }
