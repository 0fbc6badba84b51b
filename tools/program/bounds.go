package program

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Bounds are the steps and the time after which a search ends.
type Bounds struct {
	Steps int
	Time  time.Duration // 0: no limit
}

// BoundFlags defines -steps and -time. The values of b are the defaults.
func (b *Bounds) BoundFlags(f *Set, steps, time string) {
	f.IntVar(&b.Steps, "steps", b.Steps, steps)
	f.DurationVar(&b.Time, "time", b.Time, time+"; 0: no limit")
}

// CheckBounds returns an error when there are no steps, or when the time is negative.
func (b *Bounds) CheckBounds() error {
	var steps error
	if b.Steps < 1 {
		steps = fmt.Errorf("-steps: Invalid value: %d: must be greater than 0", b.Steps)
	}
	return cmp.Or(steps, b.CheckTime())
}

// CheckTime returns an error when the time is negative.
func (b *Bounds) CheckTime() error {
	if b.Time < 0 {
		return fmt.Errorf("-time: Invalid value: %v: must not be negative", b.Time)
	}
	return nil
}

// Stop returns what says when the search ends that begins now: [Stop].
func (b *Bounds) Stop(ctx context.Context) func() bool { return Stop(ctx, b.Time) }
