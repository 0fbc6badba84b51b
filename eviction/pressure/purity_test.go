package pressure

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// Nothing modifies a pod. Even the text that a quantity caches when it is printed stays as it is.
func TestArgumentsStay(t *testing.T) {
	fresh := func(bytes int64) resource.Quantity { return *resource.NewQuantity(bytes, resource.BinarySI) } // this quantity was never printed
	full, small := pod("full", 0, ""), pod("small", 5, "")
	limit := fresh(mi)
	withVolume(full, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &limit}})
	for _, p := range []*v1.Pod{full, small} {
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceMemory: fresh(10 * mi), v1.ResourceEphemeralStorage: fresh(10 * mi)},
			Limits:   v1.ResourceList{v1.ResourceEphemeralStorage: fresh(20 * mi)},
		}
		p.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: fresh(mi)}
		p.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: fresh(12 * mi)}}
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", AllocatedResources: v1.ResourceList{v1.ResourceMemory: fresh(11 * mi)}}}
	}
	pods := []*v1.Pod{full, small}
	use := disk(30, 30, 2)
	use.WorkingSetBytes, use.Containers[0].WorkingSetBytes, use.EphemeralStorageUsed = n(100*mi), n(100*mi), n(62*mi)
	o := Observation{Layout: singleFilesystem, Pods: pods, Stats: stats(pods, use, use)}
	critical := pod("critical", 2000000000, "memory=1Gi")
	policy := compile(t, Config{EvictionHard: map[string]string{"memory.available": "1Gi"}, IgnoreLocalStorage: true}, Options{})
	testkit.Unchanged(t, func() {
		for _, signal := range Signals() {
			o.Signals = measured(signal, "1Mi", "10Gi", epoch)
			policy.Observe(State{Layout: o.Layout}, o, epoch)
			Rank(signal, o.Layout, o.Pods, o.Stats, Options{})
			policy.Forecast(Threshold{Signal: signal, Value: thresholdValue{Quantity: fresh(gi)}}, o.Signals[signal], o)
		}
		if len(localStorage(o.Layout, o.Pods, o.Stats, release.Current)) == 0 {
			t.Error("full is over its limit")
		}
		Admit(full, []v1.NodeConditionType{v1.NodeMemoryPressure})
		if _, err := CriticalVictims(critical, pods, []Missing{{Name: v1.ResourceMemory, Amount: mi}}); err != nil {
			t.Error(err)
		}
	}, append(pods, critical)...)
}
