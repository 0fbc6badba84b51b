package devices

import (
	"errors"
	"fmt"
	"math"
)

// defaultSteps is the number of steps of a search on one node where [Options.Steps] is 0.
const defaultSteps = 100_000

const (
	patience  = 256 // steps of a search before it looks ahead
	stopEvery = 256 // steps between two questions to Options.Stop

	comparedCounters = 16 // as many counters cost a step
	takenCapacities  = 4  // as many capacities cost a step
)

// ErrSteps is the error for a node on which [Options.Steps] ended the search. The error of a search wraps it and says how many steps
// were allowed.
var ErrSteps = errors.New("the search for devices was cut")

// ErrStopped is the error for a node on which [Options.Stop] ended the search. The text is v1.37's for a search that lasts longer than
// filterTimeout.
var ErrStopped = errors.New("timed out trying to allocate devices")

// errPatience ends the first part of a search, which does not look ahead.
var errPatience = errors.New("the search has not found devices at once")

// stepsError is ErrSteps with the number of steps.
type stepsError int

func (e stepsError) Error() string {
	return fmt.Sprintf("%v after %d steps; kube-scheduler searches until its filterTimeout and then fails: %v", ErrSteps, int(e), ErrStopped)
}

func (stepsError) Unwrap() error { return ErrSteps }

// cut reports whether the error of a search says that the search was ended before its answer was known.
func cut(err error) bool { return errors.Is(err, ErrSteps) || errors.Is(err, ErrStopped) }

// bound ends a search. A device that is tried costs a step, and more where it has many capacities or its pool many counters.
type bound struct {
	steps    int // so far
	limit    int // of Options.Steps
	patience int
	ask      int // number of steps at which stop is asked again
	stop     func() bool
}

// start begins a search.
func (b *bound) start(o *Options, patience int) {
	*b = bound{limit: limitOf(o.Steps), patience: patience}
	if o.Stop != nil {
		b.stop = o.Stop()
	}
}

// resume begins the steps again, now without patience.
func (b *bound) resume() { b.steps, b.ask, b.patience = 0, 0, math.MaxInt }

// limitOf returns the number of steps that Options.Steps allows.
func limitOf(steps int) int {
	switch {
	case steps == 0:
		return defaultSteps
	case steps < 0:
		return math.MaxInt
	}
	return steps
}

// step counts a step, and returns the error that ends the search.
func (b *bound) step() error {
	switch {
	case b.steps >= b.limit:
		return stepsError(b.limit)
	case b.steps >= b.patience:
		return errPatience
	}
	if b.stop != nil && b.steps >= b.ask {
		b.ask = b.steps + stopEvery
		if b.stop() {
			return ErrStopped
		}
	}
	b.steps++
	return nil
}
