package resources

import (
	"math"
	"time"
)

// Seconds returns n seconds. A number that a [time.Duration] cannot hold, more than about 292 years, becomes the largest
// duration; a negative one becomes the smallest.
func Seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	switch {
	case n > most:
		return math.MaxInt64
	case n < -most:
		return math.MinInt64
	}
	return time.Duration(n) * time.Second
}
