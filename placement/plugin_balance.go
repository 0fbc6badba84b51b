package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// newNodeResourcesBalancedAllocation returns the score of that name. A pod that asks for none of the resources skips it. The zero
// arguments are v1.36's.
func newNodeResourcesBalancedAllocation(args score.BalanceArgs, d tracker.Options) *Plugin {
	return overDevices(scoredSince(args.Release, args.Resources), d, func(devices *scoredDevices) *Plugin { return balanceOver(args, devices) })
}

func balanceOver(args score.BalanceArgs, devices *scoredDevices) *Plugin {
	return &Plugin{
		Name: plugins.NodeResourcesBalancedAllocation, Args: args,
		Group: GroupRows, AppendKey: overhead.AppendKey, KeyName: "requests",
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			e, err := score.CompileBalance(pod, args)
			if err != nil || e.Skip() {
				return nil, err
			}
			return balance{e.On(devices.rows(pod, c))}, nil
		},
	}
}

type balance struct{ *score.BalanceState }

// RawRow is Raw with the rows of the node given.
func (s balance) RawRow(i int, allocatable, requested resources.Vector, _, _ int64) int64 {
	return s.RawOf(i, allocatable, requested)
}
