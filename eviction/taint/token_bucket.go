package taint

import (
	"math"
	"time"
)

// tokenBucket is a token bucket of size one (rule XZ5.4). When it is full it accepts at once, and then every 1/rate
// seconds. It is a value: a copy is independent. The zero value never accepts.
type tokenBucket struct {
	rate   float32
	tokens float64   // tokens at time last
	last   time.Time // time at which tokens was computed
}

// newTokenBucket returns a full bucket. A bucket with a rate of 0 or less never accepts.
func newTokenBucket(rate float32, now time.Time) tokenBucket {
	if !(rate > 0) {
		return tokenBucket{}
	}
	return tokenBucket{rate: rate, tokens: 1, last: now}
}

// Rate returns the tokens per second, 0 when the bucket never accepts.
func (l tokenBucket) Rate() float32 { return l.rate }

func (l tokenBucket) at(now time.Time) float64 {
	return min(1, l.tokens+max(0, now.Sub(l.last).Seconds())*float64(l.rate))
}

// wait returns the time until the bucket is full, in whole nanoseconds.
func (l tokenBucket) wait(now time.Time) time.Duration {
	ns := (1 - l.at(now)) / float64(l.rate) * float64(time.Second)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// Accept takes a token if the bucket has one at now, and reports whether it did.
func (l *tokenBucket) Accept(now time.Time) bool {
	if !l.Would(now) {
		return false
	}
	l.tokens, l.last = l.at(now)-1, now
	return true
}

// Would reports whether Accept would take a token at now.
func (l tokenBucket) Would(now time.Time) bool { return l.wait(now) <= 0 }

// Next returns the time, at now or later, at which the bucket has a token. ok is false when it never has one.
func (l tokenBucket) Next(now time.Time) (at time.Time, ok bool) {
	if l.rate <= 0 {
		return time.Time{}, false
	}
	return now.Add(l.wait(now)), true
}

// Swap changes the rate (rule XZ7.7). An equal rate keeps the bucket. Otherwise the bucket is new: empty when the old
// bucket would refuse at now, full when it would accept. (Kubernetes ignores a change from 0 to exactly 1.)
func (l *tokenBucket) Swap(rate float32, now time.Time) {
	next := newTokenBucket(rate, now)
	if next.rate == l.rate {
		return
	}
	if !l.Would(now) {
		next.tokens = 0
	}
	*l = next
}
