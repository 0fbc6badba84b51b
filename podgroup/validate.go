package podgroup

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of the API server.
const (
	// MaxPriority is the largest priority of a group.
	MaxPriority = 1000000000
	maxKeys     = 1
	maxClaims   = 4
)

// ValidateGroup returns what the API server refuses in a group, at path (nil: the object). Whether an object has exactly one policy is a
// matter of the conversion: a [Group] always has one.
func ValidateGroup(g *Group, path *field.Path) field.ErrorList {
	spec := path.Child("spec")
	errs := validateSpec(&g.Spec, "minCount", spec)
	if len(g.Claims) > maxClaims {
		return append(errs, field.TooMany(spec.Child("resourceClaims"), len(g.Claims), maxClaims))
	}
	seen := map[string]bool{}
	for k, c := range g.Claims {
		at := spec.Child("resourceClaims").Index(k)
		switch {
		case c.ClaimName == "" && c.TemplateName == "":
			errs = append(errs, field.Invalid(at, "", "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		case c.ClaimName != "" && c.TemplateName != "":
			errs = append(errs, field.Invalid(at, "{resourceClaimName, resourceClaimTemplateName}",
				"must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		if seen[c.Name] {
			errs = append(errs, field.Duplicate(at, c.Name))
		}
		seen[c.Name] = true
	}
	return errs
}

// ValidateComposite returns what the API server refuses in a composite group, at path (nil: the object).
func ValidateComposite(c *Composite, path *field.Path) field.ErrorList {
	return validateSpec(&c.Spec, "minGroupCount", path.Child("spec"))
}

func validateSpec(s *Spec, minimum string, spec *field.Path) (errs field.ErrorList) {
	if s.Parent != "" {
		for _, problem := range content.IsDNS1123Subdomain(s.Parent) {
			errs = append(errs, field.Invalid(spec.Child("parentCompositePodGroupName"), s.Parent, problem))
		}
	}
	if s.Minimum != nil && *s.Minimum < 1 {
		at := spec.Child("schedulingPolicy", "gang", minimum)
		if *s.Minimum == 0 {
			errs = append(errs, field.Required(at, ""))
		} else {
			errs = append(errs, field.Invalid(at, *s.Minimum, "must be greater than or equal to 1"))
		}
	}
	if s.Constraints != nil {
		at := spec.Child("schedulingConstraints", "topology")
		if n := len(s.Constraints.Topology); n > maxKeys {
			errs = append(errs, field.TooMany(at, n, maxKeys))
		} else if n == 1 && s.Key() == "" {
			errs = append(errs, field.Required(at.Index(0).Child("key"), ""))
		}
	}
	if s.Priority != nil && *s.Priority > MaxPriority {
		errs = append(errs, field.Invalid(spec.Child("priority"), *s.Priority, "must be less than or equal to 1000000000"))
	}
	if p := s.PreemptionPolicy; p != nil && *p != v1.PreemptNever && *p != v1.PreemptLowerPriority {
		errs = append(errs, field.NotSupported(spec.Child("preemptionPolicy"), *p, []v1.PreemptionPolicy{v1.PreemptNever, v1.PreemptLowerPriority}))
	}
	return errs
}
