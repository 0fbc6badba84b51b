package taints

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Explanation says what became of each taint of a node.
type Explanation struct {
	// Cordoned is set when spec.unschedulable rejects.
	Cordoned bool
	// Rejects is set when a taint rejects.
	Rejects bool
	// Raw is the number of soft taints that are not tolerated.
	Raw int64
	// Taints has an entry for each taint of the node, in order.
	Taints []TaintExplanation
}

// TaintExplanation says what became of one taint.
type TaintExplanation struct {
	Taint v1.Taint
	// By is the place in the pod's list of the first toleration that tolerates the taint, -1 when none does.
	By int
}

// ExplainNode returns the numbers behind CheckNode, CheckCordon and RawNode. It allocates.
func (e *Evaluator) ExplainNode(node *v1.Node) Explanation {
	x := Explanation{
		Cordoned: e.CheckCordon(node) != 0,
		Rejects:  e.CheckNode(node) != 0,
		Raw:      e.RawNode(node),
	}
	for i := range node.Spec.Taints {
		t := TaintExplanation{Taint: node.Spec.Taints[i], By: -1}
		if by := e.first(&t.Taint, kindOf(t.Taint.Effect)); by != nil {
			t.By = by.index
		}
		x.Taints = append(x.Taints, t)
	}
	return x
}

// String tells the explanation in one line: what rejects, what is disliked, what is tolerated by which toleration.
func (x Explanation) String() string {
	var parts []string
	if x.Cordoned {
		parts = append(parts, "cordoned")
	}
	for _, t := range x.Taints {
		name := Format(t.Taint)
		switch {
		case t.By >= 0:
			parts = append(parts, fmt.Sprintf("%s tolerated by tolerations[%d]", name, t.By))
		case Hard(t.Taint.Effect):
			parts = append(parts, name+" rejects")
		case t.Taint.Effect == v1.TaintEffectPreferNoSchedule:
			parts = append(parts, name+" is not preferred")
		default:
			parts = append(parts, name+" has no meaning")
		}
	}
	if len(parts) == 0 {
		return "no taints"
	}
	return strings.Join(parts, "; ")
}

// Mismatch says why the toleration does not tolerate the taint, in a few words; "" when it does. It agrees with Matches
// and allocates.
func Mismatch(t *v1.Toleration, taint *v1.Taint, o Options) string {
	if t.Effect != "" && t.Effect != taint.Effect {
		return fmt.Sprintf("effect %s is not %s", quoted(taint.Effect), t.Effect)
	}
	if t.Key != "" && t.Key != taint.Key {
		return fmt.Sprintf("key %s is not %s", quoted(taint.Key), t.Key)
	}
	switch t.Operator {
	case "", v1.TolerationOpEqual:
		if t.Value != taint.Value {
			return fmt.Sprintf("value %q is not %q", taint.Value, t.Value)
		}
	case v1.TolerationOpExists:
	case v1.TolerationOpGt, v1.TolerationOpLt:
		return numericMismatch(t, taint, o)
	default:
		return fmt.Sprintf("operator %q is unknown", t.Operator)
	}
	return ""
}

func numericMismatch(t *v1.Toleration, taint *v1.Taint, o Options) string {
	if !o.ComparisonOperators {
		return fmt.Sprintf("operator %s is switched off", t.Operator)
	}
	want, ok := canonicalInt(t.Value)
	if !ok {
		return fmt.Sprintf("the toleration's value %q is not a canonical 64-bit integer", t.Value)
	}
	have, ok := canonicalInt(taint.Value)
	if !ok {
		return fmt.Sprintf("the taint's value %q is not a canonical 64-bit integer", taint.Value)
	}
	if t.Operator == v1.TolerationOpGt && have <= want {
		return fmt.Sprintf("%d is not greater than %d", have, want)
	}
	if t.Operator == v1.TolerationOpLt && have >= want {
		return fmt.Sprintf("%d is not less than %d", have, want)
	}
	return ""
}

// quoted returns s, or "" in quotes when it is empty.
func quoted[S ~string](s S) string {
	if s == "" {
		return `""`
	}
	return string(s)
}
