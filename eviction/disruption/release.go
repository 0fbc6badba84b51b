package disruption

import "github.com/podberth/podberth/release"

// This file has the differences between releases in the Eviction API and in kubectl drain.

// oneCause reports whether the cause of a 429 always names the healthy pods, as in v1.34 (rule L13.1).
func oneCause(v release.Version) bool { return !v.AtLeast(release.V1_35) }

// causeOfForbidden returns the cause of a 403 from a budget, "" up to v1.36 (rule L13.2).
func causeOfForbidden(v release.Version, budget, why string) string {
	if !v.AtLeast(release.V1_37) {
		return ""
	}
	return "The disruption budget " + budget + " does not allow evicting pods currently: " + why
}

// refusesUnmanaged returns the text about pods without a controller, which up to v1.35 begins twice (rule L13.3).
func refusesUnmanaged(v release.Version) string {
	if !v.AtLeast(release.V1_36) {
		return "cannot delete " + unmanagedRefused
	}
	return unmanagedRefused
}
