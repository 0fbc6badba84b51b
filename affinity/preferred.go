package affinity

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// preference is a compiled v1.PreferredSchedulingTerm.
type preference struct {
	weight int64
	index  int // in the list it came from
	term   nodeTerm
}

// compilePreferred drops terms of weight 0 and empty preferences before it converts anything: they add nothing, and what
// is wrong in them is not reported.
func compilePreferred(list []v1.PreferredSchedulingTerm, path *field.Path) ([]preference, error) {
	var prefs []preference
	var errs []error
	for i := range list {
		if list[i].Weight == 0 || emptyTerm(&list[i].Preference) {
			continue
		}
		p := preference{int64(list[i].Weight), i, compileTerm(&list[i].Preference, path.Index(i))}
		if p.term.err != nil {
			errs = append(errs, p.term.err)
		}
		prefs = append(prefs, p)
	}
	return prefs, aggregate(errs)
}

func sumPreferred(prefs []preference, node *v1.Node) int64 {
	var sum int64
	for i := range prefs {
		if prefs[i].term.matches(node) {
			sum += prefs[i].weight
		}
	}
	return sum
}

// Added is the compiled node affinity that a scheduler profile adds to each of its pods (NodeAffinityArgs.addedAffinity):
// required terms that must hold besides the pod's own, and preferred terms whose weights are added to the pod's. nil and
// the zero value add nothing. It is immutable and safe for concurrent use.
//
// It is not part of the pod: the kubelet, the DaemonSet controller and topology spread do not see it.
type Added struct {
	required  Selector
	preferred []preference
}

// CompileAdded compiles a profile's added affinity; nil adds nothing. Required terms that are present but empty reject
// every node. Weights are not checked against a range.
//
// A term that cannot be converted makes the profile's configuration invalid: the error, which has the path from
// addedAffinity on, must be treated as fatal, and the value is nil.
// Rule: documentation, "Assigning Pods to Nodes" (Node affinity per scheduling profile).
func CompileAdded(affinity *v1.NodeAffinity) (*Added, error) {
	if affinity == nil {
		return &Added{}, nil
	}
	path := field.NewPath("addedAffinity")
	a := &Added{}
	a.required = *compileSelector(affinity.RequiredDuringSchedulingIgnoredDuringExecution,
		path.Child("requiredDuringSchedulingIgnoredDuringExecution"))
	var err error
	a.preferred, err = compilePreferred(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		path.Child("preferredDuringSchedulingIgnoredDuringExecution"))
	var errs []error
	for _, e := range []error{a.required.err, err} {
		if e != nil {
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return nil, aggregate(errs)
	}
	return a, nil
}
