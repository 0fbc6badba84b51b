package admission

import (
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
)

// validateBudget returns the API server's errors about the specification of a PodDisruptionBudget (rule D4.1): both minAvailable and
// maxUnavailable, a negative number, a text that is not a percentage from 0% to 100%, an unknown
// unhealthyPodEvictionPolicy, a selector that is not valid. A budget may have neither number. A nil specification has no
// errors.
func validateBudget(spec *policyv1.PodDisruptionBudgetSpec, path *field.Path) field.ErrorList {
	if spec == nil {
		return nil
	}
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(path, internalBudget{spec.MinAvailable, spec.Selector, spec.MaxUnavailable, spec.UnhealthyPodEvictionPolicy}, "minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, validateBudgetAmount(spec.MinAvailable, path.Child("minAvailable"))...)
	errs = append(errs, validateBudgetAmount(spec.MaxUnavailable, path.Child("maxUnavailable"))...)
	errs = append(errs, apiserver.ValidateSelector(spec.Selector, metavalidation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	if p := spec.UnhealthyPodEvictionPolicy; p != nil && *p != policyv1.IfHealthyBudget && *p != policyv1.AlwaysAllow {
		errs = append(errs, field.NotSupported(path.Child("unhealthyPodEvictionPolicy"), *p, []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}))
	}
	return errs
}

// internalBudget prints as the internal type of the API server does: with the names of the Go fields.
type internalBudget struct {
	MinAvailable               *intstr.IntOrString
	Selector                   *metav1.LabelSelector
	MaxUnavailable             *intstr.IntOrString
	UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
}

// percentText is what the API server says about text that is not a percentage, with both spaces.
const percentText = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

func validateBudgetAmount(v *intstr.IntOrString, path *field.Path) field.ErrorList {
	if v == nil {
		return nil
	}
	if v.Type == intstr.Int {
		if v.IntVal < 0 {
			return field.ErrorList{field.Invalid(path, v.IntVal, "must be greater than or equal to 0")}
		}
		return nil
	}
	digits, ok := strings.CutSuffix(v.StrVal, "%")
	if ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
		if n, err := strconv.Atoi(digits); err == nil && n <= 100 {
			return nil
		}
		return field.ErrorList{field.Invalid(path, v.StrVal, "must not be greater than 100%")}
	}
	return field.ErrorList{field.Invalid(path, v.StrVal, percentText)}
}
