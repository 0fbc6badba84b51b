package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// The documentation's "Pod Overhead" from the manifest to the cgroup.
func TestDocumentsKata(t *testing.T) {
	manifest := podOf(t, "container busybox-ctr limits cpu=500m,memory=100Mi\ncontainer nginx-ctr limits cpu=1500m,memory=100Mi")
	name := "kata-fc"
	manifest.Spec.RuntimeClassName = &name
	classes := []*nodev1.RuntimeClass{kataFC(t)}

	var pod *v1.Pod
	testkit.Unchanged(t, func() {
		admitted, err := AdmitRuntimeClass(manifest, classes)
		require.NoError(t, err)
		pod = Default(admitted)
	}, manifest)
	require.Equal(t, "cpu=250m,memory=120Mi", show(pod.Spec.Overhead), "kubectl get pod test-pod -o jsonpath='{.spec.overhead}'")

	schema := &resources.Schema{}
	require.Equal(t, "cpu=2250m memory=335544320", AppendRequests(nil, schema, pod, Options{}).Describe(schema), "2.25 CPU and 320 MiB")
	require.Equal(t, "cpu=2250m,memory=320Mi", show(Limits(pod, Options{})))
	require.Equal(t, v1.PodQOSGuaranteed, QoS(pod))
	require.Equal(t, "shares=2304 quota=225000 period=100000 memory=335544320", printed(PodCgroup(pod, CgroupOptions{})), "memory.limit_in_bytes")
	usage := QuotaUsage(pod, testkit.Epoch)
	require.Equal(t, "2250m 320Mi", usage.Cpu().String()+" "+usage.Memory().String())

	manifest.Spec.Overhead = amountsOf(t, "cpu=1")
	_, err := AdmitRuntimeClass(manifest, classes)
	require.EqualError(t, err, `pods "test-pod" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`)

	undefaulted, err := AdmitRuntimeClass(podOf(t, "container a limits cpu=500m"), nil)
	require.NoError(t, err)
	require.Empty(t, Requests(undefaulted, Options{}))
}
