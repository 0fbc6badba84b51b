package cel

import (
	"context"

	dra "k8s.io/dynamic-resource-allocation/cel"

	"github.com/podberth/podberth/devices"
)

// cached is the number of compiled expressions that a compiler keeps.
const cached = 1024

// Compiler compiles selectors and keeps the most recently compiled expressions. It is safe for concurrent use.
type Compiler struct{ cache *dra.Cache }

var _ devices.SelectorCompiler = (*Compiler)(nil)

// NewCompiler returns a compiler with the feature gates that v1.36 and v1.37 have on by default.
func NewCompiler() *Compiler {
	return &Compiler{dra.NewCache(cached, dra.Features{EnableConsumableCapacity: true})}
}

// Compile compiles an expression of a stored object. The error has Kubernetes' text, which names the position and the
// cause. The empty expression is an error.
func (c *Compiler) Compile(expression string) (devices.Selector, error) {
	result := c.cache.GetOrCompile(expression)
	if result.Error != nil {
		return nil, result.Error
	}
	return selector{result}, nil
}

type selector struct{ compiled dra.CompilationResult }

// Matches evaluates the expression for a device. The error is the evaluation's: a result that is not a bool, a missing
// attribute, or a cost above the limit (rules U4.4 and U4.5).
func (s selector) Matches(d devices.Device) (bool, error) {
	ok, _, err := s.compiled.DeviceMatches(context.Background(), dra.Device{
		Driver: d.Driver, AllowMultipleAllocations: &d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity,
	})
	return ok, err
}
