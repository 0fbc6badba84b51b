package score

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/resources"
)

// ValidateFitArgs returns v1.37's errors about the arguments of NodeResourcesFit, in v1.37's order (rules C11.2 to C11.8):
// ignored resources, ignored groups, type, weights, ratio parameter. It sets no defaults: its argument must have them.
// Resource names are not checked and may repeat. A nil path is the root. Rule: configuration API, NodeResourcesFitArgs.
func ValidateFitArgs(args FitArgs, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range args.IgnoredResources {
		errs = append(errs, labelName(name, path.Child("ignoredResources").Index(i))...)
	}
	for i, group := range args.IgnoredResourceGroups {
		p := path.Child("ignoredResourceGroups").Index(i)
		if strings.Contains(group, "/") {
			errs = append(errs, field.Invalid(p, group, "resource group name can't contain '/'"))
		}
		errs = append(errs, labelName(group, p)...)
	}
	p := path.Child("scoringStrategy")
	s := args.ScoringStrategy
	if s == nil {
		return append(errs, field.Required(p, "ScoringStrategy field is required"))
	}
	switch s.Type {
	case LeastAllocated, MostAllocated, RequestedToCapacityRatio:
	default:
		errs = append(errs, field.NotSupported(p.Child("type"), s.Type, []string{LeastAllocated, MostAllocated, RequestedToCapacityRatio}))
	}
	for i, r := range s.Resources {
		errs = append(errs, weight(r, p.Child("resources").Index(i))...)
	}
	p = p.Child("requestedToCapacityRatio")
	switch {
	case s.Type == RequestedToCapacityRatio && s.RequestedToCapacityRatio == nil:
		errs = append(errs, field.Required(p, "must be specified when type is RequestedToCapacityRatio"))
	case s.Type == RequestedToCapacityRatio:
		errs = append(errs, ValidateShape(s.RequestedToCapacityRatio.Shape, p.Child("shape"))...)
	case s.RequestedToCapacityRatio != nil:
		errs = append(errs, field.Forbidden(p, "must be nil when type is not RequestedToCapacityRatio"))
	}
	return errs
}

// ValidateShape returns kube-scheduler's errors about a shape (rule C5.4): there must be a point, utilizations must increase
// strictly (only the first violation is reported) and be from 0 to 100, scores from 0 to 10. One point is legal: a
// constant. A nil path is the root. Rule: configuration API, UtilizationShapePoint.
func ValidateShape(shape []Point, path *field.Path) field.ErrorList {
	if len(shape) == 0 {
		return field.ErrorList{field.Required(path, "at least one point must be specified")}
	}
	var errs field.ErrorList
	for i := 1; i < len(shape); i++ {
		if shape[i-1].Utilization >= shape[i].Utilization {
			errs = append(errs, field.Invalid(path.Index(i).Child("utilization"), shape[i].Utilization, "values must be sorted in increasing order"))
			break
		}
	}
	for i, pt := range shape {
		if pt.Utilization < 0 || pt.Utilization > 100 {
			errs = append(errs, field.Invalid(path.Index(i).Child("utilization"), pt.Utilization, "not in valid range [0, 100]"))
		}
		if pt.Score < 0 || pt.Score > 10 {
			errs = append(errs, field.Invalid(path.Index(i).Child("score"), pt.Score, "not in valid range [0, 10]"))
		}
	}
	return errs
}

// ValidateBalanceArgs returns v1.37's errors about the arguments of NodeResourcesBalancedAllocation: weights other than 1
// and repeated names. It sets no defaults: its argument must have them. A nil path is the root.
func ValidateBalanceArgs(args BalanceArgs, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, r := range args.Resources {
		p := path.Child("resources").Index(i)
		if seen[r.Name] {
			errs = append(errs, field.Duplicate(p.Child("name"), r.Name))
		}
		seen[r.Name] = true
		if r.Weight != 1 {
			errs = append(errs, field.Invalid(p.Child("weight"), r.Weight, "must be 1"))
		}
	}
	return errs
}

// isScored reports whether the resource scores use a resource of that name.
func isScored(name v1.ResourceName) bool {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return resources.IsScalar(name)
}

func weight(r Resource, path *field.Path) field.ErrorList {
	if r.Weight > 0 && r.Weight <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("weight"), r.Weight, fmt.Sprintf("resource weight of %s not in valid range (0, 100]", r.Name))}
}

func labelName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}
