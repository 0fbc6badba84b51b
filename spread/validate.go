package spread

import (
	v1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
)

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
		} else if !apiserver.KnownAction(c.WhenUnsatisfiable) {
			errs = append(errs, field.NotSupported(p.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, apiserver.SpreadActions()))
		}
		if c.LabelSelector != nil {
			errs = append(errs, field.Forbidden(p.Child("labelSelector"), "constraint must not define a selector, as they deduced for each pod"))
		}
		if apiserver.Repeated(c, d.Constraints[:i]) {
			errs = append(errs, field.Duplicate(p, apiserver.KeyAndAction(c)))
		}
	}
	return errs
}
