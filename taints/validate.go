package taints

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

// ValidateTaints checks the taints of a node as the API server does, which names them metadata.taints: keys are qualified
// names, values label values, effects one of the three, pairs of key and effect unique. All errors are collected.
func ValidateTaints(taints []v1.Taint, path *field.Path) field.ErrorList {
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
		case !known(t.Effect):
			errs = append(errs, field.NotSupported(at.Child("effect"), t.Effect, effects))
		}
		if Has(taints[:i], &t) {
			duplicate := field.Duplicate(at, internalTaint(t))
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		}
	}
	return errs
}

// internalTaint is printed as the API server prints its own type: with the names of the Go fields.
type internalTaint struct {
	Key       string
	Value     string
	Effect    v1.TaintEffect
	TimeAdded *metav1.Time
}

// ValidateOptions selects what ValidateTolerations accepts. The zero value is v1.36 at creation.
type ValidateOptions struct {
	// ComparisonOperators accepts Gt and Lt, as the feature gate TaintTolerationComparisonOperators does.
	ComparisonOperators bool
	// Old holds the tolerations before an update. If one of them uses Gt or Lt, these operators stay accepted.
	Old []v1.Toleration
}

func comparison(op v1.TolerationOperator) bool {
	return op == v1.TolerationOpGt || op == v1.TolerationOpLt
}

// ValidateTolerations checks the tolerations of a pod (spec.tolerations) as the API server does. All errors are
// collected, of each toleration in this order: the key, an empty key without Exists, tolerationSeconds without effect
// NoExecute, the operator and the value it allows, the effect. Tolerations need not be unique, negative seconds and an
// empty operator are legal.
func ValidateTolerations(tolerations []v1.Toleration, path *field.Path, o ValidateOptions) field.ErrorList {
	numbers := o.ComparisonOperators ||
		slices.ContainsFunc(o.Old, func(t v1.Toleration) bool { return comparison(t.Operator) })
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
	if t.Effect != "" && !known(t.Effect) {
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
	case comparison(t.Operator) && numbers:
		for _, m := range content.IsDecimalInteger(t.Value) {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, m))
		}
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, err.Error()))
		}
	case comparison(t.Operator):
		operators = append(operators, v1.TolerationOpLt, v1.TolerationOpGt)
		fallthrough
	default:
		errs = append(errs, field.NotSupported(at.Child("operator"), t.Operator, operators))
	}
	return errs
}

// ValidateTolerationsUpdate checks an update of a pod's tolerations: an old toleration may get other tolerationSeconds
// but neither vanish nor change otherwise; additions are allowed. The new list is checked by ValidateTolerations as well.
func ValidateTolerationsUpdate(tolerations, old []v1.Toleration, path *field.Path, o ValidateOptions) field.ErrorList {
	var errs field.ErrorList
	for i := range old {
		same := func(t v1.Toleration) bool { return sameToleration(&t, &old[i]) }
		if !slices.ContainsFunc(tolerations, same) {
			errs = append(errs, field.Forbidden(path,
				"existing toleration can not be modified except its tolerationSeconds"))
			break
		}
	}
	o.Old = old
	return append(errs, ValidateTolerations(tolerations, path, o)...)
}
