package pressure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// ranked has the pods of the memory example, in another order than the answer.
func ranked() ([]*v1.Pod, []PodStats) {
	pods := []*v1.Pod{
		pod("guaranteed", 0, "memory=1000Mi"), pod("nomem", 0, ""), pod("exact", 0, "memory=100Mi"), pod("neg", -10, "memory=500Mi"), pod("hi", 1000, ""),
		pod("over-1", 0, "memory=200Mi"), pod("over-200", 0, "memory=100Mi"), pod("be-250", 0, ""), pod("nostats", 1000, ""),
	}
	none := memory(0)
	none.WorkingSetBytes = nil
	return pods, []PodStats{memory(900 * mi), none, memory(100 * mi), memory(100 * mi), memory(500 * mi), memory(201 * mi), memory(300 * mi), memory(250 * mi)}
}

func TestRankMemory(t *testing.T) {
	pods, use := ranked()
	for _, signal := range []Signal{memoryAvailable, allocatableMemoryAvailable} {
		got := Rank(signal, singleFilesystem, pods, stats(pods, use...), Options{})
		require.Equal(t, []string{"nostats", "be-250", "over-200", "over-1", "hi", "neg", "exact", "nomem", "guaranteed"}, names(got))
		require.Equal(t, "be-250", got[1].Pod.Name)
		require.False(t, got[0].Measured)
		require.True(t, got[1].Exceeds)
		require.Equal(t, []int64{300 * mi, 100 * mi}, []int64{got[2].Usage, got[2].Request})
		require.False(t, got[6].Exceeds, "equal does not exceed")
	}
}

// The documentation's order: BestEffort and Burstable pods above their requests, by priority and excess; then Guaranteed
// pods and Burstable pods below their requests, by priority. Another chapter says that pods below their requests are never
// evicted. That is wrong.
func TestRankQualityOfService(t *testing.T) {
	guaranteed := testkit.Pod("guaranteed").Priority(10).Request("cpu=1,memory=1Gi").Limit("cpu=1,memory=1Gi").Obj()
	below := pod("burstable-below", 5, "memory=1Gi")
	above := pod("burstable-above", 20, "memory=100Mi")
	best := pod("best-effort", 20, "")
	pods := []*v1.Pod{guaranteed, below, above, best}
	got := Rank(memoryAvailable, singleFilesystem, pods, stats(pods, memory(900*mi), memory(900*mi), memory(300*mi), memory(250*mi)), Options{})
	require.Equal(t, []string{"best-effort", "burstable-above", "burstable-below", "guaranteed"}, names(got))
}

func diskPods() ([]*v1.Pod, []PodStats) {
	pods := []*v1.Pod{
		pod("zero", 0, ""), pod("req", 0, "ephemeral-storage=150Mi"),
		withVolume(pod("vol", 0, ""), v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}),
		pod("root", 0, ""), pod("logs", 0, ""),
	}
	for i, p := range pods { // among equal pods the older one is last: logs root vol zero
		start := metav1.NewTime(epoch.Add(time.Duration([]int{1, 0, 2, 3, 4}[i]) * time.Minute))
		p.Status.StartTime = &start
	}
	return pods, []PodStats{disk(0, 0, 0), disk(100, 100, 0), disk(2, 1, 40), disk(50, 1, 0), disk(1, 30, 0)}
}

func TestRankDisk(t *testing.T) {
	pods, use := diskPods()
	type test struct {
		name   string
		signal Signal
		layout Layout
		o      Options
		want   []string
		usage  []int64 // in MiB, or inodes
	}
	testkit.Run(t, []test{
		{"single nodefs", nodeFsAvailable, singleFilesystem, Options{}, []string{"root", "req", "vol", "logs", "zero"}, []int64{51, 200, 43, 31, 0}},
		{"single imagefs", imageFsAvailable, singleFilesystem, Options{}, []string{"root", "req", "vol", "logs", "zero"}, []int64{51, 200, 43, 31, 0}},
		{"dedicated nodefs", nodeFsAvailable, dedicatedImages, Options{}, []string{"vol", "logs", "root", "zero", "req"}, []int64{41, 30, 1, 0, 100}},
		{"dedicated imagefs", imageFsAvailable, dedicatedImages, Options{}, []string{"root", "vol", "logs", "zero", "req"}, []int64{50, 2, 1, 0, 100}},
		{"dedicated containerfs", containerFsAvailable, dedicatedImages, Options{}, []string{"root", "vol", "logs", "zero", "req"}, []int64{50, 2, 1, 0, 100}},
		{"single inodes", nodeFsInodesFree, singleFilesystem, Options{}, []string{"root", "vol", "logs", "req", "zero"}, []int64{510, 430, 310, 2000, 0}},
		{"single inodes by usage only", nodeFsInodesFree, singleFilesystem, Options{InodeUsageOnly: true}, []string{"req", "root", "vol", "logs", "zero"}, []int64{2000, 510, 430, 310, 0}},
		{"split nodefs", nodeFsAvailable, splitImages, Options{}, []string{"root", "req", "vol", "logs", "zero"}, []int64{51, 200, 43, 31, 0}},
		{"split containerfs", containerFsAvailable, splitImages, Options{}, []string{"root", "req", "vol", "logs", "zero"}, []int64{51, 200, 43, 31, 0}},
		{"split imagefs", imageFsAvailable, splitImages, Options{}, []string{"logs", "root", "vol", "zero", "req"}, []int64{0, 0, 0, 0, 0}},
		{"split imagefs in the caller's order", imageFsAvailable, splitImages, Options{KeepOrder: true}, []string{"zero", "vol", "root", "logs", "req"}, []int64{0, 0, 0, 0, 0}},
	}, func(t *testing.T, tc test) {
		got := Rank(tc.signal, tc.layout, pods, stats(pods, use...), tc.o)
		require.Equal(t, tc.want, names(got))
		for i, want := range tc.usage {
			if tc.signal.Resource() != "inodes" {
				want *= mi
			}
			require.Equal(t, want, got[i].Usage, got[i].Pod.Name)
		}
	})
}

func TestRankProcesses(t *testing.T) {
	pods := []*v1.Pod{pod("few", 0, ""), pod("many", 0, ""), pod("low", -1, ""), pod("unmeasured", 0, ""), pod("no-number", 0, "")}
	got := Rank(pidAvailable, singleFilesystem, pods,
		stats([]*v1.Pod{pods[0], pods[1], pods[2], pods[4]}, PodStats{Processes: n(5)}, PodStats{Processes: n(500)}, PodStats{Processes: n(1)}, PodStats{}), Options{})
	require.Equal(t, []string{"low", "unmeasured", "many", "few", "no-number"}, names(got))
	require.Equal(t, int64(500), got[2].Usage)
	require.Zero(t, got[2].Request)
}

func TestRankTies(t *testing.T) {
	at := func(p *v1.Pod, minute int) *v1.Pod {
		start := metav1.NewTime(epoch.Add(time.Duration(minute) * time.Minute))
		p.Status.StartTime = &start
		return p
	}
	twin := testkit.Pod("b/same").Obj()
	twin.UID = "uid-0"
	pods := []*v1.Pod{at(pod("b/old", 0, ""), 1), at(pod("b/young", 0, ""), 9), pod("b/same", 0, ""), pod("a/zz", 0, ""), twin, pod("b/first", 0, "")}
	got := Rank(memoryAvailable, singleFilesystem, pods, nil, Options{})
	require.Equal(t, []string{"zz", "first", "same", "same", "young", "old"}, names(got))
	require.Equal(t, twin, got[2].Pod, "UID decides between equal names")
}

// A negative request does not make a pod exceed it by more than it uses.
func TestRankNegativeRequest(t *testing.T) {
	pods := []*v1.Pod{pod("a", 0, "memory=-1"), pod("b", 0, "memory=0")}
	ranking := Rank(memoryAvailable, singleFilesystem, pods, stats(pods, memory(10), memory(10)), Options{})
	require.Equal(t, []int64{10, 10}, []int64{ranking[0].excess, ranking[1].excess})
	require.Equal(t, []int64{-1, 0}, []int64{ranking[0].Request, ranking[1].Request})
	require.EqualValues(t, 0, asks(pods[0], v1.ResourceMemory), "the pod gives nothing back")
}

func TestRankActive(t *testing.T) {
	ended, failed, leaving := pod("ended", 0, ""), pod("failed", 0, ""), testkit.Pod("leaving").Terminating().Obj()
	ended.Status.Phase, failed.Status.Phase, leaving.Status.Phase = v1.PodSucceeded, v1.PodFailed, v1.PodFailed
	got := Rank(memoryAvailable, singleFilesystem, []*v1.Pod{ended, failed, leaving, nil, pod("running", 0, "")}, nil, Options{})
	require.Equal(t, []string{"leaving", "running"}, names(got))
}

// The request of a pod by its spec, its overhead and its resized resources.
func TestRequest(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	whole := pod("pod-level", 0, "memory=1Gi")
	whole.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("memory=300Mi")}
	wholeAllocated := whole.DeepCopy()
	wholeAllocated.Status.AllocatedResources = testkit.Resources("memory=200Mi")
	starting := pod("init", 0, "memory=100Mi")
	starting.Spec.InitContainers = []v1.Container{
		{Name: "s", RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: testkit.Resources("memory=50Mi")}},
		{Name: "i", Resources: v1.ResourceRequirements{Requests: testkit.Resources("memory=400Mi")}},
	}
	resized := starting.DeepCopy()
	resized.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", AllocatedResources: testkit.Resources("memory=700Mi")}}
	resized.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "s", AllocatedResources: testkit.Resources("memory=60Mi")}, {Name: "i", AllocatedResources: testkit.Resources("memory=9Gi")}}
	overhead := pod("overhead", 0, "memory=100Mi")
	overhead.Spec.Overhead = testkit.Resources("memory=20Mi")
	onlyOverhead := pod("only-overhead", 0, "")
	onlyOverhead.Spec.Overhead = testkit.Resources("memory=20Mi")
	type test struct {
		name   string
		pod    *v1.Pod
		signal Signal
		want   int64
	}
	testkit.Run(t, []test{
		{"pod level memory replaces", whole, memoryAvailable, 300 * mi},
		{"pod level memory as allocated", wholeAllocated, memoryAvailable, 200 * mi},
		{"init container beside the sidecar before it", starting, memoryAvailable, 450 * mi},
		{"resized containers count as allocated", resized, memoryAvailable, 760 * mi},
		{"overhead on top", overhead, memoryAvailable, 120 * mi},
		{"overhead alone does not count", onlyOverhead, memoryAvailable, 0},
		{"ephemeral storage", pod("disk", 0, "ephemeral-storage=1Gi,memory=5Gi"), nodeFsAvailable, gi},
		{"none for inodes", pod("disk", 0, "ephemeral-storage=1Gi"), nodeFsInodesFree, 0},
		{"none for processes", pod("disk", 0, "memory=1Gi"), pidAvailable, 0},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, Rank(tc.signal, singleFilesystem, []*v1.Pod{tc.pod}, nil, Options{})[0].Request)
	})
}

func TestLocalVolumes(t *testing.T) {
	use := PodStats{Volumes: []VolumeStats{{Name: "data", FsUsage: FsUsage{UsedBytes: n(7), InodesUsed: n(3)}}, {Name: "data", FsUsage: FsUsage{UsedBytes: n(100)}}}}
	type test struct {
		name   string
		source v1.VolumeSource
		local  bool
		frees  int64
	}
	testkit.Run(t, []test{
		{"hostPath", v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}, true, 0},
		{"emptyDir", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, true, 7},
		{"emptyDir in memory", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}, false, 0},
		{"emptyDir in huge pages", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumHugePages}}, false, 0},
		{"configMap", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, true, 7},
		{"gitRepo", v1.VolumeSource{GitRepo: &v1.GitRepoVolumeSource{}}, true, 7},
		{"secret", v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}, false, 0},
		{"projected", v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}, false, 0},
		{"claim", v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}, false, 0},
		{"csi", v1.VolumeSource{CSI: &v1.CSIVolumeSource{}}, false, 0},
	}, func(t *testing.T, tc test) {
		pods := []*v1.Pod{withVolume(pod("p", 0, ""), tc.source)}
		got := Rank(nodeFsAvailable, singleFilesystem, pods, stats(pods, use), Options{})[0].Usage
		if tc.local {
			require.Equal(t, int64(7), got, "only the first statistics of a name count")
		} else {
			require.Zero(t, got)
		}
		require.Equal(t, tc.frees, frees(nodeFsAvailable, singleFilesystem, pods[0], stats(pods, use)))
	})
}

func TestExempt(t *testing.T) {
	annotated := func(key, value string) *v1.Pod {
		p := pod("p", 0, "")
		p.Annotations = map[string]string{key: value}
		return p
	}
	class := testkit.Pod("p").Obj()
	class.Spec.PriorityClassName = "system-node-critical"
	type test struct {
		name string
		pod  *v1.Pod
		want string
	}
	testkit.Run(t, []test{
		{"static", annotated("kubernetes.io/config.source", "file"), "static pod"},
		{"from the API server", annotated("kubernetes.io/config.source", "api"), ""},
		{"mirror", annotated("kubernetes.io/config.mirror", ""), "mirror pod"},
		{"critical priority", pod("p", 2000000000, ""), "critical priority"},
		{"just below", pod("p", 1999999999, ""), ""},
		{"only the class name", class, ""},
		{"daemon set", testkit.Pod("p").Owner("apps/v1", "DaemonSet", "d").Obj(), ""},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, exempt(tc.pod))
	})
}

func limitOf(q string) *resource.Quantity {
	v := resource.MustParse(q)
	return &v
}
