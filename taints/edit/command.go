package edit

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Command is one "kubectl taint" command. Parse reads the notation of its taints.
type Command struct {
	// Add are the taints to add.
	Add []v1.Taint
	// Remove are the taints to remove, by key and effect. An empty effect removes all effects of the key.
	Remove []v1.Taint
	// Overwrite lets an addition replace a taint of equal key and effect.
	Overwrite bool
}

// conflict returns an error for taints that the command both adds and removes.
func (c Command) conflict() error {
	var conflicts []string
	for _, a := range c.Add {
		for _, r := range c.Remove {
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

// Apply returns the taints of the node after the command, and the word that kubectl prints: tainted, untainted or modified.
// The result has the additions in their order and then the old taints that are neither replaced nor removed. The node is
// not modified. It is an error when
//
//  1. the command adds and removes the same taint,
//  2. the node has a taint of the key and effect of an addition, and Overwrite is not set,
//  3. a removal finds no taint.
func (c Command) Apply(node *v1.Node) (taints []v1.Taint, outcome string, err error) {
	if err := c.conflict(); err != nil {
		return nil, "", err
	}
	old := node.Spec.Taints
	if !c.Overwrite {
		var there []string
		for i := range c.Add {
			if hasTaint(old, &c.Add[i]) {
				there = append(there, c.Add[i].Key)
			}
		}
		if len(there) > 0 {
			return nil, "", fmt.Errorf("node %s already has %s taint(s) with same effect(s) and --overwrite is false",
				node.Name, strings.Join(there, ","))
		}
	}
	result := slices.Clone(c.Add)
	for i := range old {
		if !hasTaint(c.Add, &old[i]) {
			result = append(result, old[i])
		}
	}
	grown := len(result) != len(old)
	lastRemoved := false
	var missing []error
	for _, r := range c.Remove {
		var n int
		result, n = Remove(result, r.Key, r.Effect)
		if lastRemoved = n > 0; !lastRemoved {
			missing = append(missing, fmt.Errorf("taint %q not found", r.ToString()))
		}
	}
	if len(missing) > 0 {
		return nil, "", utilerrors.NewAggregate(missing)
	}
	switch {
	case c.Overwrite || grown && lastRemoved:
		return result, "modified", nil
	case grown:
		return result, "tainted", nil
	}
	return result, "untainted", nil
}
