//go:build k1_34

package real

import "k8s.io/kubernetes/pkg/scheduler/framework"

// The plugin interfaces of v1.34 are in kube-scheduler itself.
type (
	plugin            = framework.Plugin
	preFilterPlugin   = framework.PreFilterPlugin
	preFilterResult   = framework.PreFilterResult
	filterPlugin      = framework.FilterPlugin
	preScorePlugin    = framework.PreScorePlugin
	scorePlugin       = framework.ScorePlugin
	preEnqueuePlugin  = framework.PreEnqueuePlugin
	enqueueExtensions = framework.EnqueueExtensions
	nodeScore         = framework.NodeScore
	nodeScoreList     = framework.NodeScoreList
	nodePluginScores  = framework.NodePluginScores
	handle            = framework.Handle
)
