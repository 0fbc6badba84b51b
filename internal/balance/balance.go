// Package balance has the formula of NodeResourcesBalancedAllocation for two resources.
package balance

import "math"

// Share returns the share of an amount that is in use, at most 1. all must not be 0.
func Share(used int64, all float64) float64 {
	f := float64(used) / all
	if f > 1 {
		return 1
	}
	return f
}

// Of returns the balance of two shares, 50 to 100: 100 minus their standard deviation in percent.
func Of(a, b float64) int64 { return int64(float64(1-math.Abs((a-b)/2)) * 100) }

// Change returns the score of v1.37 for the balance of a node with a pod and without the pod, 50 to 100.
func Change(with, without int64) int64 { return 50 + (50+with-without)/2 }
