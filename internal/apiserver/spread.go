package apiserver

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var policies = []v1.NodeInclusionPolicy{v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore}

// SpreadActions returns the values that whenUnsatisfiable may have.
func SpreadActions() []v1.UnsatisfiableConstraintAction {
	return []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
}

// ValidateSpread returns the API server's errors about spec.topologySpreadConstraints of a new pod; path is the path of that
// field (rules S8.1 to S8.9). It expects the constraints as stored, after [MergeSpreadKeys], which makes a key that is in
// both matchLabelKeys and labelSelector an error. The constraints of a pod cannot change after its creation. A nil path is
// the root. Rule: API reference, TopologySpreadConstraint.
func ValidateSpread(constraints []v1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range constraints {
		c, p := &constraints[i], path.Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(p.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
		}
		if !KnownAction(c.WhenUnsatisfiable) {
			errs = append(errs, field.NotSupported(p.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, SpreadActions()))
		}
		if Repeated(c, constraints[i+1:]) {
			errs = append(errs, field.Duplicate(p.Child("{topologyKey, whenUnsatisfiable}"), KeyAndAction(c)))
		}
		errs = append(errs, validateMinDomains(c, p.Child("minDomains"))...)
		errs = append(errs, validatePolicy(c.NodeAffinityPolicy, p.Child("nodeAffinityPolicy"))...)
		errs = append(errs, validatePolicy(c.NodeTaintsPolicy, p.Child("nodeTaintsPolicy"))...)
		errs = append(errs, validateMatchLabelKeys(c, p)...)
		errs = append(errs, ValidateSelector(c.LabelSelector, metavalidation.LabelSelectorValidationOptions{}, p.Child("labelSelector"))...)
	}
	return errs
}

// KnownAction reports whether whenUnsatisfiable is one of SpreadActions.
func KnownAction(a v1.UnsatisfiableConstraintAction) bool {
	return a == v1.DoNotSchedule || a == v1.ScheduleAnyway
}

// KeyAndAction names a constraint, of which a pod may have one.
func KeyAndAction(c *v1.TopologySpreadConstraint) string {
	return fmt.Sprintf("{%s, %s}", c.TopologyKey, c.WhenUnsatisfiable)
}

// Repeated reports whether one of rest has the same key and action.
func Repeated(c *v1.TopologySpreadConstraint, rest []v1.TopologySpreadConstraint) bool {
	for j := range rest {
		if rest[j].TopologyKey == c.TopologyKey && rest[j].WhenUnsatisfiable == c.WhenUnsatisfiable {
			return true
		}
	}
	return false
}

func validateMinDomains(c *v1.TopologySpreadConstraint, path *field.Path) (errs field.ErrorList) {
	if c.MinDomains == nil {
		return nil
	}
	if *c.MinDomains <= 0 {
		errs = append(errs, field.Invalid(path, *c.MinDomains, "must be greater than zero"))
	}
	if c.WhenUnsatisfiable != v1.DoNotSchedule {
		errs = append(errs, field.Invalid(path, *c.MinDomains,
			fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", v1.DoNotSchedule, c.WhenUnsatisfiable)))
	}
	return errs
}

func validatePolicy(policy *v1.NodeInclusionPolicy, path *field.Path) field.ErrorList {
	if policy == nil || *policy == v1.NodeInclusionPolicyHonor || *policy == v1.NodeInclusionPolicyIgnore {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *policy, policies)}
}

func validateMatchLabelKeys(c *v1.TopologySpreadConstraint, path *field.Path) (errs field.ErrorList) {
	if len(c.MatchLabelKeys) == 0 {
		return nil
	}
	keys := path.Child("matchLabelKeys")
	if c.LabelSelector == nil {
		return field.ErrorList{field.Forbidden(keys, "must not be specified when labelSelector is not set")}
	}
	for j, key := range c.MatchLabelKeys {
		errs = append(errs, metavalidation.ValidateLabelName(key, keys.Index(j))...)
	}
	return append(errs, DoubledKeys(c.MatchLabelKeys, c.LabelSelector, path)...)
}

// SpreadWarnings returns the API server's warnings about legal constraints: a nil labelSelector.
func SpreadWarnings(constraints []v1.TopologySpreadConstraint, path *field.Path) []string {
	var out []string
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			out = append(out, fmt.Sprintf("%s: a null labelSelector results in matching no pod", path.Index(i).Child("labelSelector")))
		}
	}
	return out
}

// MergeSpreadKeys does with the constraints of a new pod what the API server does since v1.34 (rule S1.5): it appends every key of
// matchLabelKeys that the pod's labels have to labelSelector as `key In [value]`, unless labelSelector is nil. matchLabelKeys stay. Rule: API
// field topologySpreadConstraints.matchLabelKeys.
func MergeSpreadKeys(pod *v1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		if c.LabelSelector == nil {
			continue
		}
		for _, key := range c.MatchLabelKeys {
			if value, ok := pod.Labels[key]; ok {
				c.LabelSelector.MatchExpressions = append(c.LabelSelector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
			}
		}
	}
}
