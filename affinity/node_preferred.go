package affinity

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// preference is a compiled v1.PreferredSchedulingTerm.
type preference struct {
	weight int64
	term   nodeTerm
}

// compilePreferred compiles the preferred terms. It drops terms of weight 0 and empty preferences before it converts
// anything, so that errors in them are not reported (rule A4.2).
func compilePreferred(list []v1.PreferredSchedulingTerm, path *field.Path) ([]preference, error) {
	var prefs []preference
	var errs []error
	for i := range list {
		if list[i].Weight == 0 || emptyTerm(&list[i].Preference) {
			continue
		}
		p := preference{int64(list[i].Weight), compileTerm(&list[i].Preference, func() *field.Path { return path.Index(i) })}
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

// added is the compiled node affinity that a profile adds to its pods.
type added struct {
	required  Selector
	preferred []preference
}

// nothingAdded is that of a profile that adds nothing.
var nothingAdded added

// CompileAdded compiles the node affinity that a scheduler profile adds to each of its pods
// (NodeAffinityArgs.addedAffinity): required terms that must hold together with those of the pod, and preferred terms whose
// weights are added to those of the pod. The added affinity is not part of the pod: the kubelet, the DaemonSet controller
// and topology spread do not see it.
//
// A nil affinity adds nothing and gives the zero [NodeOptions]. Required affinity without terms rejects every node. Weights
// may have any value.
//
// A term that cannot be converted is an error, and makes the profile's configuration invalid. The error has the path from
// addedAffinity on. Rule: documentation, "Assigning Pods to Nodes" (Node affinity per scheduling profile); rules A5.1 to
// A5.4.
func CompileAdded(affinity *v1.NodeAffinity) (NodeOptions, error) {
	if affinity == nil {
		return NodeOptions{}, nil
	}
	path := field.NewPath("addedAffinity")
	a := &added{required: *compileSelector(affinity.RequiredDuringSchedulingIgnoredDuringExecution,
		path.Child("requiredDuringSchedulingIgnoredDuringExecution"))}
	var err error
	a.preferred, err = compilePreferred(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		path.Child("preferredDuringSchedulingIgnoredDuringExecution"))
	if err := aggregate([]error{a.required.err, err}); err != nil {
		return NodeOptions{}, err
	}
	return NodeOptions{a}, nil
}
