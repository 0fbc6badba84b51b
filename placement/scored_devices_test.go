package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

// A score over resources that no device class can provide is the same for every cluster, and so is its key.
func TestScoresWithoutDevices(t *testing.T) {
	with := func(names ...v1.ResourceName) *Plugin {
		var list []score.Resource
		for _, name := range names {
			list = append(list, score.Resource{Name: string(name), Weight: 1})
		}
		return newNodeResourcesFit(FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.LeastAllocated, Resources: list}}}, tracker.Options{})
	}
	require.Nil(t, with(v1.ResourceCPU, v1.ResourceMemory).WithShared)
	require.Nil(t, with().WithShared)
	require.NotNil(t, with(v1.ResourceCPU, "example.com/gpu").WithShared)
}

// U9.10: a score over a resource counts the devices of the class where the node offers none, and follows the allocations of
// claims that no pod of the node has.
func TestScoredDevices(t *testing.T) {
	const gpu = "example.com/gpu"
	list := []score.Resource{{Name: gpu, Weight: 1}}
	args := PluginArgs{
		NodeResourcesFit:   FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.LeastAllocated, Resources: list}}},
		BalancedAllocation: score.BalanceArgs{Resources: append(list, score.Resource{Name: "cpu", Weight: 1})},
	}
	s, err := cluster.New(cluster.Objects{
		Nodes:         []*v1.Node{testkit.Node("n1").Obj(), testkit.Node("n2").Obj(), testkit.Node("n3").Capacity(gpu + "=8").Obj(), testkit.Node("n4").Obj()},
		DeviceClasses: []*resourcev1.DeviceClass{gpuClass(gpu)}, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("n1", 4), gpuSlice("n2", 2)},
	})
	require.NoError(t, err)
	p, err := NewPlacer(s, args.Profile())
	require.NoError(t, err)
	pod := testkit.Pod("p").Request(gpu + "=1").Obj()
	slots := []int{s.Slot("n1"), s.Slot("n2"), s.Slot("n3"), s.Slot("n4")}
	raw := func(pod *v1.Pod) []int64 {
		columns, _, err := p.Prepare(pod).Scores(slots)
		require.NoError(t, err)
		for _, c := range columns {
			if c.Plugin == "NodeResourcesFit" {
				return c.Raw
			}
		}
		return nil
	}
	require.Equal(t, []int64{75, 50, 87, 0}, raw(pod), "4 and 2 devices, 8 of the node's own, none")
	require.Equal(t, "n3", p.Decide(pod, Options{}).Node)

	c := gpuClaim("held", 2)
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}, {Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-1"}}}}
	require.NoError(t, s.Set(c))
	require.Equal(t, []int64{25, 50, 87, 0}, raw(pod), "two devices of n1 are taken by a claim alone")
	require.Equal(t, []int64{0, 0, 0, 0}, raw(testkit.Pod("cpu").Request("cpu=1").Obj()), "a pod that asks for no device")
}

// A profile with such a score decides as one without kept work, while claims come and go.
func TestScoredDevicesAgainstFreshPlans(t *testing.T) {
	const gpu = "example.com/gpu"
	list := []score.Resource{{Name: gpu, Weight: 1}}
	args := PluginArgs{NodeResourcesFit: FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.MostAllocated, Resources: list}}}}
	s, err := cluster.New(cluster.Objects{
		Nodes:         []*v1.Node{testkit.Node("n1").Capacity("pods=20").Obj(), testkit.Node("n2").Capacity("pods=20").Obj()},
		DeviceClasses: []*resourcev1.DeviceClass{gpuClass(gpu)}, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("n1", 5), gpuSlice("n2", 4)},
	})
	require.NoError(t, err)
	p, err := NewPlacer(s, args.Profile())
	require.NoError(t, err)
	for k := range 9 {
		pod := testkit.Pod(string(rune('a' + k))).Request(gpu + "=1").Obj()
		fresh, err := NewPlacer(s.Fork(), args.Profile())
		require.NoError(t, err)
		want, got := fresh.Decide(pod, Options{}), p.Decide(pod, Options{})
		require.True(t, got.Placed(), "pod %d", k)
		require.Equal(t, want.Node, got.Node, "pod %d", k)
		require.Equal(t, want.Total, got.Total, "pod %d", k)
		require.NoError(t, p.Assume(pod, got))
	}
}

// A score over cpu and memory shares no devices, and keeps its key.
func TestScoresOverNoDevices(t *testing.T) {
	profile := DefaultProfile()
	require.Nil(t, profile.Filter("NodeResourcesFit").WithShared)
	for _, w := range profile.Scores {
		if w.Plugin.Name == "NodeResourcesBalancedAllocation" {
			require.Nil(t, w.Plugin.WithShared)
		}
	}
}
