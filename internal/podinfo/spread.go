package podinfo

import v1 "k8s.io/api/core/v1"

// MinDomains returns minDomains of a spread constraint. A constraint without the field has 1.
func MinDomains(c *v1.TopologySpreadConstraint) int32 {
	if c.MinDomains == nil {
		return 1
	}
	return *c.MinDomains
}

// TooFewDomains reports whether a constraint counts fewer domains than minDomains. Then the global minimum is 0: no domain takes more
// than maxSkew of the pods.
func TooFewDomains(domains int, minDomains int32) bool {
	return domains < int(minDomains)
}
