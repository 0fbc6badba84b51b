package devices

import (
	"errors"
	"fmt"
)

// ErrInvalidPools is the error for a node on which no allocation was found and a pool contradicts itself. Other nodes may
// still serve.
var ErrInvalidPools = errors.New("invalid resource pools were encountered")

// ErrFatal ends the attempt of a pod on every node; errors.Is finds it. v1.37 returns the code Error. The error's text is v1.37's, and
// errors.Is and errors.As find the cause too, such as the error of a selector.
var ErrFatal = errors.New("the attempt ends on every node")

// fatalError is an ErrFatal with v1.37's text.
type fatalError struct{ err error }

func (e *fatalError) Error() string        { return e.err.Error() }
func (e *fatalError) Unwrap() error        { return e.err }
func (e *fatalError) Is(target error) bool { return target == ErrFatal }

func fatal(format string, args ...any) error { return &fatalError{fmt.Errorf(format, args...)} }
