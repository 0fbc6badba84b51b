package overhead_test

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/overhead/runtimeclass"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// The example of the documentation's "Pod Overhead", from the manifest to the cgroup.
func TestDocumentsKata(t *testing.T) {
	manifest := testkit.Containers("container busybox-ctr limits cpu=500m,memory=100Mi\ncontainer nginx-ctr limits cpu=1500m,memory=100Mi")
	name := "kata-fc"
	manifest.Spec.RuntimeClassName = &name
	classes := []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: name,
		Overhead: &nodev1.Overhead{PodFixed: testkit.Resources("cpu=250m,memory=120Mi")}}}

	var pod *v1.Pod
	testkit.Unchanged(t, func() {
		admitted, err := runtimeclass.Admit(manifest, classes)
		require.NoError(t, err)
		pod = overhead.Default(admitted)
	}, manifest)
	require.Equal(t, "cpu=250m,memory=120Mi", testkit.ShowResources(pod.Spec.Overhead), "kubectl get pod test-pod -o jsonpath='{.spec.overhead}'")

	schema := &resources.Schema{}
	require.Equal(t, "cpu=2250m memory=335544320", overhead.AppendRequests(nil, schema, pod, overhead.Options{}).Describe(schema), "2.25 CPU and 320 MiB")
	require.Equal(t, "cpu=2250m,memory=320Mi", testkit.ShowResources(overhead.Limits(pod, overhead.Options{})))
	require.Equal(t, v1.PodQOSGuaranteed, kubelet.QoS(pod, release.Current))
	cgroup := kubelet.PodCgroup(pod, kubelet.CgroupOptions{})
	require.EqualValues(t, 335544320, *cgroup.MemoryBytes, "memory.limit_in_bytes")
	require.Equal(t, []int64{2304, 225000, 100000}, []int64{cgroup.Shares, *cgroup.QuotaMicros, *cgroup.PeriodMicros})
	usage := quota.Usage(pod, testkit.Epoch, release.Current)
	require.Equal(t, "2250m 320Mi", usage.Cpu().String()+" "+usage.Memory().String())

	manifest.Spec.Overhead = testkit.Resources("cpu=1")
	_, err := runtimeclass.Admit(manifest, classes)
	require.EqualError(t, err, `pods "test-pod" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`)

	undefaulted, err := runtimeclass.Admit(testkit.Containers("container a limits cpu=500m"), nil)
	require.NoError(t, err)
	require.Empty(t, overhead.Requests(undefaulted, overhead.Options{}))
}

// No function of kubelet, quota and runtimeclass panics on a pod or changes it, be the pod valid or not.
func TestAnyPod(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range testkit.Rounds(2000) {
		data := make([]byte, r.Intn(400))
		r.Read(data)
		pod := overhead.RandomPod(data)
		testkit.Unchanged(t, func() {
			kubelet.QoS(pod, release.Current)
			kubelet.PodCgroup(pod, kubelet.CgroupOptions{})
			kubelet.Sandbox(pod, kubelet.CgroupOptions{IgnoreCPULimits: true})
			quota.Usage(pod, testkit.Epoch, release.Current)
			for i := range pod.Spec.Containers {
				adj, err := kubelet.OOMScoreAdj(pod, &pod.Spec.Containers[i], 1<<34, release.Current)
				require.NoError(t, err)
				require.GreaterOrEqual(t, adj, -997)
			}
			_, err := runtimeclass.Admit(pod, nil)
			require.Equal(t, pod.Spec.Overhead != nil, err != nil)
		}, pod)
	}
}
