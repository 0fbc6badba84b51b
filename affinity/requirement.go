package affinity

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/legal"
)

// requirement is a legal requirement on a label of a node. It is a labels.Requirement whose making needs no memory.
type requirement struct {
	key    string
	op     v1.NodeSelectorOperator
	values []string
	number int64 // the operand of Gt and Lt
}

var operators = map[v1.NodeSelectorOperator]selection.Operator{
	v1.NodeSelectorOpIn:           selection.In,
	v1.NodeSelectorOpNotIn:        selection.NotIn,
	v1.NodeSelectorOpExists:       selection.Exists,
	v1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	v1.NodeSelectorOpGt:           selection.GreaterThan,
	v1.NodeSelectorOpLt:           selection.LessThan,
}

var operatorNames = []v1.NodeSelectorOperator{
	v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists,
	v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt,
}

// newRequirement returns the requirement; ok is false when it cannot be converted. refusal then says why.
func newRequirement(r *v1.NodeSelectorRequirement) (c requirement, ok bool) {
	c = requirement{key: r.Key, op: r.Operator, values: r.Values}
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		ok = len(r.Values) > 0
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		ok = len(r.Values) == 0
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) == 1 {
			var err error
			c.number, err = strconv.ParseInt(r.Values[0], 10, 64)
			ok = err == nil
		}
	}
	for _, v := range r.Values {
		ok = ok && legal.Value(v)
	}
	return c, ok && legal.Key(r.Key)
}

// refusal returns why a requirement cannot be converted. The path is that of the requirement.
func refusal(r *v1.NodeSelectorRequirement, path *field.Path) error {
	op, known := operators[r.Operator]
	if !known {
		return field.NotSupported(path.Child("operator"), r.Operator, operatorNames)
	}
	_, err := labels.NewRequirement(r.Key, op, r.Values, field.WithPath(path))
	return err
}

func (r *requirement) matches(set map[string]string) bool {
	have, ok := set[r.key]
	switch r.op {
	case v1.NodeSelectorOpIn:
		return ok && slices.Contains(r.values, have)
	case v1.NodeSelectorOpNotIn:
		return !ok || !slices.Contains(r.values, have)
	case v1.NodeSelectorOpExists:
		return ok
	case v1.NodeSelectorOpDoesNotExist:
		return !ok
	}
	n, err := strconv.ParseInt(have, 10, 64)
	return ok && err == nil && (r.op == v1.NodeSelectorOpGt && n > r.number || r.op == v1.NodeSelectorOpLt && n < r.number)
}

// String returns the text of the labels.Requirement.
func (r *requirement) String() string {
	x, err := labels.NewRequirement(r.key, operators[r.op], r.values)
	if err != nil { // not of a requirement that newRequirement returned
		return err.Error()
	}
	return x.String()
}
