package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// A sidecar with a limit, an init container without limits, a container with a limit.
func TestCgroupOfReleases(t *testing.T) {
	const sidecar, start, run = "sidecar s limits cpu=1\n", "init i\n", "container c limits cpu=1"
	for _, v := range release.Versions() {
		before := PodCgroup(testkit.Containers(sidecar+start+run), CgroupOptions{Release: v})
		if v.AtLeast(release.V1_37) {
			require.Nil(t, before.QuotaMicros, v.String())
		} else {
			require.EqualValues(t, 200000, *before.QuotaMicros, v.String())
		}
		require.Nil(t, PodCgroup(testkit.Containers(start+sidecar+run), CgroupOptions{Release: v}).QuotaMicros, "%s: the sidecar comes later", v)
	}
}

// An empty spec.resources beside a container with a request.
func TestClassOfReleases(t *testing.T) {
	for _, v := range release.Versions() {
		pod := testkit.Containers("container c requests cpu=1")
		require.Equal(t, v1.PodQOSBurstable, QoS(pod, v))
		pod.Spec.Resources = &v1.ResourceRequirements{}
		want := v1.PodQOSBestEffort
		if v.AtLeast(release.V1_37) {
			want = v1.PodQOSBurstable
		}
		require.Equal(t, want, QoS(pod, v), v.String())
		adj, err := OOMScoreAdj(pod, &pod.Spec.Containers[0], 1<<30, v)
		require.NoError(t, err)
		require.Equal(t, map[v1.PodQOSClass]int{v1.PodQOSBestEffort: 1000, v1.PodQOSBurstable: 999}[want], adj, v.String())
		pod.Spec.Resources.Requests = v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
		require.Equal(t, want, QoS(pod, v), "%s: no resource of a pod as a whole", v)
		pod.Spec.Resources = &v1.ResourceRequirements{Limits: testkit.Resources("cpu=1")}
		require.Equal(t, v1.PodQOSBurstable, QoS(pod, v), "%s: a limit alone decides too", v)
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{}
		require.Equal(t, v1.PodQOSBurstable, QoS(pod, v), "%s: of the pod as a whole", v)
		pod.Spec.Resources.Limits = testkit.Resources("cpu=1,memory=1Gi")
		pod.Spec.Resources.Requests = testkit.Resources("cpu=1,memory=1Gi")
		require.Equal(t, v1.PodQOSGuaranteed, QoS(pod, v), v.String())
	}
}
