package dump

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	nodePoolKind  = "NodePool" // the kind of Karpenter's pools
	nodePoolGroup = "karpenter.sh"
	ofNodePool    = "karpenter.sh/nodepool"    // the label of a node with the name of its pool
	agentTaints   = "podberth.io/agent-taints" // the annotation of a node in which package diagnose reads which taints agents lift
)

// nodePool is what is read of a NodePool: the taints that agents lift when a node of the pool can run pods.
type nodePool struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template struct {
			Spec struct {
				StartupTaints []v1.Taint `json:"startupTaints"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// nodePool reads a NodePool.
func (r *reader) nodePool(data []byte, name string) error {
	var p nodePool
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("%s (%s): %w", name, nameOf(nodePoolKind, data), oneLine(err))
	}
	if taints := p.Spec.Template.Spec.StartupTaints; len(taints) > 0 {
		if r.objects.startup == nil {
			r.objects.startup = map[string][]v1.Taint{}
		}
		r.objects.startup[p.Name] = taints
	}
	return nil
}

// nodes returns the nodes. Those of a NodePool with startupTaints have the annotation that lists them.
func (o *Objects) nodes() []*v1.Node {
	if len(o.startup) == 0 {
		return o.Nodes
	}
	out := slices.Clone(o.Nodes)
	for i, n := range out {
		taints := o.startup[n.Labels[ofNodePool]]
		if len(taints) == 0 {
			continue
		}
		var list []string
		for _, t := range taints {
			list = append(list, t.ToString())
		}
		marked := *n
		marked.Annotations = map[string]string{}
		maps.Copy(marked.Annotations, n.Annotations)
		marked.Annotations[agentTaints] = strings.Join(list, ",")
		out[i] = &marked
	}
	return out
}
