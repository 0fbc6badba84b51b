package spread

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
)

var (
	actions  = []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
	policies = []v1.NodeInclusionPolicy{v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore}
)

// Validate returns the API server's errors about spec.topologySpreadConstraints of a new pod; path is the path of that
// field (rules S8.1 to S8.9). It expects the constraints as stored, after [MergeMatchLabelKeys], which makes a key that is in
// both matchLabelKeys and labelSelector an error. The constraints of a pod cannot change after its creation. A nil path is
// the root. Rule: API reference, TopologySpreadConstraint.
func Validate(constraints []v1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range constraints {
		c, p := &constraints[i], path.Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(p.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
		}
		if !knownAction(c.WhenUnsatisfiable) {
			errs = append(errs, field.NotSupported(p.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, actions))
		}
		if repeated(c, constraints[i+1:]) {
			errs = append(errs, field.Duplicate(p.Child("{topologyKey, whenUnsatisfiable}"), keyAndAction(c)))
		}
		errs = append(errs, validateMinDomains(c, p.Child("minDomains"))...)
		errs = append(errs, validatePolicy(c.NodeAffinityPolicy, p.Child("nodeAffinityPolicy"))...)
		errs = append(errs, validatePolicy(c.NodeTaintsPolicy, p.Child("nodeTaintsPolicy"))...)
		errs = append(errs, validateMatchLabelKeys(c, p)...)
		errs = append(errs, apiserver.ValidateSelector(c.LabelSelector, metavalidation.LabelSelectorValidationOptions{}, p.Child("labelSelector"))...)
	}
	return errs
}

func knownAction(a v1.UnsatisfiableConstraintAction) bool {
	return a == v1.DoNotSchedule || a == v1.ScheduleAnyway
}

func keyAndAction(c *v1.TopologySpreadConstraint) string {
	return fmt.Sprintf("{%s, %s}", c.TopologyKey, c.WhenUnsatisfiable)
}

// repeated reports whether one of rest has the same key and action.
func repeated(c *v1.TopologySpreadConstraint, rest []v1.TopologySpreadConstraint) bool {
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
	return append(errs, apiserver.DoubledKeys(c.MatchLabelKeys, c.LabelSelector, path)...)
}

// equalConstraints reports whether two lists are equal. Nil and empty parts are equal.
func equalConstraints(a, b []v1.TopologySpreadConstraint) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, _ := a[i].Marshal() // a constraint can always be encoded
		y, _ := b[i].Marshal()
		if string(x) != string(y) {
			return false
		}
	}
	return true
}

// Warnings returns the API server's warnings about legal constraints: a nil labelSelector.
func Warnings(constraints []v1.TopologySpreadConstraint, path *field.Path) []string {
	var out []string
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			out = append(out, fmt.Sprintf("%s: a null labelSelector results in matching no pod", path.Index(i).Child("labelSelector")))
		}
	}
	return out
}

// MergeMatchLabelKeys returns the constraints of a new pod as the API server stores them since v1.34 (rule S1.5): every key
// of matchLabelKeys that the pod's labels have is appended to labelSelector as `key In [value]`, unless labelSelector is
// nil. matchLabelKeys stay. The scheduler merges the keys once more when it schedules. That changes nothing unless the
// pod's labels have changed since: then the selector requires both values and no pod matches. The pod is not modified; the
// result shares with it only what the merge does not change. Rule: API field topologySpreadConstraints.matchLabelKeys.
// A nil pod panics.
func MergeMatchLabelKeys(pod *v1.Pod) []v1.TopologySpreadConstraint {
	list := pod.Spec.TopologySpreadConstraints
	if list == nil {
		return nil
	}
	out := make([]v1.TopologySpreadConstraint, len(list))
	for i := range list {
		out[i] = *list[i].DeepCopy()
		c := &out[i]
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
	return out
}

// ValidateDefaults returns v1.37's errors about PodTopologySpreadArgs (rule S6.5). path is their place in the
// configuration; nil is the root. It checks the loaded configuration, where a missing defaultingType is already System: ""
// is an error here, although [Defaults] reads "" as System.
func ValidateDefaults(d Defaults, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	typePath := path.Child("defaultingType")
	switch d.Type {
	case ListDefaulting:
	case systemDefaulting:
		if len(d.Constraints) > 0 {
			errs = append(errs, field.Invalid(typePath, d.Type, "when .defaultConstraints are not empty"))
		}
	default:
		errs = append(errs, field.NotSupported(typePath, d.Type, []string{systemDefaulting, ListDefaulting}))
	}
	for i := range d.Constraints {
		c, p := &d.Constraints[i], path.Child("defaultConstraints").Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(p.Child("maxSkew"), c.MaxSkew, "not in valid range (0, inf)"))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
		} else {
			errs = append(errs, metavalidation.ValidateLabelName(c.TopologyKey, p.Child("topologyKey"))...)
		}
		if c.WhenUnsatisfiable == "" {
			errs = append(errs, field.Required(p.Child("whenUnsatisfiable"), "can not be empty"))
		} else if !knownAction(c.WhenUnsatisfiable) {
			errs = append(errs, field.NotSupported(p.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, actions))
		}
		if c.LabelSelector != nil {
			errs = append(errs, field.Forbidden(p.Child("labelSelector"), "constraint must not define a selector, as they deduced for each pod"))
		}
		if repeated(c, d.Constraints[:i]) {
			errs = append(errs, field.Duplicate(p, keyAndAction(c)))
		}
	}
	return errs
}
