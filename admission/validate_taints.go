package admission

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var effects = []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}

// validateTaints checks the taints of a node as the API server does and returns all errors: keys are qualified names,
// values are label values, effects are one of three, and pairs of key and effect are unique. The API server's path is
// metadata.taints.
func validateTaints(taints []v1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, t := range taints {
		at := path.Index(i)
		for _, m := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(at.Child("key"), t.Key, m))
		}
		if m := validation.IsValidLabelValue(t.Value); len(m) > 0 {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, strings.Join(m, ";")))
		}
		switch {
		case t.Effect == "":
			errs = append(errs, field.Required(at.Child("effect"), ""))
		case !slices.Contains(effects, t.Effect):
			errs = append(errs, field.NotSupported(at.Child("effect"), t.Effect, effects))
		}
		if hasTaint(taints[:i], &t) {
			duplicate := field.Duplicate(at, internalTaint(t))
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		}
	}
	return errs
}

// internalTaint prints as the internal type of the API server does: with the names of the Go fields.
type internalTaint struct {
	Key       string
	Value     string
	Effect    v1.TaintEffect
	TimeAdded *metav1.Time
}

func compares(op v1.TolerationOperator) bool {
	return op == v1.TolerationOpGt || op == v1.TolerationOpLt
}

// tolerationsKept returns an error if an old toleration is gone or changed in more than its seconds.
func tolerationsKept(tolerations, old []v1.Toleration, path *field.Path) field.ErrorList {
	for i := range old {
		same := func(t v1.Toleration) bool { return sameToleration(&t, &old[i]) }
		if !slices.ContainsFunc(tolerations, same) {
			return field.ErrorList{field.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

func validateTolerations(tolerations []v1.Toleration, path *field.Path, numbers bool) field.ErrorList {
	var errs field.ErrorList
	for i := range tolerations {
		errs = append(errs, validateToleration(&tolerations[i], path.Index(i), numbers)...)
	}
	return errs
}

func validateToleration(t *v1.Toleration, at *field.Path, numbers bool) field.ErrorList {
	var errs field.ErrorList
	if t.Key != "" {
		for _, m := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(at.Child("key"), t.Key, m))
		}
	} else if t.Operator != v1.TolerationOpExists {
		errs = append(errs, field.Invalid(at.Child("operator"), t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(at.Child("effect"), t.Effect,
			"effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
	errs = append(errs, validateOperator(t, at, numbers)...)
	if t.Effect != "" && !slices.Contains(effects, t.Effect) {
		errs = append(errs, field.NotSupported(at.Child("effect"), t.Effect, effects))
	}
	return errs
}

func validateOperator(t *v1.Toleration, at *field.Path, numbers bool) field.ErrorList {
	var errs field.ErrorList
	operators := []v1.TolerationOperator{v1.TolerationOpEqual, v1.TolerationOpExists}
	switch {
	case t.Operator == "" || t.Operator == v1.TolerationOpEqual:
		if m := validation.IsValidLabelValue(t.Value); len(m) > 0 {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Value, strings.Join(m, ";")))
		}
	case t.Operator == v1.TolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Value,
				"value must be empty when `operator` is 'Exists'"))
		}
	case compares(t.Operator) && numbers:
		for _, m := range content.IsDecimalInteger(t.Value) {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, m))
		}
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, err.Error()))
		}
	case compares(t.Operator):
		operators = append(operators, v1.TolerationOpLt, v1.TolerationOpGt)
		fallthrough
	default:
		errs = append(errs, field.NotSupported(at.Child("operator"), t.Operator, operators))
	}
	return errs
}

// hasTaint reports whether list has a taint with the key and effect of taint.
func hasTaint(list []v1.Taint, taint *v1.Taint) bool {
	return slices.ContainsFunc(list, func(t v1.Taint) bool { return t.MatchTaint(taint) })
}
