//go:build !judge

package real

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// extended is a framework with extenders of its own.
type extended struct {
	framework.Framework
	extenders []fwk.Extender
}

func (e extended) Extenders() []fwk.Extender { return e.extenders }

// PreemptWith runs DefaultPreemption as a whole, with extenders, and returns the node that it nominates, "" for none.
func (a *Attempt) PreemptWith(extenders []fwk.Extender) (node string, status *fwk.Status, err error) {
	dp, err := a.plugin(config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1}, extended{a.s.Framework, extenders})
	if err != nil {
		return "", nil, err
	}
	result, status := dp.Evaluator.Preempt(a.s.ctx, a.state, a.pod, a.Fit().Diagnosis.NodeToStatus)
	if status.IsSuccess() && result != nil && result.NominatingInfo != nil {
		node = result.NominatedNodeName
	}
	return node, status, nil
}
