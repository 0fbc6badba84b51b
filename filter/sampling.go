package filter

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Sampling is the configuration of how many feasible nodes a search looks for. The zero value is v1.37's default: the
// adaptive percentage, and all nodes of a cluster of less than 100 nodes.
type Sampling struct {
	// Percentage is the profile's percentageOfNodesToScore, 0 to 100. nil means that Global counts. 0 means the adaptive
	// percentage even when Global is not 0.
	Percentage *int32
	// Global is the configuration's percentageOfNodesToScore, 0 to 100. 0 means the adaptive percentage.
	Global int32
	// Unscored means that nothing scores the nodes: no score plugin, and no extender that filters or prioritizes. One
	// feasible node is enough then.
	Unscored bool
}

// NumToFind returns the number of feasible nodes after which a search among n candidates stops:
//
//	n                              when n is less than 100
//	max(100, n * percentage / 100) otherwise; the adaptive percentage is max(5, 50 - n/125)
//
// All divisions are integer divisions. n is the number of candidates that PreFilter plugins left. A percentage above 100
// counts as 100 and a percentage below 0 as 0; kube-scheduler refuses both ([ValidatePercentage]). The result never exceeds n.
// Rule: documentation, "Scheduler Performance Tuning".
func NumToFind(n int, s Sampling) int {
	if s.Unscored {
		return min(n, 1)
	}
	percentage := s.Global
	if s.Percentage != nil {
		percentage = *s.Percentage
	}
	return min(n, max(100, share(n, percentage)))
}

// share returns a percentage of n. A percentage below 1 means the adaptive percentage.
func share(n int, percentage int32) int {
	p := int(min(percentage, 100))
	if p <= 0 {
		p = max(5, 50-n/125)
	}
	return n/100*p + n%100*p/100 // n*p/100 without overflow
}

// ValidatePercentage checks a percentageOfNodesToScore as kube-scheduler does. nil is valid.
func ValidatePercentage(percentage *int32, path *field.Path) field.ErrorList {
	if percentage == nil || (*percentage >= 0 && *percentage <= 100) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *percentage, "not in valid range [0-100]")}
}
