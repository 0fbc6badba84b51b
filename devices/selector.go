package devices

import (
	"errors"

	resourcev1 "k8s.io/api/resource/v1"
)

// Device is the part of a device that a selector sees (rule U4.5).
type Device struct {
	Driver                   string
	AllowMultipleAllocations bool
	Attributes               map[resourcev1.QualifiedName]resourcev1.DeviceAttribute
	Capacity                 map[resourcev1.QualifiedName]resourcev1.DeviceCapacity
}

// SelectorCompiler compiles the text of a CEL expression. Selectors of equal texts must give equal answers. Package
// devices/cel has the compiler of Kubernetes.
type SelectorCompiler interface {
	Compile(expression string) (Selector, error)
}

// Selector evaluates one expression. The answer must depend on the device alone.
type Selector interface {
	Matches(d Device) (bool, error)
}

var errNoCompiler = errors.New("no compiler of CEL expressions was given")

// program is a selector that is compiled on first use.
type program struct {
	text     string
	compiled bool
	selector Selector
	err      error
	answers  map[int32]bool // by device.content
}

// matches evaluates an expression for a device. A device does not match when there is an error.
func (a *Allocator) matches(p *program, d *device) (bool, error) {
	if !p.compiled {
		p.compiled = true
		if a.compiler == nil {
			p.err = errNoCompiler
		} else {
			p.selector, p.err = a.compiler.Compile(p.text)
		}
	}
	if p.err != nil {
		return false, &selectorError{compiling, p.err}
	}
	if ok, known := p.answers[d.content]; known {
		return ok, nil
	}
	if err := unreadable(a.options.Release, d.object.Attributes); err != nil {
		return false, &selectorError{evaluating, err}
	}
	ok, err := p.selector.Matches(Device{d.id.Driver, d.shares, d.object.Attributes, d.object.Capacity})
	if err != nil {
		return false, &selectorError{evaluating, err}
	}
	p.answers[d.content] = ok
	return ok, nil
}

// Stages of a selector.
const (
	compiling  = "CEL compile error"
	evaluating = "CEL runtime error"
)

type selectorError struct {
	stage string
	err   error
}

func (e *selectorError) Error() string { return e.stage + ": " + e.err.Error() }
func (e *selectorError) Unwrap() error { return e.err }
