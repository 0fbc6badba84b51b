package taints

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Edit is what one "kubectl taint" command does to a node.
type Edit struct {
	Add, Remove []v1.Taint // as Parse returns them
	Overwrite   bool       // an addition may replace a taint of equal key and effect
}

// Outcome is kubectl's word for what happened.
type Outcome string

// The words of kubectl.
const (
	OutcomeTainted   Outcome = "tainted"
	OutcomeUntainted Outcome = "untainted"
	OutcomeModified  Outcome = "modified"
)

// Validate reports the taints that the command both adds and removes; a removal without effect is in conflict with every
// effect of its key.
func (e Edit) Validate() error {
	var conflicts []string
	for _, a := range e.Add {
		for _, r := range e.Remove {
			if a.Key == r.Key && (r.Effect == "" || a.Effect == r.Effect) {
				conflicts = append(conflicts, fmt.Sprintf("%s=%s", r.Key, r.Effect))
			}
		}
	}
	if len(conflicts) > 0 {
		return fmt.Errorf("can not both modify and remove the following taint(s) in the same command: %s",
			strings.Join(conflicts, ", "))
	}
	return nil
}

// Apply returns the taints of the node after the command: the additions in their order, then the old taints that they do
// not replace, without what is removed. It fails, and nothing changes, when the edit is in conflict with itself, when an
// addition meets a taint of equal key and effect without Overwrite, and when a removal finds nothing. The node is not
// modified.
func (e Edit) Apply(node *v1.Node) ([]v1.Taint, Outcome, error) {
	if err := e.Validate(); err != nil {
		return nil, "", err
	}
	old := node.Spec.Taints
	if !e.Overwrite {
		var there []string
		for i := range e.Add {
			if Has(old, &e.Add[i]) {
				there = append(there, e.Add[i].Key)
			}
		}
		if len(there) > 0 {
			return nil, "", fmt.Errorf("node %s already has %s taint(s) with same effect(s) and --overwrite is false",
				node.Name, strings.Join(there, ","))
		}
	}
	result := slices.Clone(e.Add)
	for i := range old {
		if !Has(e.Add, &old[i]) {
			result = append(result, old[i])
		}
	}
	grown := len(result) != len(old)
	lastRemoved := false
	var missing []error
	for _, r := range e.Remove {
		var n int
		result, n = Remove(result, r.Key, r.Effect)
		if lastRemoved = n > 0; !lastRemoved {
			missing = append(missing, fmt.Errorf("taint %q not found", Format(r)))
		}
	}
	if len(missing) > 0 {
		return nil, "", utilerrors.NewAggregate(missing)
	}
	switch {
	case e.Overwrite || grown && lastRemoved:
		return result, OutcomeModified, nil
	case grown:
		return result, OutcomeTainted, nil
	}
	return result, OutcomeUntainted, nil
}
