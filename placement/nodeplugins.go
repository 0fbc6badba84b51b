package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/taints"
)

// This file has the plugins that look at nodes only, not at the pods that run there. They are Signed.

// NodeUnschedulable is the filter of that name: spec.unschedulable, unless tolerated. The zero value is v1.36's.
type NodeUnschedulable struct{ Options taints.Options }

// Name returns "NodeUnschedulable".
func (NodeUnschedulable) Name() string { return "NodeUnschedulable" }

// Filter prepares the predicate.
func (p NodeUnschedulable) Filter(pod *v1.Pod, c Cluster) Filtering {
	return Filtering{Predicate: taints.Compile(pod.Spec.Tolerations, p.Options).OnCordon(c)}
}

// NodeName is the filter of that name. The zero value is v1.36's.
type NodeName struct{}

// Name returns "NodeName".
func (NodeName) Name() string { return "NodeName" }

// Filter prepares the predicate; it allows all nodes for a pod without spec.nodeName.
func (NodeName) Filter(pod *v1.Pod, c Cluster) Filtering {
	e := filter.CompileNodeName(pod)
	if e.Skip() {
		return Filtering{}
	}
	return Filtering{Predicate: e.On(c)}
}

// TaintToleration is the filter and score of that name. The zero value is v1.36's.
type TaintToleration struct{ Options taints.Options }

// Name returns "TaintToleration".
func (TaintToleration) Name() string { return "TaintToleration" }

// Filter prepares the predicate.
func (p TaintToleration) Filter(pod *v1.Pod, c Cluster) Filtering {
	return Filtering{Predicate: tainted{taints.Compile(pod.Spec.Tolerations, p.Options).On(c)}}
}

// Score prepares the count of soft taints.
func (p TaintToleration) Score(pod *v1.Pod, c Cluster) (Scorer, error) {
	return taints.Compile(pod.Spec.Tolerations, p.Options).On(c), nil
}

type tainted struct{ *taints.State }

// NodeAffinity is the filter and score of that name. The zero value is v1.36's.
type NodeAffinity struct{ Options affinity.NodeOptions }

// Name returns "NodeAffinity".
func (NodeAffinity) Name() string { return "NodeAffinity" }

// Filter prepares the predicate; a pod that is pinned by metadata.name narrows the nodes.
func (p NodeAffinity) Filter(pod *v1.Pod, c Cluster) Filtering {
	e, _ := affinity.CompileNode(pod, p.Options) // terms that cannot be converted match nothing, as in v1.36
	if e.Skip() {
		return Filtering{Code: filter.Skip}
	}
	names, pinned := e.Names()
	if !pinned {
		return Filtering{Predicate: nodeAffinity{e.On(c)}}
	}
	if len(names) == 0 {
		return Filtering{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{"pod affinity terms conflict"}}
	}
	return Filtering{Nodes: names, Predicate: nodeAffinity{e.On(c)}}
}

// Score prepares the weights of preferred terms.
func (p NodeAffinity) Score(pod *v1.Pod, c Cluster) (Scorer, error) {
	e, _ := affinity.CompileNode(pod, p.Options)
	if e.SkipScore() {
		return nil, nil
	}
	if err := e.ScoreErr(); err != nil {
		return nil, err
	}
	return e.On(c), nil
}

type nodeAffinity struct{ *affinity.NodeState }

// NodeDeclaredFeatures is the filter of that name. The zero value is v1.36's.
type NodeDeclaredFeatures struct{ Options filter.FeaturesOptions }

// Name returns "NodeDeclaredFeatures".
func (NodeDeclaredFeatures) Name() string { return "NodeDeclaredFeatures" }

// Filter prepares the predicate; a pod that needs no feature skips it.
func (p NodeDeclaredFeatures) Filter(pod *v1.Pod, c Cluster) Filtering {
	e := filter.CompileFeatures(pod, p.Options)
	if e.Skip() {
		return Filtering{Code: filter.Skip}
	}
	return Filtering{Predicate: e.On(c)}
}

// ImageLocality is the score of that name. The zero value is v1.36's.
type ImageLocality struct{}

// Name returns "ImageLocality".
func (ImageLocality) Name() string { return "ImageLocality" }

// Score prepares the sizes of the pod's images.
func (ImageLocality) Score(pod *v1.Pod, c Cluster) (Scorer, error) {
	return score.CompileImages(pod).On(c), nil
}
