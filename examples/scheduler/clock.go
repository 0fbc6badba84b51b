package scheduler

import "time"

// Clock is the time the scheduler goes by.
type Clock interface {
	Now() time.Time
	// After sends once when d has passed. It is used for the deadlines of plugins and by Run.
	After(d time.Duration) <-chan time.Time
}

// WallClock is the clock on the wall.
type WallClock struct{}

// Now returns the time.
func (WallClock) Now() time.Time { return time.Now() }

// After is time.After.
func (WallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
