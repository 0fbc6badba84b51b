package affinity

import "github.com/podberth/podberth/resources"

// The verdicts of this package. 0 allows the node.
const (
	nodeEnforced                           = 1 | resources.Unresolvable // the terms that the profile adds do not match
	nodeMismatch                           = 2 | resources.Unresolvable // nodeSelector or required node affinity do not match
	termsConflict                          = 4 | resources.Unresolvable // requirements on metadata.name exclude each other
	podAffinityUnmet                       = 5 | resources.Unresolvable // no matching pod in the domain, or no domain
	podAntiAffinity      resources.Verdict = 6                          // a pod in the domain matches an anti-affinity term
	existingAntiAffinity resources.Verdict = 7                          // a term of a pod in the domain matches the pod
	unparsable                             = 8 | resources.Unresolvable // a term of the pod cannot be converted
)

// reasonTexts returns v1.37.2's texts of a verdict, nil for 0 and for a verdict of another package.
func reasonTexts(v resources.Verdict) []string {
	switch v {
	case nodeEnforced:
		return []string{"node(s) didn't match scheduler-enforced node affinity"}
	case nodeMismatch:
		return []string{"node(s) didn't match Pod's node affinity/selector"}
	case termsConflict:
		return []string{"pod affinity terms conflict"}
	case podAffinityUnmet:
		return []string{"node(s) didn't match pod affinity rules"}
	case podAntiAffinity:
		return []string{"node(s) didn't match pod anti-affinity rules"}
	case existingAntiAffinity:
		return []string{"node(s) didn't satisfy existing pods anti-affinity rules"}
	case unparsable:
		return []string{"parsing pod"}
	}
	return nil
}
