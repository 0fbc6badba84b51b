// Package nodepool knows the labels by which clouds and autoscalers name the pool of a node.
package nodepool

import v1 "k8s.io/api/core/v1"

// Karpenter is the label of Karpenter: its pools grow within limits of their own.
const Karpenter = "karpenter.sh/nodepool"

// keys are labels that name the pool of a node, in the order in which they are read.
var keys = []string{
	Karpenter, "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool", "agentpool", "node.kubernetes.io/pool", "node-pool", "nodepool", "pool",
}

// Of returns the name of the pool of a node and the label that says it; "" for a node without such a label.
func Of(node *v1.Node) (name, key string) {
	for _, key := range keys {
		if name := node.Labels[key]; name != "" {
			return name, key
		}
	}
	return "", ""
}
