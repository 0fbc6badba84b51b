package queue

import "time"

// window is what expiries are aligned to, and the period of the upstream timer that ends backoffs.
const window = time.Second

// backoffDuration returns how long a pod rests after its count-th failure: initial, doubled by each further failure, at
// most max:
//
//	max                  if initial > max >> (count-1)
//	initial << (count-1) otherwise
//
// 1, 2, 4, 8, 10, 10 … seconds by default. It is 0 when max is 0 (no backoff) or count is not positive, and never
// overflows. Source: KubeSchedulerConfiguration, podInitialBackoffSeconds and podMaxBackoffSeconds.
func backoffDuration(initial, max time.Duration, count int) time.Duration {
	if max == 0 || count <= 0 {
		return 0
	}
	if initial > max>>(count-1) {
		return max
	}
	return initial << (count - 1)
}

// backoffExpiry returns the expiry of a backoff that began at from, cut down to the whole second. The zero time means
// no backoff.
func backoffExpiry(from time.Time, duration time.Duration) time.Time {
	if duration <= 0 {
		return time.Time{}
	}
	return from.Add(duration).Truncate(window)
}

// backingOff reports whether a pod whose backoff has the given expiry still rests at now: not (expiry < now cut down to
// the second). Equality rests, so the pod becomes free one second after its expiry, and the real rest is longer than the
// duration by up to a second, never shorter.
func backingOff(expiry, now time.Time) bool {
	return !expiry.IsZero() && !expiry.Before(now.Truncate(window))
}

// duration returns the rest that e has earned, 0 for none.
func (q *Queue) duration(e *Entry) time.Duration {
	return backoffDuration(q.initial, q.longest(e), e.failures())
}

func (q *Queue) expiry(e *Entry) time.Time {
	d := q.duration(e)
	if d > 0 && (q.o.Legacy.WaitOutBackoff || q.o.Legacy.CycleCounter) {
		return e.Timestamp.Add(d)
	}
	return backoffExpiry(e.Timestamp, d)
}

func (q *Queue) backingOff(e *Entry, now time.Time) bool {
	switch {
	case q.o.Legacy.CycleCounter:
		return e.BackoffExpiration.After(now)
	case q.o.Legacy.WaitOutBackoff:
		return !e.BackoffExpiration.IsZero() && !e.BackoffExpiration.Before(now)
	}
	return backingOff(e.BackoffExpiration, now)
}

// free returns the first instant at which e no longer rests. The entry is in a backoff.
func (q *Queue) free(e *Entry) time.Time {
	switch {
	case q.o.Legacy.CycleCounter:
		return e.BackoffExpiration
	case q.o.Legacy.WaitOutBackoff:
		return e.BackoffExpiration.Add(1)
	}
	return e.BackoffExpiration.Add(window)
}
