package main

var deschedulerModule = module{path: "sigs.k8s.io/descheduler", version: "v0.36.0"}

// Package node of the descheduler says where a pod fits. Here its four questions are those of adapters/descheduler/nodefit, so that its strategies and
// its evictor ask podberth.
var descheduler = project{
	module: deschedulerModule,
	rename: map[string][]string{"pkg/descheduler/node/node.go": {"NodeFit", "PodFitsAnyOtherNode", "PodFitsAnyNode", "PodFitsCurrentNode"}},
	add: map[string]string{"pkg/descheduler/node/podberth.go": `package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"

	"github.com/podberth/podberth/adapters/descheduler/nodefit"
)

func NodeFit(ctx context.Context, index podutil.GetPodsAssignedToNodeFunc, pod *v1.Pod, node *v1.Node) error {
	return nodefit.NodeFit(ctx, index, pod, node)
}

func PodFitsAnyOtherNode(index podutil.GetPodsAssignedToNodeFunc, pod *v1.Pod, nodes []*v1.Node) bool {
	return nodefit.PodFitsAnyOtherNode(index, pod, nodes)
}

func PodFitsAnyNode(index podutil.GetPodsAssignedToNodeFunc, pod *v1.Pod, nodes []*v1.Node) bool {
	return nodefit.PodFitsAnyNode(index, pod, nodes)
}

func PodFitsCurrentNode(ctx context.Context, index podutil.GetPodsAssignedToNodeFunc, pod *v1.Pod, node *v1.Node) bool {
	return nodefit.PodFitsCurrentNode(ctx, index, pod, node)
}
`},
	ours: []string{".", "devices/cel", "adapters/descheduler"},
	packages: []string{
		"./pkg/descheduler/node", "./pkg/framework/plugins/defaultevictor", "./pkg/framework/plugins/nodeutilization",
		"./pkg/framework/plugins/removefailedpods", "./pkg/framework/plugins/removeduplicates", "./pkg/framework/plugins/removepodshavingtoomanyrestarts",
		"./pkg/framework/plugins/removepodsviolatinginterpodantiaffinity", "./pkg/framework/plugins/removepodsviolatingnodeaffinity",
		"./pkg/framework/plugins/removepodsviolatingnodetaints", "./pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint",
	},
	differ: map[string]string{
		spreading: "as its case",
		spreading + "/3_domains,_sizes_[2,3,4],_maxSkew=1,_args.NodeFit_is_false,_and_not_enough_cpu_on_zoneA;_1_should_be_moved_to_force_scale-up": "the pod is to wait so that a node is " +
			"added; no node takes it, as TestScaleUp shows with kube-scheduler",
	},
}

const spreading = "sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint TestTopologySpreadConstraint"
