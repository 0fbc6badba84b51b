package overhead

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// printed gives "shares=2 quota=- period=- memory=-".
func printed(g Cgroup) string {
	value := func(p *int64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(*p)
	}
	return fmt.Sprintf("shares=%d quota=%s period=%s memory=%s", g.Shares, value(g.QuotaMicros), value(g.PeriodMicros), value(g.MemoryBytes))
}

func TestPodCgroup(t *testing.T) {
	for _, c := range []struct {
		name, why, pod string
		o              CgroupOptions
		want           string
	}{
		{"kata cgroup", "the documents' example: everything includes overhead", kata, CgroupOptions{}, "shares=2304 quota=225000 period=100000 memory=335544320"},
		{"best effort cgroup", "overhead has no effect", "container a\noverhead cpu=250m,memory=120Mi", CgroupOptions{}, "shares=2 quota=- period=- memory=-"},
		{"one container without cpu limit", "memory is declared, cpu is not", "container c requests cpu=1 limits memory=1Gi\ncontainer d limits memory=1Gi,cpu=2\noverhead cpu=250m,memory=120Mi,ephemeral-storage=1Gi,example.com/x=1", CgroupOptions{}, "shares=1280 quota=- period=- memory=2273312768"},
		{"pod level cgroup", "a limit of the pod declares for all", "container a requests cpu=1,memory=1Gi\nwhole requests cpu=500m limits cpu=2,memory=4Gi", CgroupOptions{}, "shares=512 quota=200000 period=100000 memory=4294967296"},
		{"init without limits after a limited sidecar", "the step has the sidecar's limit", "sidecar s limits cpu=1,memory=1Gi\ninit i\ncontainer a requests cpu=1 limits cpu=1,memory=1Gi", CgroupOptions{}, "shares=1024 quota=200000 period=100000 memory=2147483648"},
		{"init without limits before a limited sidecar", "the step has no limit", "init i\nsidecar s limits cpu=1,memory=1Gi\ncontainer a requests cpu=1 limits cpu=1,memory=1Gi", CgroupOptions{}, "shares=1024 quota=- period=- memory=-"},
		{"limits not enforced", "the quota is removed", kata, CgroupOptions{IgnoreCPULimits: true}, "shares=2304 quota=-1 period=100000 memory=335544320"},
		{"short period", "10 ms", kata, CgroupOptions{PeriodMicros: 10000}, "shares=2304 quota=22500 period=10000 memory=335544320"},
		{"unknown class in the status", "treated as best effort", kata + "\nclass Golden", CgroupOptions{}, "shares=2 quota=- period=- memory=-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, c.pod)
			testkit.Unchanged(t, func() { require.Equal(t, c.want, printed(PodCgroup(pod, c.o)), c.why) }, pod)
		})
	}
	require.EqualValues(t, 88, PodCgroup(podOf(t, kata), CgroupOptions{}).Weight)
}

func TestHugePages(t *testing.T) {
	g := PodCgroup(podOf(t, "container a requests hugepages-2Mi=4Mi,cpu=1\ncontainer b requests hugepages-2Mi=2Mi,hugepages-1Gi=1Gi"), CgroupOptions{})
	require.Equal(t, map[string]int64{"2Mi": 6 << 20, "1Gi": 1 << 30}, g.HugePages)
	require.Nil(t, PodCgroup(podOf(t, kata), CgroupOptions{}).HugePages)
}

func TestSandbox(t *testing.T) {
	overhead, containers := Sandbox(podOf(t, kata), CgroupOptions{})
	require.Equal(t, "shares=256 quota=25000 period=100000 memory=125829120", printed(overhead))
	require.Equal(t, "shares=2048 quota=200000 period=100000 memory=209715200", printed(containers))
	overhead, _ = Sandbox(nil, CgroupOptions{})
	require.Equal(t, "shares=2 quota=0 period=100000 memory=0", printed(overhead))
}

func TestSharesAndQuota(t *testing.T) {
	for _, c := range []struct{ milli, shares, quota int64 }{
		{0, 2, 0}, {1, 2, 1000}, {3, 3, 1000}, {10, 10, 1000}, {100, 102, 10000}, {500, 512, 50000}, {300000, 262144, 30000000},
		{math.MaxInt64, 262144, math.MaxInt64 / 1000}, {-5, 2, 1000},
	} {
		require.Equal(t, c.shares, Shares(c.milli), c.milli)
		require.Equal(t, c.quota, Quota(c.milli, DefaultPeriod), c.milli)
	}
	for _, c := range []struct{ shares, weight int64 }{{2, 1}, {1024, 39}, {2304, 88}, {262143, 9999}, {262144, 10000}, {math.MaxInt64, 10000}, {0, 1}} {
		require.Equal(t, c.weight, Weight(c.shares), c.shares)
	}
}

func TestOOMScoreAdj(t *testing.T) {
	const gi = int64(1) << 30
	for _, c := range []struct {
		name, why, pod, container string
		want                      int
	}{
		{"one gibibyte of ten", "1000 - 100", "container a requests memory=1Gi", "a", 900},
		{"half of the machine", "1000 - 500", "container a requests memory=5Gi", "a", 500},
		{"no memory request", "not more than 999", "container a requests cpu=1", "a", 999},
		{"the whole machine", "not less than 3", "container a requests memory=10Gi", "a", 3},
		{"twice the machine", "not less than 3", "container a requests memory=20Gi", "a", 3},
		{"overhead is no part", "still 900", "container a requests memory=1Gi\noverhead memory=4Gi", "a", 900},
		{"guaranteed", "a fixed value", kata, "nginx-ctr", -997},
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
		{"negative request", "as it is", "container a requests memory=-1Gi", "a", 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, c.pod)
			for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for i := range list {
					if list[i].Name != c.container {
						continue
					}
					testkit.Unchanged(t, func() {
						got, err := OOMScoreAdj(pod, &list[i], 10*gi)
						require.NoError(t, err)
						require.Equal(t, c.want, got, c.why)
					}, pod)
					return
				}
			}
			t.Fatal("no such container")
		})
	}
	_, err := OOMScoreAdj(podOf(t, kata), nil, 0)
	require.EqualError(t, err, "memory capacity 0: must be greater than 0")
}

func TestOOMNodeCritical(t *testing.T) {
	for _, c := range []struct {
		name, why, class string
		priority         int32
		annotations      map[string]string
		want             int
	}{
		{"critical by priority", "class and priority", "system-node-critical", 2000001000, nil, -997},
		{"static pod", "class and a source other than api", "system-node-critical", 0, map[string]string{"kubernetes.io/config.source": "file"}, -997},
		{"mirror pod", "class and mirror", "system-node-critical", 0, map[string]string{"kubernetes.io/config.mirror": "x"}, -997},
		{"source api", "that is no static pod", "system-node-critical", 0, map[string]string{"kubernetes.io/config.source": "api"}, 1000},
		{"class alone", "neither static nor of that priority", "system-node-critical", 1000, nil, 1000},
		{"priority alone", "the class is needed", "", 2000001000, nil, 1000},
		{"cluster critical", "does not qualify", "system-cluster-critical", 2000000000, nil, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := testkit.Pod("p").Priority(c.priority).Obj()
			pod.Spec.PriorityClassName, pod.Annotations = c.class, c.annotations
			got, err := OOMScoreAdj(pod, &pod.Spec.Containers[0], 1)
			require.NoError(t, err)
			require.Equal(t, c.want, got, c.why)
		})
	}
}

// The documents: the killer adds oom_score_adj to the share of the machine in use, and takes the largest.
func TestOOMOrder(t *testing.T) {
	in := []Process{
		{"kubelet", 1 << 30, ServiceOOMScore},
		{"guaranteed", 6 << 30, GuaranteedOOMScore},
		{"burstable within its request", 1 << 30, 500},
		{"burstable far above its request", 4 << 30, 900},
		{"best effort", 1 << 20, BestEffortOOMScore},
		{"init", 1 << 30, NeverKilled},
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
	_, err = OOMOrder(nil, -1)
	require.EqualError(t, err, "memory capacity -1: must be greater than 0")
}

func TestAllocatable(t *testing.T) {
	for _, c := range []struct {
		name, why, capacity, kube, system string
		eviction                          map[string]string
		want                              string
	}{
		{"nothing reserved", "allocatable is the capacity", "cpu=4,memory=10Gi,pods=110", "", "", nil, "cpu=4,memory=10Gi,pods=110"},
		{"the documents' node", "10Gi - 1.5Gi - 500Mi", "memory=10Gi", "", "memory=1.5Gi", map[string]string{"memory.available": "500Mi"}, "memory=8204Mi"},
		{"all three", "kube, system and both thresholds", "cpu=16,memory=32Gi,ephemeral-storage=100Gi", "cpu=1,memory=2Gi,ephemeral-storage=1Gi", "cpu=500m,memory=1Gi,ephemeral-storage=1Gi", map[string]string{"memory.available": "500Mi", "nodefs.available": "10%"}, "cpu=14500m,ephemeral-storage=94489280352,memory=29196Mi"},
		{"single precision", "10% of 100Gi is 10737418400", "memory=100Gi", "", "", map[string]string{"memory.available": "10%"}, "memory=96636764000"},
		{"disabled thresholds", "0% and 100% keep nothing", "memory=1Gi,ephemeral-storage=1Gi", "", "", map[string]string{"memory.available": "0%", "nodefs.available": "100%"}, "ephemeral-storage=1Gi,memory=1Gi"},
		{"other signals", "keep nothing", "memory=1Gi", "", "", map[string]string{"imagefs.available": "15%", "nodefs.inodesFree": "nonsense"}, "memory=1Gi"},
		{"more reserved than there is", "not below zero", "cpu=1,memory=1Gi", "cpu=2,memory=2Gi", "", nil, "cpu=0,memory=0"},
		{"reservation of an unknown resource", "ignored", "cpu=1", "example.com/x=1", "", nil, "cpu=1"},
		{"huge pages", "leave the memory", "memory=8Gi,hugepages-1Gi=2Gi,hugepages-2Mi=512Mi", "hugepages-2Mi=512Mi", "memory=1Gi", nil, "hugepages-1Gi=2Gi,hugepages-2Mi=0,memory=4608Mi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Allocatable(amountsOf(t, c.capacity), Reservations{amountsOf(t, c.kube), amountsOf(t, c.system), c.eviction})
			require.NoError(t, err)
			require.Equal(t, c.want, show(got), c.why)
		})
	}
	for _, c := range []struct{ name, text, want string }{
		{"no number", "abc%", `evictionHard[memory.available]: strconv.ParseFloat: parsing "abc": invalid syntax`},
		{"above", "101%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be <= 100%: 101%"},
		{"infinite", "1e99%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be <= 100%: 1e99%"},
		{"below", "-1%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be >= 0%: -1%"},
		{"not a number", "NaN%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be >= 0%: NaN%"},
		{"not positive", "0", "evictionHard[memory.available]: eviction threshold memory.available must be positive: 0"},
		{"no quantity", "x", `evictionHard[memory.available]: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Allocatable(amountsOf(t, "memory=1Gi"), Reservations{EvictionHard: map[string]string{"memory.available": c.text}})
			require.EqualError(t, err, c.want)
		})
	}
}
