package kubelet

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestOOMScoreAdj(t *testing.T) {
	const gi = int64(1) << 30
	type test struct {
		name, why, pod, container string
		want                      int
	}
	testkit.Run(t, []test{
		{"one gibibyte of ten", "1000 - 100", "container a requests memory=1Gi", "a", 900},
		{"half of the machine", "1000 - 500", "container a requests memory=5Gi", "a", 500},
		{"no memory request", "not more than 999", "container a requests cpu=1", "a", 999},
		{"the whole machine", "not less than 3", "container a requests memory=10Gi", "a", 3},
		{"twice the machine", "not less than 3", "container a requests memory=20Gi", "a", 3},
		{"overhead is no part", "still 900", "container a requests memory=1Gi\noverhead memory=4Gi", "a", 900},
		{"guaranteed", "a fixed value", testkit.Kata, "nginx-ctr", -997},
		{"best effort", "a fixed value", "container a", "a", 1000},
		{"sidecar beside larger containers", "no earlier than the smallest of them", "sidecar s requests memory=1Gi\ncontainer a requests memory=4Gi\ncontainer b requests memory=2Gi", "s", 800},
		{"sidecar beside larger containers the other way round", "the order of containers does not matter", "sidecar s requests memory=1Gi\ncontainer b requests memory=2Gi\ncontainer a requests memory=4Gi", "s", 800},
		{"larger sidecar", "its own request", "sidecar s requests memory=3Gi\ncontainer a requests memory=4Gi\ncontainer b requests memory=2Gi", "s", 700},
		{"plain init container", "no rule of sidecars", "init i requests memory=1Gi\ncontainer a requests memory=4Gi\ncontainer b requests memory=2Gi", "i", 900},
		{"pod level share", "half of the 3Gi that nobody names", "container c requests memory=1Gi\ncontainer d\nwhole requests memory=4Gi", "c", 750},
		{"pod level share of one without", "the same half", "container c requests memory=1Gi\ncontainer d\nwhole requests memory=4Gi", "d", 850},
		{"pod level with a sidecar", "a third each", "sidecar s\ncontainer c requests memory=1Gi\ncontainer d\nwhole requests memory=4Gi", "c", 800},
		{"sidecar with a share", "a third each", "sidecar s\ncontainer c requests memory=1Gi\ncontainer d\nwhole requests memory=4Gi", "s", 900},
		{"pod level without memory", "no share", "container c requests memory=1Gi\ncontainer d\nwhole requests cpu=1", "c", 900},
		{"sidecar without containers", "the smallest request is none", "sidecar s requests memory=1Gi", "s", 900},
		{"class in the status", "an unknown class is burstable", "container a requests memory=1Gi\nclass Golden", "a", 900},
		{"negative request", "a pod that asks for nothing positive is best effort", "container a requests memory=-1Gi", "a", 1000},
		{"negative request beside another", "as it is", "container a requests memory=-1Gi,cpu=1", "a", 1100},
		{"99.8 percent", "1000 - 998, but not less than 3", "container a requests memory=9.98Gi", "a", 3},
		{"89.95 percent", "1000 - 899: the share is rounded down", "container a requests memory=8.995Gi", "a", 101},
		{"pod level with one container", "it counts the whole", "container a requests memory=1Gi\nwhole requests memory=3Gi", "a", 700},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(c.pod)
		for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				if list[i].Name != c.container {
					continue
				}
				testkit.Unchanged(t, func() {
					got, err := OOMScoreAdj(pod, &list[i], 10*gi, release.Current)
					require.NoError(t, err)
					require.Equal(t, c.want, got)
				}, pod)
				return
			}
		}
		t.Fatal("no such container")
	})
	type more struct {
		name, pod string
		container *v1.Container
		capacity  int64
		want      int
	}
	testkit.Run(t, []more{
		{"a nil container requests nothing", "init i\ncontainer a requests memory=50", nil, 100, 999},
		{"a pod without containers", "whole requests memory=50", nil, 100, 999},
		{"a container of another pod is no sidecar", "sidecar s requests memory=50\ncontainer a requests memory=50", &v1.Container{Name: "other"}, 100, 999},
		{"a copy of a sidecar", "sidecar s\ncontainer a requests memory=50", testkit.Containers("container s").Spec.Containers[0].DeepCopy(), 100, 500},
		{"a sidecar that requests no memory, alone", "sidecar s requests cpu=1", &v1.Container{Name: "s"}, 100, 999},
		{"every byte counts", "container a requests memory=50", testkit.Containers("container a requests memory=50").Spec.Containers[0].DeepCopy(), 100, 500},
		{"no share of the pod's cpu", "container a requests memory=50\nwhole requests cpu=1", testkit.Containers("container a requests memory=50").Spec.Containers[0].DeepCopy(), 100, 500},
		{"a byte below 0", "container a requests memory=-1,cpu=1", testkit.Containers("container a requests memory=-1").Spec.Containers[0].DeepCopy(), 100, 1010},
		{"more than an int64 of thousandths", "container a requests memory=4Ei", testkit.Containers("container a requests memory=4Ei").Spec.Containers[0].DeepCopy(), math.MaxInt64, 500},
		{"far more than the machine", "container a requests memory=4Ei", testkit.Containers("container a requests memory=9223372036854775807").Spec.Containers[0].DeepCopy(), 1, 3},
	}, func(t *testing.T, c more) {
		got, err := OOMScoreAdj(testkit.Containers(c.pod), c.container, c.capacity, release.Current)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
	got, err := OOMScoreAdj(testkit.Containers(testkit.Kata), nil, 0, release.Current)
	require.Zero(t, got)
	require.EqualError(t, err, "memory capacity 0: must be greater than 0")
}

func TestOOMNodeCritical(t *testing.T) {
	type test struct {
		name, why, class string
		priority         int32
		annotations      map[string]string
		want             int
	}
	testkit.Run(t, []test{
		{"critical by priority", "class and priority", "system-node-critical", 2000001000, nil, -997},
		{"static pod", "class and a source other than api", "system-node-critical", 0, map[string]string{"kubernetes.io/config.source": "file"}, -997},
		{"mirror pod", "class and mirror", "system-node-critical", 0, map[string]string{"kubernetes.io/config.mirror": "x"}, -997},
		{"source api", "that is no static pod", "system-node-critical", 0, map[string]string{"kubernetes.io/config.source": "api"}, 1000},
		{"class alone", "neither static nor of that priority", "system-node-critical", 1000, nil, 1000},
		{"priority alone", "the class is needed", "", 2000001000, nil, 1000},
		{"cluster critical", "does not qualify", "system-cluster-critical", 2000000000, nil, 1000},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("p").Priority(c.priority).Obj()
		pod.Spec.PriorityClassName, pod.Annotations = c.class, c.annotations
		got, err := OOMScoreAdj(pod, &pod.Spec.Containers[0], 1, release.Current)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
}

// The documentation: the OOM killer adds oom_score_adj to the share of memory in use and takes the process with the largest
// sum.
func TestOOMOrder(t *testing.T) {
	in := []Process{
		{"kubelet", 1 << 30, -999},
		{"guaranteed", 6 << 30, guaranteedScore},
		{"burstable within its request", 1 << 30, 500},
		{"burstable far above its request", 4 << 30, 900},
		{"best effort", 1 << 20, bestEffortScore},
		{"init", 1 << 30, neverKilled},
		{"b twin", 0, -999},
		{"a twin", 0, -999},
	}
	order, err := OOMOrder(in, 10<<30)
	require.NoError(t, err)
	names := []string{}
	for _, p := range order {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"burstable far above its request", "best effort", "burstable within its request", "guaranteed", "kubelet", "a twin", "b twin"}, names)
	require.Equal(t, "kubelet", in[0].Name, "the argument keeps its order")
	order, err = OOMOrder([]Process{{"exact less", 1, 0}, {"exact more", 2, 0}}, math.MaxInt64)
	require.NoError(t, err)
	require.Equal(t, "exact more", order[0].Name)
	type test struct {
		name        string
		less, first Process
		capacity    int64
	}
	testkit.Run(t, []test{
		{"of equal scores the one with more memory", Process{"a", 0, 100}, Process{"b", 100, 0}, 1000},
		{"thousandths count exactly", Process{"a", 5, 0}, Process{"b", 0, 1}, 5003},
		{"a machine of one byte", Process{"a", 0, 500}, Process{"b", 1, 0}, 1},
	}, func(t *testing.T, c test) {
		order, err := OOMOrder([]Process{c.less, c.first}, c.capacity)
		require.NoError(t, err)
		require.Equal(t, []Process{c.first, c.less}, order)
	})
	_, err = OOMOrder(nil, 0)
	require.EqualError(t, err, "memory capacity 0: must be greater than 0")
	_, err = OOMOrder(nil, -1)
	require.EqualError(t, err, "memory capacity -1: must be greater than 0")
}
