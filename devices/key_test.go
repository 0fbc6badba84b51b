package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/podkey"
)

// Pods that differ in what DynamicResources reads have different keys; other differences make none.
func TestAppendKey(t *testing.T) {
	pod := func(change func(p *v1.Pod)) *v1.Pod {
		p := claimPod(v1.PodResourceClaimStatus{Name: "b"})
		p.Spec.InitContainers = []v1.Container{{Name: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}}}
		p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1"), "cpu": resource.MustParse("1")}}}}
		if change != nil {
			change(p)
		}
		return p
	}
	always := v1.ContainerRestartPolicyAlways
	keys := map[string]int{string(podkey.Devices(nil, pod(nil))): -1}
	for k, change := range []func(p *v1.Pod){
		func(p *v1.Pod) { p.Namespace = "other" },
		func(p *v1.Pod) { p.Name = "q" },
		func(p *v1.Pod) { p.UID = "q" },
		func(p *v1.Pod) { p.Spec.ResourceClaims = p.Spec.ResourceClaims[:1] },
		func(p *v1.Pod) { p.Spec.ResourceClaims[0].Name = "x" },
		func(p *v1.Pod) { p.Spec.ResourceClaims[0].ResourceClaimName = new("db") },
		func(p *v1.Pod) { p.Spec.ResourceClaims[1].ResourceClaimTemplateName = new("db") },
		func(p *v1.Pod) { p.Status.ResourceClaimStatuses = nil },
		func(p *v1.Pod) { p.Status.ResourceClaimStatuses[0].Name = "x" },
		func(p *v1.Pod) { p.Status.ResourceClaimStatuses[0].ResourceClaimName = new("made") },
		func(p *v1.Pod) { p.Spec.InitContainers[0].Name = "x" },
		func(p *v1.Pod) { p.Spec.Containers[0].Name = "x" },
		func(p *v1.Pod) { p.Spec.InitContainers[0].RestartPolicy = &always },
		func(p *v1.Pod) { p.Spec.InitContainers[0].Resources.Requests = nil },
		func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("2") },
		func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["example.com/fpga"] = resource.MustParse("1") },
		func(p *v1.Pod) { p.Spec.Overhead = v1.ResourceList{"example.com/gpu": resource.MustParse("1")} },
	} {
		key := string(podkey.Devices(nil, pod(change)))
		other, known := keys[key]
		require.False(t, known, "changes %d and %d have one key", k, other)
		keys[key] = k
	}
	same := pod(func(p *v1.Pod) { p.Labels = map[string]string{"app": "web"} })
	require.Equal(t, podkey.Devices(nil, pod(nil)), podkey.Devices(nil, same))

	plain := func(name string, requests v1.ResourceList) []byte {
		p := user(name)
		p.Spec.Containers = []v1.Container{{Name: name, Resources: v1.ResourceRequirements{Requests: requests}}}
		return podkey.Devices(nil, p)
	}
	cpu := v1.ResourceList{"cpu": resource.MustParse("1"), "example.com/gpu": resource.MustParse("0")}
	require.Equal(t, plain("a", cpu), plain("b", nil), "no class can serve these pods")
	require.Equal(t, []byte("x\x00"), podkey.Devices([]byte("x"), user("a")))
	require.NotEqual(t, byte(0), podkey.Devices(nil, pod(nil))[0], "the key of no pod begins with the key of a pod without devices")
	gpu := v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	require.NotEqual(t, plain("a", gpu), plain("b", gpu), "a special claim belongs to its pod")
	require.NotEqual(t, plain("a", cpu), podkey.Devices(nil, user("a", "web")))
}
