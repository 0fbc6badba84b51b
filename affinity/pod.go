package affinity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
)

// PodOptions configures inter-pod affinity; the zero value is v1.37.2's default.
type PodOptions struct {
	// HardPodAffinityWeight is the weight in the score of a running pod's required affinity term that matches the incoming
	// pod (InterPodAffinityArgs.hardPodAffinityWeight), 0 to 100. nil means 1; 0 adds nothing (rule A9.8).
	HardPodAffinityWeight *int32
	// IgnorePreferredTermsOfExistingPods gives a pod without preferred terms no score
	// (InterPodAffinityArgs.ignorePreferredTermsOfExistingPods). HardPodAffinityWeight has no effect on such a pod either.
	// The option changes nothing for a pod with a preferred term (rules A9.1 and A9.3).
	IgnorePreferredTermsOfExistingPods bool
	// Release is the release whose filter, score and hint count. In v1.37 a namespaceSelector of the incoming pod selects
	// namespaces as documented. In v1.34 to v1.36 a selector with only NotIn and DoesNotExist requirements matches the pods of
	// every namespace (rules A7.3 and L3.4).
	Release release.Version
}

// Validate checks the options as v1.37.2 checks InterPodAffinityArgs.
func (o PodOptions) Validate(path *field.Path) field.ErrorList {
	if w := o.HardPodAffinityWeight; w != nil && (*w < 0 || *w > 100) {
		return field.ErrorList{field.Invalid(path.Child("hardPodAffinityWeight"), *w, "not in valid range [0, 100]")}
	}
	return nil
}

func (o PodOptions) hardWeight() int64 {
	if o.HardPodAffinityWeight == nil {
		return 1
	}
	return int64(*o.HardPodAffinityWeight)
}

// PodEvaluator is an incoming pod's compiled inter-pod affinity. It keeps a pointer to the pod. It is immutable and safe
// for concurrent use as long as the pod does not change.
type PodEvaluator interface {
	// Count applies the evaluator to a cluster. Cost: O(nodes) for each topology key that occurs, plus the pod sets and term
	// sets that matter when the cluster offers them (see [Cluster]), or else all running pods. The cluster must not be nil.
	Count(cluster Cluster) State
}

type podEvaluator struct {
	pod                                      *v1.Pod
	affinity, anti, preferred, preferredAnti []term
	hardWeight                               int64
	scores                                   bool // false: IgnorePreferredTermsOfExistingPods is set and the pod has no preferred term
	release                                  release.Version
	err                                      error
}

// CompilePods compiles the inter-pod affinity of an incoming pod. A pod without terms must be compiled
// too, because the terms of running pods may match it.
//
// The error says which term cannot be converted; v1.37.2 then rejects the pod with this text before it looks at any node
// (rule A7.6). The evaluator then rejects every node.
//
// Rule: documentation, "Assigning Pods to Nodes" (Inter-pod affinity and anti-affinity); API fields spec.affinity.podAffinity
// and podAntiAffinity. O(terms).
func CompilePods(pod *v1.Pod, options PodOptions) (PodEvaluator, error) {
	e := &podEvaluator{pod: pod, hardWeight: options.hardWeight(), release: options.Release}
	affinity, anti := podinfo.PodAffinity(pod)
	if affinity == nil && anti == nil {
		e.scores = !options.IgnorePreferredTermsOfExistingPods
		return e, nil
	}
	var errs []error
	note := func(list string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", list, err))
		}
	}
	var err error
	hasPreferred := false
	e.affinity, err = requiredAffinity(pod)
	note("requiredAffinityTerms", err)
	e.anti, err = requiredAntiAffinity(pod)
	note("requiredAntiAffinityTerms", err)
	if affinity != nil {
		hasPreferred = len(affinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
		e.preferred, err = newWeightedTerms(pod, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
		note("preferredAffinityTerms", err)
	}
	if anti != nil {
		hasPreferred = hasPreferred || len(anti.PreferredDuringSchedulingIgnoredDuringExecution) > 0
		e.preferredAnti, err = newWeightedTerms(pod, anti.PreferredDuringSchedulingIgnoredDuringExecution)
		note("preferredAntiAffinityTerms", err)
	}
	e.scores = hasPreferred || !options.IgnorePreferredTermsOfExistingPods
	if len(errs) > 0 {
		e.err = fmt.Errorf("parsing pod: %w", aggregate(errs))
	}
	return e, e.err
}
