package taint

import (
	"math"
	"time"
)

// tokenBucket is a token bucket for one token that fills at a rate: it accepts at once when full and then every 1/rate
// seconds. It is a value: a copy is independent. The zero value never accepts.
type tokenBucket struct {
	rate   float32
	tokens float64   // at last
	last   time.Time // when tokens was worked out
}

// newTokenBucket returns a full bucket; one with rate 0 or less never accepts.
func newTokenBucket(rate float32, now time.Time) tokenBucket {
	if !(rate > 0) {
		return tokenBucket{}
	}
	return tokenBucket{rate: rate, tokens: 1, last: now}
}

// Rate returns the tokens a second, 0 when the limiter never accepts.
func (l tokenBucket) Rate() float32 { return l.rate }

func (l tokenBucket) at(now time.Time) float64 {
	return min(1, l.tokens+max(0, now.Sub(l.last).Seconds())*float64(l.rate))
}

// wait returns the time until the bucket is full, whole nanoseconds.
func (l tokenBucket) wait(now time.Time) time.Duration {
	ns := (1 - l.at(now)) / float64(l.rate) * float64(time.Second)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// Accept takes a token if there is one at now and reports whether it did.
func (l *tokenBucket) Accept(now time.Time) bool {
	if !l.Would(now) {
		return false
	}
	l.tokens, l.last = l.at(now)-1, now
	return true
}

// Would reports whether Accept would take a token at now.
func (l tokenBucket) Would(now time.Time) bool { return l.rate > 0 && l.wait(now) <= 0 }

// Next returns when a token is there, not before now; ok is false when there never is one.
func (l tokenBucket) Next(now time.Time) (at time.Time, ok bool) {
	if l.rate <= 0 {
		return time.Time{}, false
	}
	return now.Add(l.wait(now)), true
}

// Swap changes the rate: with the same rate the bucket is kept, otherwise there is a new one, empty when the old one would
// refuse at now and full when it would accept. (Kubernetes takes a change from 0 to exactly 1 for no change.)
func (l *tokenBucket) Swap(rate float32, now time.Time) {
	if !(rate > 0) {
		rate = 0
	}
	if rate == l.rate {
		return
	}
	empty := !l.Would(now)
	*l = newTokenBucket(rate, now)
	if empty {
		l.tokens = 0
	}
}
