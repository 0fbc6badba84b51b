package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestQoS(t *testing.T) {
	const full = "requests cpu=1,memory=1Gi limits cpu=1,memory=1Gi"
	type test struct {
		name, why, pod string
		want           v1.PodQOSClass
	}
	testkit.Run(t, []test{
		{"nothing asked", "no cpu, no memory", "container a", v1.PodQOSBestEffort},
		{"zero asked", "zero is unset", "container a requests cpu=0,memory=0 limits cpu=0,memory=0", v1.PodQOSBestEffort},
		{"other resources only", "only cpu and memory count", "container a requests ephemeral-storage=1Gi,hugepages-2Mi=2Mi limits ephemeral-storage=1Gi,hugepages-2Mi=2Mi", v1.PodQOSBestEffort},
		{"overhead only", "overhead does not count", "container a\noverhead cpu=250m,memory=120Mi", v1.PodQOSBestEffort},
		{"all equal", "every container limits both", "container a " + full + "\ncontainer b " + full, v1.PodQOSGuaranteed},
		{"kata is guaranteed", "the documents' pod", testkit.Kata, v1.PodQOSGuaranteed},
		{"sums are compared", "requests and limits differ per container, not in sum", "container a requests cpu=1,memory=1Gi limits cpu=2,memory=1Gi\ncontainer b requests cpu=2,memory=1Gi limits cpu=1,memory=1Gi", v1.PodQOSGuaranteed},
		{"limit above request", "not equal", "container a requests cpu=1,memory=1Gi limits cpu=2,memory=1Gi", v1.PodQOSBurstable},
		{"request of one only", "a limit is missing", "container a requests cpu=1", v1.PodQOSBurstable},
		{"limits before defaulting", "there are no requests yet", "container a limits cpu=1,memory=1Gi", v1.PodQOSBurstable},
		{"one container without", "all containers must be limited", "container a " + full + "\ncontainer b", v1.PodQOSBurstable},
		{"one init container without", "init containers, too", "container a " + full + "\ninit i", v1.PodQOSBurstable},
		{"memory limit missing", "both resources are needed", "container a requests cpu=1 limits cpu=1", v1.PodQOSBurstable},
		{"pod level decides alone", "containers are not read", "container a\nwhole " + full, v1.PodQOSGuaranteed},
		{"pod level empty", "an empty struct decides nothing", "container a " + full + "\nwhole", v1.PodQOSGuaranteed},
		{"pod level one limit", "cpu alone does not do", "container a " + full + "\nwhole requests cpu=1 limits cpu=1", v1.PodQOSBurstable},
		{"pod level requests without limits", "burstable", "container a\nwhole requests cpu=1,memory=1Gi", v1.PodQOSBurstable},
		{"status has the say", "whatever it says", "container a\nclass Guaranteed", v1.PodQOSGuaranteed},
		{"unknown class", "passed through", "container a\nclass Golden", "Golden"},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(c.pod)
		testkit.Unchanged(t, func() { require.Equal(t, c.want, QoS(pod, release.Current)) }, pod)
	})
}

func TestNilPod(t *testing.T) {
	require.Equal(t, v1.PodQOSBestEffort, QoS(nil, release.Current))
	require.Equal(t, minShares, PodCgroup(nil, CgroupOptions{}).Shares)
	adj, err := OOMScoreAdj(nil, nil, 1, release.Current)
	require.NoError(t, err)
	require.Equal(t, 1000, adj)
}
