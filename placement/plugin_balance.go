package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/balance"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// newNodeResourcesBalancedAllocation returns the score of that name. A pod that asks for none of the resources skips it. The zero
// arguments are v1.37's.
func newNodeResourcesBalancedAllocation(args score.BalanceArgs, d tracker.Options) *Plugin {
	return overDevices(scoredSince(args.Release, args.Resources), d, func(devices *scoredDevices) *Plugin { return balanceOver(args, devices) })
}

func balanceOver(args score.BalanceArgs, devices *scoredDevices) *Plugin {
	return &Plugin{
		Name: plugins.NodeResourcesBalancedAllocation, Args: args,
		Keep: KeepByNodeAndPods, AppendKey: podkey.Requests, KeyName: "requests",
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			e, err := score.CompileBalance(pod, args)
			if err != nil || e.Skip() {
				return nil, err
			}
			rows, alone := devices.rows(pod, c)
			state := e.On(rows)
			s := balanced{BalanceState: state, rows: state.(engine.Balance), alone: alone}
			if !changesOfPairs(args) {
				return s, nil
			}
			x := pairBalance{balanced: s}
			overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
				switch name {
				case v1.ResourceCPU:
					x.cpu = value
				case v1.ResourceMemory:
					x.memory = value
				}
			})
			return x, nil
		},
	}
}

type balanced struct {
	score.BalanceState
	rows engine.Balance // the state
	inRange
	alone bool
}

// RowsAlone reports whether the score reads no devices.
func (s balanced) RowsAlone() bool { return s.alone }

// RawRow is Raw with the rows of the node given.
func (s balanced) RawRow(i int, allocatable, requested resources.Vector, _, _ int64) int64 {
	return s.rows.RawOf(i, allocatable, requested)
}

// pairBalance is the score of v1.37 over cpu and memory, for a pod with these requests.
type pairBalance struct {
	balanced
	cpu, memory int64
}

// changesOfPairs reports whether the score is how the balance of cpu and memory changes.
func changesOfPairs(args score.BalanceArgs) bool {
	r := args.Resources
	return scoresChange(args.Release) &&
		(len(r) == 0 || len(r) == 2 && r[0].Name == string(v1.ResourceCPU) && r[1].Name == string(v1.ResourceMemory))
}

// MaxRawRow returns the score for the best balance with the pod and the worst without the pod.
func (s pairBalance) MaxRawRow(allocatable, requested [2]resources.Vector, _, _ [2]int64) int64 {
	if allocatable[0].At(resources.CPU) <= 0 || allocatable[0].At(resources.Memory) <= 0 {
		return score.MaxScore
	}
	cpu, cpuWith := shares(allocatable, requested, resources.CPU, s.cpu)
	memory, memoryWith := shares(allocatable, requested, resources.Memory, s.memory)
	with := int64(score.MaxScore)
	switch {
	case cpuWith[0] > memoryWith[1]:
		with = balance.Of(cpuWith[0], memoryWith[1])
	case memoryWith[0] > cpuWith[1]:
		with = balance.Of(memoryWith[0], cpuWith[1])
	}
	return balance.Change(with, min(balance.Of(cpu[0], memory[1]), balance.Of(cpu[1], memory[0])))
}

// shares returns the least and the most share of a resource that is in use without a pod and with a pod.
func shares(allocatable, requested [2]resources.Vector, column int, more int64) (without, with [2]float64) {
	for k := range 2 {
		all := float64(allocatable[1-k].At(column))
		without[k] = balance.Share(requested[k].At(column), all)
		with[k] = balance.Share(resources.Add(requested[k].At(column), more), all)
	}
	return without, with
}
