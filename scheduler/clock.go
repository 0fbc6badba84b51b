package scheduler

import "time"

// Clock is the scheduler's source of time.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives the time once, after d has passed. The deadlines of plugins and Run use it.
	After(d time.Duration) <-chan time.Time
}

// WallClock is the real time.
type WallClock struct{}

// Now returns the time.
func (WallClock) Now() time.Time { return time.Now() }

// After is time.After.
func (WallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
