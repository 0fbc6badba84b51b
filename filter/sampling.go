package filter

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Sampling says how many feasible nodes a search looks for. The zero value is v1.36's default: the adaptive percentage,
// and all nodes of a cluster of less than 100.
type Sampling struct {
	// Percentage is the profile's percentageOfNodesToScore, 0 to 100. nil: not set, Global counts. An explicit 0 asks for
	// the adaptive percentage even when Global is not 0.
	Percentage *int32
	// Global is the configuration's percentageOfNodesToScore, 0 to 100. 0 is the adaptive percentage.
	Global int32
	// Minimum is the number of nodes that are looked for in any case; 0 stands for 100. Kubernetes up to v1.15 had 50.
	Minimum int
	// Unscored says that nothing scores the nodes: no score plugin, and no extender that filters or prioritizes. The first
	// feasible node will do.
	Unscored bool
}

// NumToFind returns after how many feasible nodes a search among n candidates stops:
//
//	n                              when n is less than the minimum of 100
//	max(100, n * percentage / 100) otherwise, where the adaptive percentage is max(5, 50 - n/125)
//
// all in integers. n is the number of candidates, after PreFilter plugins narrowed them. A percentage above 100, which
// kube-scheduler refuses, counts as 100, as its documentation says of older versions; one below 0 as 0. The result never
// exceeds n. Rule: documentation, "Scheduler Performance Tuning".
func NumToFind(n int, s Sampling) int {
	if s.Unscored {
		return min(n, 1)
	}
	least := s.Minimum
	if least <= 0 {
		least = 100
	}
	if n < least {
		return n
	}
	percentage := s.Global
	if s.Percentage != nil {
		percentage = *s.Percentage
	}
	p := int(min(percentage, 100))
	if p <= 0 {
		p = max(5, 50-n/125)
	}
	return min(n, max(least, n/100*p+n%100*p/100)) // n*p/100 without overflow
}

// ValidatePercentage checks a percentageOfNodesToScore as kube-scheduler does; nil is valid.
func ValidatePercentage(percentage *int32, path *field.Path) field.ErrorList {
	if percentage == nil || (*percentage >= 0 && *percentage <= 100) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *percentage, "not in valid range [0-100]")}
}
