// Package seconds turns numbers of seconds of API fields into durations. API fields such as terminationGracePeriodSeconds
// hold numbers that are larger than a time.Duration can be.
package seconds

import (
	"math"
	"time"
)

// Duration returns n seconds. A number that a time.Duration cannot hold, more than about 292 years, becomes the largest
// duration; a negative one becomes the smallest.
func Duration(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	switch {
	case n > most:
		return math.MaxInt64
	case n < -most:
		return math.MinInt64
	}
	return time.Duration(n) * time.Second
}
