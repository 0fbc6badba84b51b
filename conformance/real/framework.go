//go:build !k1_34

package real

import fwk "k8s.io/kube-scheduler/framework"

// The plugin interfaces of the staging repository, since v1.35.
type (
	plugin            = fwk.Plugin
	preFilterPlugin   = fwk.PreFilterPlugin
	preFilterResult   = fwk.PreFilterResult
	filterPlugin      = fwk.FilterPlugin
	preScorePlugin    = fwk.PreScorePlugin
	scorePlugin       = fwk.ScorePlugin
	preEnqueuePlugin  = fwk.PreEnqueuePlugin
	enqueueExtensions = fwk.EnqueueExtensions
	nodeScore         = fwk.NodeScore
	nodeScoreList     = fwk.NodeScoreList
	nodePluginScores  = fwk.NodePluginScores
	handle            = fwk.Handle
)
