package preemption

import (
	"time"
)

// Choose returns the index of the best of the candidates, and why.
func Choose(candidates []Candidate, now time.Time) (int, string) {
	return choose(candidates, valuesOf(nil, candidates, now), nil)
}

// Number returns how many candidates are enough if n nodes are to be tried.
func (a CandidateArgs) Number(n int) int { return a.number(n) }

// Sum returns the sum of the victims' priorities as choose compares it.
func (c *Candidate) Sum(now time.Time) int64 { return c.values(now).sum }
