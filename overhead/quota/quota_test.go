package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestUsage(t *testing.T) {
	type test struct{ name, why, pod, want string }
	testkit.Run(t, []test{
		{"kata quota", "everything with overhead", testkit.Kata, "count/pods=1,cpu=2250m,limits.cpu=2250m,limits.memory=320Mi,memory=320Mi,pods=1,requests.cpu=2250m,requests.memory=320Mi"},
		{"best effort quota", "overhead is charged, limits there are none", "container a\noverhead cpu=250m,memory=120Mi", "count/pods=1,cpu=250m,memory=120Mi,pods=1,requests.cpu=250m,requests.memory=120Mi"},
		{"other resources", "extended ones as requests only, unknown ones not", "container a requests example.com/x=1,hugepages-2Mi=2Mi,ephemeral-storage=1Gi,deviceclass.resource.kubernetes.io/gpu=1,foo=1,kubernetes.io/y=1 limits example.com/x=1,hugepages-2Mi=2Mi,ephemeral-storage=2Gi",
			"count/pods=1,ephemeral-storage=1Gi,hugepages-2Mi=2Mi,limits.ephemeral-storage=2Gi,pods=1,requests.deviceclass.resource.kubernetes.io/gpu=1,requests.ephemeral-storage=1Gi,requests.example.com/x=1,requests.hugepages-2Mi=2Mi"},
		{"quota of a resized container", "the container's status counts", "container a requests cpu=1\nstatus a requests cpu=3", "count/pods=1,cpu=3,pods=1,requests.cpu=3"},
		{"quota of a resized pod", "the status of the whole pod does not", "container a\nwhole requests cpu=1\nwholestatus requests cpu=3", "count/pods=1,cpu=1,pods=1,requests.cpu=1"},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(c.pod)
		testkit.Unchanged(t, func() { require.Equal(t, c.want, testkit.ShowResources(Usage(pod, testkit.Epoch, release.Current))) }, pod)
	})
}

func TestUsageOfEndingPods(t *testing.T) {
	grace, huge := int64(30), int64(10000000000)
	type test struct {
		name, why string
		phase     v1.PodPhase
		deleted   bool
		grace     *int64
		after     time.Duration
		charged   bool
	}
	testkit.Run(t, []test{
		{"running", "charged", v1.PodRunning, false, nil, 0, true},
		{"succeeded", "has ended", v1.PodSucceeded, false, nil, 0, false},
		{"failed", "has ended", v1.PodFailed, false, nil, 0, false},
		{"deleted", "still in its grace period", v1.PodRunning, true, &grace, 0, true},
		{"grace counted twice", "deletionTimestamp has the period in it already", v1.PodRunning, true, &grace, 30 * time.Second, true},
		{"should be gone", "past the second grace period", v1.PodRunning, true, &grace, 30*time.Second + 1, false},
		{"grace of 317 years", "more seconds than a duration holds do not end before they began", v1.PodRunning, true, &huge, time.Hour, true},
		{"grace period without a deletion", "the pod is not deleted", v1.PodRunning, false, &grace, time.Hour, true},
		{"deleted without grace period", "charged", v1.PodRunning, true, nil, time.Hour, true},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(testkit.Kata)
		pod.Status.Phase, pod.DeletionGracePeriodSeconds = c.phase, c.grace
		if c.deleted {
			at := metav1.NewTime(testkit.Epoch)
			pod.DeletionTimestamp = &at
		}
		usage := Usage(pod, testkit.Epoch.Add(c.after), release.Current)
		require.Equal(t, c.charged, len(usage) > 1)
		require.Contains(t, usage, v1.ResourceName("count/pods"))
	})
}

func TestCheck(t *testing.T) {
	type test struct{ name, why, pod, hard, used, want string }
	testkit.Run(t, []test{
		{"within", "3 of 3", testkit.Kata, "cpu=3,pods=2", "cpu=750m,pods=1", ""},
		{"over", "only exceeded names are told, sorted", testkit.Kata, "requests.memory=1Gi,cpu=3,limits.cpu=3,pods=9", "cpu=1,limits.cpu=1,requests.memory=100Mi", `pods "test-pod" is forbidden: exceeded quota: team, requested: cpu=2250m,limits.cpu=2250m, used: cpu=1,limits.cpu=1, limited: cpu=3,limits.cpu=3`},
		{"many", "all names are sorted", testkit.Kata, "pods=0,requests.memory=1Mi,cpu=1,limits.cpu=1,memory=1Mi,requests.cpu=1", "", `pods "test-pod" is forbidden: exceeded quota: team, requested: cpu=2250m,limits.cpu=2250m,memory=320Mi,pods=1,requests.cpu=2250m,requests.memory=320Mi, used: cpu=0,limits.cpu=0,memory=0,pods=0,requests.cpu=0,requests.memory=0, limited: cpu=1,limits.cpu=1,memory=1Mi,pods=0,requests.cpu=1,requests.memory=1Mi`},
		{"nothing used yet", "zero", testkit.Kata, "memory=300Mi", "", `pods "test-pod" is forbidden: exceeded quota: team, requested: memory=320Mi, used: memory=0, limited: memory=300Mi`},
		{"must specify", "overhead is no substitute; containers and init containers", "container b requests cpu=1\ncontainer a\ninit i limits cpu=1\noverhead cpu=1", "cpu=9,limits.cpu=9,requests.storage=1", "", `pods "test-pod" is forbidden: failed quota: team: must specify cpu for: a,i; limits.cpu for: a,b`},
		{"requests names", "requests.cpu is cpu", "container a requests cpu=1", "requests.cpu=1,requests.memory=1,memory=1,limits.memory=1", "", `pods "test-pod" is forbidden: failed quota: team: must specify limits.memory for: a; memory for: a; requests.memory for: a`},
		{"pod level instead", "supported resources of the whole pod satisfy it", "container a\nwhole limits cpu=1", "memory=1Gi", "", ""},
		{"pod level requests instead", "as limits", "container a\nwhole requests cpu=1", "memory=1Gi", "", ""},
		{"pod level of another name", "is no substitute", "container a\nwhole limits example.com/x=1", "memory=1Gi", "", `pods "test-pod" is forbidden: failed quota: team: must specify memory for: a`},
		{"quota of other things", "not of this pod", "container a", "services=0", "", ""},
	}, func(t *testing.T, c test) {
		err := Check("team", testkit.Resources(c.hard), testkit.Resources(c.used), testkit.Containers(c.pod), testkit.Epoch, release.Current)
		if c.want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, c.want)
		require.True(t, apierrors.IsForbidden(err))
	})
}

func TestNilPod(t *testing.T) {
	require.Equal(t, v1.ResourceList{}, Usage(nil, testkit.Epoch, release.Current))
	require.NoError(t, Check("q", nil, nil, nil, testkit.Epoch, release.Current))
}

// A quota counts a pod that is resized as the release does (rule L4.1).
func TestUsageOfReleases(t *testing.T) {
	pod := testkit.Containers("container a requests cpu=2\ncontainer b requests cpu=1\nstatus a requests cpu=1\nstatus b requests cpu=2")
	for _, v := range release.Versions() {
		want := "4"
		if v.AtLeast(release.V1_37) {
			want = "3"
		}
		got := Usage(pod, testkit.Epoch, v)["requests.cpu"]
		require.Equal(t, want, got.String(), v.String())
	}
}

// The two names of an amount are two amounts, and a check adds to neither what is used nor what the pod asks for, also where no int64
// holds the amount.
func TestAmountsAreNotShared(t *testing.T) {
	huge := func() v1.ResourceList { return v1.ResourceList{"cpu": resource.MustParse("123456789012345678901")} }
	pod := testkit.Pod("p").Obj()
	pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: huge()}}}
	usage := Usage(pod, testkit.Epoch, release.Current)
	one := usage["cpu"]
	one.Add(one)
	other := usage["requests.cpu"]
	require.Zero(t, other.Cmp(huge()["cpu"]))
	used := huge()
	require.Error(t, Check("q", huge(), used, pod, testkit.Epoch, release.Current))
	require.Zero(t, used.Cpu().Cmp(huge()["cpu"]))
}
