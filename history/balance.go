package history

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// AbsoluteBalance is the score of NodeResourcesBalancedAllocation from v1.22 to v1.35, 50 to 100: the balance of the node
// with the pod. v1.37 scores how much the pod changes the balance. The plugin skipped the same pods as in v1.37. The error
// is that of [score.CompileBalance]. A nil pod is an empty pod; nil rows panic.
func AbsoluteBalance(pod *v1.Pod, args score.BalanceArgs, rows score.Rows) (placement.Scorer, error) {
	args.Release = release.V1_35
	e, err := score.CompileBalance(pod, args)
	if err != nil {
		return nil, err
	}
	return e.On(rows), nil
}

// Difference is the score of NodeResourcesBalancedAllocation before v1.22, 0 to limit: 1 - |share of cpu - share of memory|,
// and 0 for a node of which one of the two would be used up. limit was 10 until about v1.17, and 100 since. Containers
// without requests count 100m and 200Mi. No pod is skipped, and other resources do not count. A nil pod is an empty pod.
func Difference(pod *v1.Pod, rows score.Rows, limit int64) placement.Scorer {
	asked := requestOf(pod)
	return scorer(func(i int) int64 {
		cpu, memory, ok := shares(asked, rows, i)
		if !ok {
			return 0
		}
		return int64(float64(1-math.Abs(cpu-memory)) * float64(limit))
	})
}

// VolumeRows are rows with attached volumes. Volumes returns how many volumes are attached to slot i when the pod is there,
// and how many may be attached. allocatable 0 means that the limit is not known.
type VolumeRows interface {
	score.Rows
	Volumes(i int) (requested, allocatable int64)
}

// VolumeVariance is the score of NodeResourcesBalancedAllocation before v1.22 with the alpha feature
// BalanceAttachedNodeVolumes, 0 to limit: 1 - variance of the shares of cpu, memory and attached volumes. For a node without
// known volume limit the score is that of [Difference]. A nil pod is an empty pod.
func VolumeVariance(pod *v1.Pod, rows VolumeRows, limit int64) placement.Scorer {
	asked, without := requestOf(pod), Difference(pod, rows, limit)
	return scorer(func(i int) int64 {
		requested, allocatable := rows.Volumes(i)
		if allocatable <= 0 {
			return without.Raw(i)
		}
		cpu, memory, ok := shares(asked, rows, i)
		volumes := float64(requested) / float64(allocatable)
		if !ok || volumes >= 1 {
			return 0
		}
		mean := (cpu + memory + volumes) / 3
		c, m, v := cpu-mean, memory-mean, volumes-mean
		variance := (float64(c*c) + float64(m*m) + float64(v*v)) / 3
		return int64(float64(1-variance) * float64(limit))
	})
}

// shares returns the shares of cpu and memory in use with the pod. ok is false when one of them is used up or the node does
// not have it.
func shares(asked func(v1.ResourceName) int64, rows score.Rows, i int) (cpu, memory float64, ok bool) {
	var f [2]float64
	for k, name := range [...]v1.ResourceName{resources.CPU: v1.ResourceCPU, resources.Memory: v1.ResourceMemory} {
		used, allocatable := amounts(rows, i, name)
		f[k] = float64(resources.Add(used, asked(name))) / float64(allocatable)
	}
	return f[resources.CPU], f[resources.Memory], f[0] < 1 && f[1] < 1
}
