// Package groups (experimental) makes values of package [podgroup] from the API objects of groups of pods: PodGroup of scheduling.k8s.io/v1beta1 and
// CompositePodGroup of v1alpha3, as v1.37 serves them.
//
//	if errs := groups.Validate(object); len(errs) > 0 {
//		return errs.ToAggregate() // spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
//	}
//	group := groups.Of(object)
//	snapshot.Set(group)
//
// [FeatureGates] is the flag --feature-gates, also of gates that are not about groups:
//
//	var gates groups.FeatureGates
//	err := gates.Set("GenericWorkload=true,TaintTolerationComparisonOperators=true")
//	profile := gates.Args().Profile()
//
// Objects must not be nil. The values share metadata, lists and pointers with their objects: treat both as read-only. Each
// function costs O(object). What all packages promise is said in [github.com/podberth/podberth].
//
// PodGroups of v1alpha3 have the fields of v1beta1, in Go and in JSON. Objects of v1.35 and v1.36 (v1alpha1, v1alpha2) have others.
package groups
