package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
)

// usedBy returns a claim that has devices of n1 and is reserved for pods.
func usedBy(name string, device string, pods ...string) *resourcev1.ResourceClaim {
	c := gpuClaim(name, 1)
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: device}}}}
	for _, pod := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod, UID: types.UID(pod)})
	}
	return c
}

// In a trial the devices of a claim are free when all its users are gone. The ledger is as before after each question.
func TestFreeingTrial(t *testing.T) {
	own, shared, mine := usedBy("own", "gpu-0", "a"), usedBy("shared", "gpu-1", "b", "c"), gpuClaim("mine", 1)
	unused := usedBy("unused", "gone")
	objects := &byName{list: []*resourcev1.ResourceClaim{own, shared, mine, unused}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}), own, shared)
	allocator := devices.NewAllocator(ledger, class, nil, devices.Options{})
	nodes := nodesOf("n1", "n2")
	freeing := func(wants int64) *devices.FullFreeing {
		mine.Spec = gpuClaim("mine", wants).Spec
		return devices.Compile(user("p", "mine"), objects, nil).Onto(nodes, allocator, devices.Clock{}).Frees(objects)
	}
	a, b, c, lost := user("a", "own"), user("b", "shared"), user("c", "shared"), user("lost", "nothing")
	one := freeing(1)
	taken := one.Check(0)
	require.NotZero(t, taken)
	trial := one.NewTrial()
	require.Equal(t, taken, trial.Check(0), "nobody is gone")
	trial.Remove(b, 0)
	require.Equal(t, taken, trial.Check(0), "c still uses the claim")
	trial.Remove(lost, 0)
	require.Equal(t, taken, trial.Check(0), "nobody knows what the pod held")
	trial.Remove(c, 0)
	require.Zero(t, trial.Check(0))
	require.Equal(t, taken, trial.Check(1), "the devices are on n1")
	trial.Add(c, 0)
	require.Equal(t, taken, trial.Check(0))
	trial.Remove(a, 0)
	require.Zero(t, trial.Check(0))
	require.Equal(t, taken, one.Check(0), "the trial changes nothing else")
	trial.Reset()
	require.Equal(t, taken, trial.Check(0))

	trial = one.NewTrial()
	trial.Remove(c, 0)
	require.Equal(t, taken, trial.Check(0), "b still uses the claim, before c")

	two := freeing(2)
	trial = two.NewTrial()
	trial.Remove(a, 0)
	require.NotZero(t, trial.Check(0), "one device is too few")
	trial.Remove(b, 0)
	trial.Remove(c, 0)
	require.Zero(t, trial.Check(0))
	trial.Remove(user("d", "unused"), 0)
	require.Zero(t, trial.Check(0), "a claim without users is not freed by a pod")
	require.Equal(t, "Unschedulable", two.Code(two.Check(0)).String())
	require.Equal(t, []string{"cannot allocate all claims"}, two.Reasons(two.Check(0)))

	ledger.Remove(own, own.Status.Allocation)
	again := freeing(1)
	require.Zero(t, again.Check(0))
	require.Zero(t, again.NewTrial().Check(0))
}

// A victim's devices are no help on a node that a claim of the pod cannot use.
func TestFreeingAway(t *testing.T) {
	own, away, mine := usedBy("own", "gpu-0", "a"), gpuClaim("away", 1), gpuClaim("mine", 1)
	away.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n2"}}}}}}}
	objects := &byName{list: []*resourcev1.ResourceClaim{own, away, mine}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}), own)
	trial := devices.Compile(user("p", "mine", "away"), objects, nil).Onto(nodesOf("n1"), devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{}).Frees(objects).NewTrial()
	require.NotZero(t, trial.Check(0))
	trial.Remove(user("a", "own"), 0)
	require.NotZero(t, trial.Check(0), "n1 has a free device, and the other claim belongs to n2")
}

// Devices that victims free can provide an extended resource.
func TestFreeingExtended(t *testing.T) {
	used := usedBy("own", "gpu-1", "a")
	pod := user("p")
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}}}
	s := stateOf(nodesOf("n1"), pod, devices.Clock{}, used).Frees(&byName{list: []*resourcev1.ResourceClaim{used}})
	require.NotZero(t, s.Check(0), "another pod has gpu-0")
	trial := s.NewTrial()
	require.NotZero(t, trial.Check(0))
	trial.Remove(user("a", "own"), 0)
	require.Zero(t, trial.Check(0))

	pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("2")
	trial = stateOf(nodesOf("n1"), pod, devices.Clock{}, used).Frees(&byName{list: []*resourcev1.ResourceClaim{used}}).NewTrial()
	trial.Remove(user("a", "own"), 0)
	require.NotZero(t, trial.Check(0), "one device is too few")
}

// The devices of a claim that nobody has reserved stay allocated, whoever leaves.
func TestFreeingUnreserved(t *testing.T) {
	unused, own := usedBy("unused", "gpu-0"), usedBy("own", "gpu-1", "a")
	mine := gpuClaim("mine", 1)
	objects := &byName{list: []*resourcev1.ResourceClaim{unused, own, mine}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}), unused, own)
	trial := devices.Compile(user("p", "mine"), objects, nil).Onto(nodesOf("n1"), devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{}).Frees(objects).NewTrial()
	trial.Remove(user("d", "unused", "mine"), 0)
	require.NotZero(t, trial.Check(0))
	trial.Remove(user("a", "unused", "own"), 0)
	require.Zero(t, trial.Check(0))
}
