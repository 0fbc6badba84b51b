package preemption

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CandidateArgs are the arguments of v1.37's plugin DefaultPreemption. They say how many candidates are enough: the
// percentage of the nodes to try, rounded down, at least MinAbsolute, at most all nodes to try. The number can be 0 (4
// percent of 20 nodes, at least 0). Then preemption finds nothing; see [Options.AtLeastOneCandidate]. nil fields take the
// defaults. Rule P-18.
type CandidateArgs struct {
	// MinPercentage is minCandidateNodesPercentage: 0 to 100, default 10.
	MinPercentage *int32
	// MinAbsolute is minCandidateNodesAbsolute: 0 or more, default 100.
	MinAbsolute *int32
}

func (a CandidateArgs) values() (percentage, absolute int32) {
	percentage, absolute = 10, 100
	if a.MinPercentage != nil {
		percentage = *a.MinPercentage
	}
	if a.MinAbsolute != nil {
		absolute = *a.MinAbsolute
	}
	return percentage, absolute
}

// number returns how many candidates are enough if n nodes are to be tried.
func (a CandidateArgs) number(n int) int {
	percentage, absolute := a.values()
	return min(max(int(int64(n)*int64(percentage)/100), int(absolute)), n)
}

// Validate returns what kube-scheduler finds wrong with the arguments at path (nil: the root). The field names are those of
// the configuration.
func (a CandidateArgs) Validate(path *field.Path) field.ErrorList {
	percentage, absolute := a.values()
	p, n := path.Child("minCandidateNodesPercentage"), path.Child("minCandidateNodesAbsolute")
	var errs field.ErrorList
	if percentage < 0 || percentage > 100 {
		errs = append(errs, field.Invalid(p, percentage, "not in valid range [0, 100]"))
	}
	if absolute < 0 {
		errs = append(errs, field.Invalid(n, absolute, "not in valid range [0, inf)"))
	}
	if percentage == 0 && absolute == 0 {
		const both = "cannot be zero at the same time as %s"
		errs = append(errs, field.Invalid(p, percentage, fmt.Sprintf(both, "minCandidateNodesAbsolute")),
			field.Invalid(n, absolute, fmt.Sprintf(both, "minCandidateNodesPercentage")))
	}
	return errs
}
