package admission

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except that pods, specs and nodes must not be nil.
func TestMisuse(t *testing.T) {
	const object = "pods, specs and nodes must not be nil"
	testkit.Misuse(t, map[string]any{
		"GatedCondition":        GatedCondition,
		"Accept":                Accept,
		"Admit":                 Admit,
		"DefaultStorageClass":   DefaultStorageClass,
		"NewQuotas":             NewQuotas,
		"Quotas":                func() *Quotas { return &Quotas{} },
		"Template":              Template,
		"WithDefaultClass":      WithDefaultClass,
		"WithDefaultClasses":    WithDefaultClasses,
		"AdmitPriority":         AdmitPriority,
		"AdmitPriorityClass":    AdmitPriorityClass,
		"AdmitPriorityUpdate":   AdmitPriorityUpdate,
		"CheckLimitRanges":      CheckLimitRanges,
		"TolerationRestriction": func() *TolerationRestriction { return &TolerationRestriction{} },
		"WithLimitRanges":       WithLimitRanges,
		"LimitHardAntiAffinity": LimitHardAntiAffinity,
		"MergeLabelKeys":        MergeLabelKeys,
		"ReconcileAliases":      ReconcileAliases,
		"TopologyLabels":        TopologyLabels,
		"Bound":                 Bound,
		"RestrictNode":          RestrictNode,
		"WithDefaultSeconds":    WithDefaultSeconds,
		"WithDaemonSet":         WithDaemonSet,
		"WithMemoryPressure":    WithMemoryPressure,
		"WithExtendedResources": WithExtendedResources,
		"WithNotReady":          WithNotReady,
		"Validate":              Validate,
		"ValidateUpdate":        ValidateUpdate,
		"Refusal":               Refusal,
		"SystemPriorityClasses": SystemPriorityClasses,
		"Warnings":              Warnings,
	}, map[string]string{
		"TolerationRestriction.Admit": object,
		"LimitHardAntiAffinity":       object,
		"MergeLabelKeys":              object,
		"TopologyLabels":              object,
		"RestrictNode":                object,
		"WithDefaultSeconds":          object,
		"WithDaemonSet":               object,
		"WithMemoryPressure":          object,
		"WithExtendedResources":       object,
		"WithNotReady":                object,
		"Refusal":                     object,
		"Warnings":                    object,
	})
}
