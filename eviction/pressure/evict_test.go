package pressure

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// observe makes one observation with a new state and the layout single.
func observe(t *testing.T, p *Policy, o Observation) Decision {
	t.Helper()
	if o.Layout == "" {
		o.Layout = singleFilesystem
	}
	_, d := p.Observe(State{}, o, epoch)
	return d
}

func TestGrace(t *testing.T) {
	with := func(grace int64) *v1.Pod {
		p := pod("p", 0, "")
		p.Spec.TerminationGracePeriodSeconds = &grace
		return p
	}
	negative := Options{NegativeMaxGraceMeansPod: true}
	type test struct {
		name string
		soft bool
		max  int32
		pod  *v1.Pod
		o    Options
		want int64
	}
	testkit.Run(t, []test{
		{"hard", false, 60, with(30), Options{}, 1},
		{"soft takes the maximum", true, 5, with(30), Options{}, 5},
		{"soft takes the pod's", true, 60, with(30), Options{}, 30},
		{"soft without the pod's", true, 60, pod("p", 0, ""), Options{}, 60},
		{"soft without maximum", true, 0, with(30), Options{}, 1},
		{"pod with zero", true, 5, with(0), Options{}, 1},
		{"negative maximum", true, -1, with(30), Options{}, 1},
		{"negative maximum means the pod's", true, -1, with(30), negative, 30},
		{"negative maximum and none of the pod's", true, -1, pod("p", 0, ""), negative, 30},
		{"negative maximum means the pod's, shorter than the default", true, -1, with(20), negative, 20},
		{"the option changes nothing for a maximum", true, 5, with(30), negative, 5},
		{"the option changes nothing for a maximum and none of the pod's", true, 5, pod("p", 0, ""), negative, 5},
		{"the option changes nothing for no maximum", true, 0, with(30), negative, 1},
		{"the option changes nothing for no maximum and none of the pod's", true, 0, pod("p", 0, ""), negative, 1},
		{"the option changes nothing for hard", false, -1, with(30), negative, 1},
	}, func(t *testing.T, tc test) {
		c := Config{EvictionHard: settings{"memory.available": "1Gi"}, EvictionMaxPodGracePeriod: tc.max}
		if tc.soft {
			c = Config{EvictionSoft: settings{"memory.available": "1Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "1s"}, EvictionMaxPodGracePeriod: tc.max}
		}
		p := compile(t, c, tc.o)
		require.Equal(t, tc.want, p.graceSeconds(p.Thresholds("")[0], tc.pod))
	})
}

// A running termination can only become shorter.
func TestGraceOfTerminatingPod(t *testing.T) {
	p := compile(t, Config{EvictionSoft: settings{"memory.available": "2Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "1s"}, EvictionMaxPodGracePeriod: 40}, Options{})
	leaving := testkit.Pod("p").Terminating().Obj()
	for _, tc := range []struct{ ongoing, want int64 }{{10, 10}, {90, 40}, {0, 1}} {
		leaving.DeletionGracePeriodSeconds = &tc.ongoing
		state, _ := p.Observe(State{}, Observation{Layout: singleFilesystem, Signals: measured(memoryAvailable, "1Gi", "4Gi", since(0))}, since(0))
		_, d := p.Observe(state, Observation{Pods: []*v1.Pod{leaving}, Signals: measured(memoryAvailable, "1Gi", "4Gi", since(1))}, since(1))
		require.Equal(t, tc.want, d.Eviction.GraceSeconds)
		require.Equal(t, max(10*time.Second, time.Duration(tc.want)*1500*time.Millisecond), d.Eviction.WaitAtMost)
	}
}

// Only a termination with a grace of its own limits the grace.
func TestGraceOfOtherPods(t *testing.T) {
	ten := int64(10)
	leaving := testkit.Pod("leaving").Terminating().Obj()
	leaving.DeletionGracePeriodSeconds = nil
	staying := pod("staying", 0, "")
	staying.DeletionGracePeriodSeconds = &ten
	for _, p := range []*v1.Pod{leaving, staying} {
		require.Equal(t, int64(40), newEviction(p, 40, "").GraceSeconds, p.Name)
	}
}

func TestMessages(t *testing.T) {
	hard := func(signal, value string) *Policy {
		return compile(t, Config{EvictionHard: settings{signal: value}}, Options{})
	}
	whole := pod("whole", 0, "memory=100Mi")
	whole.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("memory=200Mi")}
	several := pod("several", 0, "memory=100Mi")
	several.Spec.Containers = append(several.Spec.Containers, v1.Container{Name: "d"})
	several.Spec.InitContainers = []v1.Container{{Name: "i"}}
	several.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e"}}}
	use := PodStats{WorkingSetBytes: n(gi)}
	for _, c := range []struct {
		container string
		mib       int64
	}{{"e", 9}, {"d", 1}, {"c", 100}, {"i", 2}} {
		use.Containers = append(use.Containers, ContainerStats{Name: c.container, WorkingSetBytes: n(c.mib * mi)})
	}
	half := disk(3, 4, 0)
	half.Containers[0].Logs.UsedBytes = nil
	type test struct {
		name        string
		policy      *Policy
		signals     map[Signal]Measurement
		pod         *v1.Pod
		use         *PodStats
		want        string
		annotations map[string]string
	}
	testkit.Run(t, []test{
		{"memory", hard("memory.available", "1Gi"), measured(memoryAvailable, "1073741823", "10Gi", epoch), pod("p", 0, "memory=100Mi"), ptr(memory(300 * mi)),
			"The node was low on resource: memory. Threshold quantity: 1Gi, available: 1073741823. Container c was using 300Mi, request is 100Mi, has larger consumption of memory. ",
			map[string]string{"starved_resource": "memory", "offending_containers": "c", "offending_containers_usage": "300Mi"}},
		{"request missing", hard("memory.available", "1Gi"), measured(memoryAvailable, "1Mi", "10Gi", epoch), pod("p", 0, ""), ptr(memory(300 * mi)),
			"The node was low on resource: memory. Threshold quantity: 1Gi, available: 1Mi. Container c was using 300Mi, request is 0, has larger consumption of memory. ",
			map[string]string{"starved_resource": "memory", "offending_containers": "c", "offending_containers_usage": "300Mi"}},
		{"no statistics", hard("memory.available", "1Gi"), measured(memoryAvailable, "1Mi", "10Gi", epoch), pod("p", 0, ""), nil,
			"The node was low on resource: memory. Threshold quantity: 1Gi, available: 1Mi. ", nil},
		{"pod level", hard("memory.available", "1Gi"), measured(memoryAvailable, "1Mi", "10Gi", epoch), whole, ptr(memory(300 * mi)),
			"The node was low on resource: memory. Threshold quantity: 1Gi, available: 1Mi. Pod whole was using 300Mi, request is 200Mi, has larger consumption of memory. Container c was using 300Mi, request is 100Mi, has larger consumption of memory. ",
			map[string]string{"starved_resource": "memory", "offending_containers": "c", "offending_containers_usage": "300Mi", "offending_pod": "whole", "offending_pod_usage": "300Mi"}},
		{"several containers in the order of the statistics", hard("memory.available", "1Gi"), measured(memoryAvailable, "1Mi", "10Gi", epoch), several, &use,
			"The node was low on resource: memory. Threshold quantity: 1Gi, available: 1Mi. Container d was using 1Mi, request is 0, has larger consumption of memory. Container i was using 2Mi, request is 0, has larger consumption of memory. ",
			map[string]string{"starved_resource": "memory", "offending_containers": "d,i", "offending_containers_usage": "1Mi,2Mi"}},
		{"inodes", hard("nodefs.inodesFree", "5%"), measured(nodeFsInodesFree, "1000", "102400", epoch), pod("p", 0, ""), ptr(disk(1, 1, 0)),
			"The node was low on resource: inodes. Threshold quantity: 5Ki, available: 1k. ",
			map[string]string{"starved_resource": "inodes", "offending_containers": "", "offending_containers_usage": ""}},
		{"disk", hard("nodefs.available", "1Gi"), measured(nodeFsAvailable, "1Mi", "10Gi", epoch), pod("p", 0, "ephemeral-storage=6Mi"), ptr(disk(3, 4, 0)),
			"The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 1Mi. Container c was using 7Mi, request is 6Mi, has larger consumption of ephemeral-storage. ",
			map[string]string{"starved_resource": "ephemeral-storage", "offending_containers": "c", "offending_containers_usage": "7Mi"}},
		{"disk with a number missing", hard("nodefs.available", "1Gi"), measured(nodeFsAvailable, "1Mi", "10Gi", epoch), pod("p", 0, ""), &half,
			"The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 1Mi. ",
			map[string]string{"starved_resource": "ephemeral-storage", "offending_containers": "", "offending_containers_usage": ""}},
		{"processes", hard("pid.available", "1k"), measured(pidAvailable, "10", "32768", epoch), pod("p", 0, ""), &PodStats{Processes: n(9)},
			"The node was low on resource: pids. Threshold quantity: 1k, available: 10. ",
			map[string]string{"starved_resource": "pids", "offending_containers": "", "offending_containers_usage": ""}},
	}, func(t *testing.T, tc test) {
		o := Observation{Signals: tc.signals, Pods: []*v1.Pod{tc.pod}}
		if tc.use != nil {
			o.Stats = stats(o.Pods, *tc.use)
		}
		e := observe(t, tc.policy, o).Eviction
		require.Equal(t, tc.want, e.Message)
		require.Equal(t, tc.annotations, e.Annotations)
		require.Equal(t, &v1.PodCondition{Type: "DisruptionTarget", Status: "True", Reason: "TerminationByKubelet", Message: tc.want}, e.Disrupted)
		require.Equal(t, "Evicted", Reason)
	})
}

func ptr[T any](v T) *T { return &v }

func TestChoice(t *testing.T) {
	p := compile(t, Config{EvictionHard: settings{"memory.available": "1Gi"}}, Options{})
	static, critical := pod("static", 0, ""), pod("critical", 2000000000, "")
	static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	pods := []*v1.Pod{static, critical, pod("small", 0, "")}
	o := Observation{Signals: measured(memoryAvailable, "1Mi", "4Gi", epoch), Pods: pods, Stats: stats(pods, memory(9*gi), memory(9*gi), memory(1))}
	d := observe(t, p, o)
	require.Equal(t, []string{"static", "small", "critical"}, names(d.Ranking))
	require.Equal(t, "small", d.Eviction.Pod.Name, "the first pod that is not exempt, however little it uses")
	require.Equal(t, "Attempting to reclaim memory", d.Event)

	o.Pods = pods[:2]
	d = observe(t, p, o)
	require.Nil(t, d.Eviction, "all are exempt")
	require.Equal(t, "Attempting to reclaim memory", d.Event)
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, d.Conditions)
}

func TestLocalStorage(t *testing.T) {
	empty := func(limit string, medium v1.StorageMedium) *v1.Pod {
		return withVolume(pod("p", 0, ""), v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: limitOf(limit), Medium: medium}})
	}
	limited := func(limits ...string) *v1.Pod {
		p := testkit.Pod("p").Limit(limits[0]).Obj()
		for i, l := range limits[1:] {
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: string(rune('d' + i)), Resources: v1.ResourceRequirements{Limits: testkit.Resources(l)}})
		}
		return p
	}
	total := func(mib int64) PodStats { return PodStats{EphemeralStorageUsed: n(mib * mi)} }
	volume := func(uses ...*uint64) (s PodStats) {
		for _, u := range uses {
			s.Volumes = append(s.Volumes, VolumeStats{Name: "data", FsUsage: FsUsage{UsedBytes: u}})
		}
		return s
	}
	exempt := empty("1Gi", "")
	exempt.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"}
	ended := empty("1Gi", "")
	ended.Status.Phase = v1.PodFailed
	both := empty("1Gi", "")
	both.Spec.Containers[0].Resources.Limits = testkit.Resources("ephemeral-storage=20Mi")
	overhead := limited("ephemeral-storage=20Mi")
	overhead.Spec.Overhead = testkit.Resources("ephemeral-storage=5Mi")
	bothUse := volume(n(gi + 1))
	bothUse.EphemeralStorageUsed = n(50 * mi)
	type test struct {
		name   string
		why    string
		layout Layout
		pod    *v1.Pod
		use    PodStats
		want   string
	}
	testkit.Run(t, []test{
		{"emptyDir above", "one byte over the size limit", singleFilesystem, empty("1Gi", ""), volume(n(gi + 1)), `Usage of EmptyDir volume "data" exceeds the limit "1Gi". `},
		{"emptyDir in memory above", "any medium", singleFilesystem, empty("1Gi", v1.StorageMediumMemory), volume(n(gi + 1)), `Usage of EmptyDir volume "data" exceeds the limit "1Gi". `},
		{"emptyDir equal", "usage equal to the limit is allowed", singleFilesystem, empty("1Gi", ""), volume(n(gi)), ""},
		{"emptyDir limit 0", "no limit", singleFilesystem, empty("0", ""), volume(n(gi)), ""},
		{"emptyDir twice in the statistics", "the last counts", singleFilesystem, empty("1Gi", ""), volume(n(gi+1), n(1)), ""},
		{"emptyDir without a number", "skipped", singleFilesystem, empty("1Gi", ""), volume(nil), ""},
		{"pod total above", "more than the limit of the only container", singleFilesystem, limited("ephemeral-storage=20Mi"), total(21), "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. "},
		{"pod total equal", "usage equal to the limit is allowed", singleFilesystem, limited("ephemeral-storage=20Mi"), total(20), ""},
		{"pod total with an unlimited container", "one limit caps the whole pod", singleFilesystem, limited("ephemeral-storage=20Mi", ""), total(21), "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. "},
		{"pod total of two", "the limits of the containers are added", singleFilesystem, limited("ephemeral-storage=20Mi", "ephemeral-storage=10Mi"), total(30), ""},
		{"pod total with overhead", "overhead adds where a limit exists", singleFilesystem, overhead, total(25), ""},
		{"pod without limits", "no container has a limit", singleFilesystem, limited(""), total(21), ""},
		{"pod limit 0", "any use", singleFilesystem, limited("ephemeral-storage=0"), total(1), "Pod ephemeral local storage usage exceeds the total limit of containers 0. "},
		{"pod total unknown", "counts 0", singleFilesystem, limited("ephemeral-storage=20Mi"), PodStats{}, ""},
		{"container above", "logs and writable layer", singleFilesystem, limited("ephemeral-storage=10Mi"), disk(6, 5, 0), `Container c exceeded its local ephemeral storage limit "10Mi". `},
		{"container equal", "usage equal to the limit is allowed", singleFilesystem, limited("ephemeral-storage=10Mi"), disk(5, 5, 0), ""},
		{"container with images apart", "only logs", dedicatedImages, limited("ephemeral-storage=10Mi"), disk(60, 5, 0), ""},
		{"container with images split", "only logs", splitImages, limited("ephemeral-storage=10Mi"), disk(60, 11, 0), `Container c exceeded its local ephemeral storage limit "10Mi". `},
		{"container limit 0", "skipped", singleFilesystem, limited("ephemeral-storage=0"), disk(60, 5, 0), ""},
		{"first hit decides", "the emptyDir", singleFilesystem, both, bothUse, `Usage of EmptyDir volume "data" exceeds the limit "1Gi". `},
		{"exempt", "the kubelet never evicts such a pod", singleFilesystem, exempt, volume(n(gi + 1)), ""},
		{"ended", "a finished pod is not active", singleFilesystem, ended, volume(n(gi + 1)), ""},
	}, func(t *testing.T, tc test) {
		pods := []*v1.Pod{tc.pod}
		got := localStorage(tc.layout, pods, stats(pods, tc.use), release.Current)
		if tc.want == "" {
			require.Empty(t, got)
			return
		}
		require.Equal(t, []Eviction{{Pod: tc.pod, GraceSeconds: 1, WaitAtMost: 10 * time.Second, Message: tc.want}}, got)
	})
	two := []*v1.Pod{empty("1Gi", ""), nil, pod("quiet", 0, ""), empty("1Gi", "")}
	two[3].UID, two[3].Name = "other", "q"
	m := stats([]*v1.Pod{two[0], two[3]}, volume(n(gi+1)), volume(n(gi+1)))
	require.Len(t, localStorage(singleFilesystem, two, m, release.Current), 2, "all offenders at once")

	p := compile(t, Config{EvictionHard: settings{"memory.available": "1Gi"}}, Options{})
	o := Observation{Signals: measured(memoryAvailable, "1Mi", "4Gi", epoch), Pods: two, Stats: m}
	d := observe(t, p, o)
	require.Len(t, d.LocalStorage, 2)
	require.Nil(t, d.Acting, "the cycle ends")
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, d.Conditions)
	off := compile(t, Config{EvictionHard: settings{"memory.available": "1Gi"}, IgnoreLocalStorage: true}, Options{})
	require.Empty(t, observe(t, off, o).LocalStorage)
}

func TestAdmit(t *testing.T) {
	all := []v1.NodeConditionType{v1.NodePIDPressure, v1.NodeDiskPressure, v1.NodeMemoryPressure}
	memoryOnly, diskOnly := all[2:], all[1:2]
	static := pod("p", 0, "")
	static.Annotations = map[string]string{"kubernetes.io/config.source": "http"}
	tolerant := testkit.Pod("p").Tolerate(v1.TaintNodeMemoryPressure, v1.TolerationOpExists, "", v1.TaintEffectNoSchedule).Obj()
	other := testkit.Pod("p").Tolerate(v1.TaintNodeMemoryPressure, v1.TolerationOpExists, "", v1.TaintEffectNoExecute).Obj()
	type test struct {
		name string
		pod  *v1.Pod
		on   []v1.NodeConditionType
		want string
	}
	testkit.Run(t, []test{
		{"no pressure", pod("p", 0, ""), nil, ""},
		{"other conditions", pod("p", 0, ""), []v1.NodeConditionType{v1.NodeReady, v1.NodeNetworkUnavailable}, ""},
		{"critical", pod("p", 2000000000, ""), all, ""},
		{"static under all", static, all, ""},
		{"burstable under memory", pod("p", 0, "cpu=1"), memoryOnly, ""},
		{"best effort under memory", pod("p", 0, ""), memoryOnly, "The node had condition: [MemoryPressure]. "},
		{"tolerant best effort under memory", tolerant, memoryOnly, ""},
		{"tolerant of another effect", other, memoryOnly, "The node had condition: [MemoryPressure]. "},
		{"burstable under disk", pod("p", 0, "cpu=1"), diskOnly, "The node had condition: [DiskPressure]. "},
		{"tolerant under memory and disk", tolerant, all[1:], "The node had condition: [MemoryPressure DiskPressure]. "},
		{"all three", pod("p", 0, "cpu=1"), all, "The node had condition: [MemoryPressure DiskPressure PIDPressure]. "},
	}, func(t *testing.T, tc test) {
		ok, message := Admit(tc.pod, tc.on)
		require.Equal(t, tc.want == "", ok)
		require.Equal(t, tc.want, message)
	})
}

func TestCriticalVictims(t *testing.T) {
	critical := pod("critical", 2000000000, "memory=1Gi")
	best := func(name string) *v1.Pod { return pod(name, 0, "") }
	burst := func(name, requests string) *v1.Pod { return pod(name, 0, requests) }
	full := func(name, list string) *v1.Pod {
		return testkit.Pod(name).Priority(0).Request(list).Limit(list).Obj()
	}
	mem := func(mib int64) []Missing {
		return []Missing{{Name: v1.ResourceMemory, Amount: mib * mi}}
	}
	unset := testkit.Pod("unset").Request("memory=1Gi").Obj()
	static := unset.DeepCopy()
	static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	type test struct {
		name    string
		why     string
		pod     *v1.Pod
		running []*v1.Pod
		missing []Missing
		want    []string
		err     string
	}
	testkit.Run(t, []test{
		{"nothing missing", "the pod fits already", critical, []*v1.Pod{burst("a", "memory=1Gi")}, nil, nil, ""},
		{"nearest request", "the smallest that covers leaves nothing open", critical, []*v1.Pod{burst("large", "memory=800Mi"), burst("fits", "memory=110Mi"), burst("small", "memory=50Mi")}, mem(100), []string{"fits"}, ""},
		{"nearest when none covers", "900 leaves 10 percent open", critical, []*v1.Pod{burst("a", "memory=500Mi"), burst("b", "memory=900Mi"), burst("c", "memory=300Mi")}, mem(1000), []string{"b", "c"}, ""},
		{"guaranteed last", "burstable alone covers it", critical, []*v1.Pod{full("g", "cpu=1,memory=1Gi"), burst("b", "memory=1Gi")}, mem(100), []string{"b"}, ""},
		{"guaranteed for the rest only", "1 of 2Gi from burstable", critical, []*v1.Pod{full("g2", "cpu=1,memory=2Gi"), full("g1", "cpu=1,memory=1Gi"), burst("b", "memory=1Gi")}, mem(2048), []string{"b", "g1"}, ""},
		{"best effort gives pods", "one place", critical, []*v1.Pod{best("x"), burst("b", "memory=1Gi")}, []Missing{{Name: v1.ResourcePods, Amount: 1}}, []string{"x"}, ""},
		{"equal pods", "the later goes, and the last of all takes its place", critical, []*v1.Pod{burst("m", "cpu=1,memory=1Gi"), burst("n", "cpu=1,memory=1Gi"), burst("o", "cpu=2,memory=1Gi"), burst("p", "cpu=1,memory=1Gi")},
			[]Missing{{Name: v1.ResourceCPU, Amount: 3500}}, []string{"o", "p", "n"}, ""},
		{"ties", "equal distance: smaller memory, then smaller cpu", critical, []*v1.Pod{burst("m", "cpu=3,memory=2Gi"), burst("n", "cpu=2,memory=1Gi"), burst("o", "cpu=1,memory=1Gi")}, []Missing{{Name: v1.ResourceCPU, Amount: 500}}, []string{"o"}, ""},
		{"two resources", "sum of squares", critical, []*v1.Pod{burst("cpu", "cpu=1"), burst("memory", "memory=1Gi"), burst("half", "cpu=600m,memory=600Mi")},
			[]Missing{{Name: v1.ResourceCPU, Amount: 1000}, {Name: v1.ResourceMemory, Amount: 1000 * mi}}, []string{"half", "cpu", "memory"}, ""},
		{"impossible", "all pods together free too little", critical, []*v1.Pod{burst("b", "memory=100Mi")}, []Missing{{Name: v1.ResourceMemory, Amount: 100*mi + 100}}, nil,
			"preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: memory, q: 100), ]"},
		{"critical pods stay", "equal priority", critical, []*v1.Pod{pod("peer", 2000000000, "memory=1Gi")}, mem(1), nil,
			"preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: memory, q: 1048576), ]"},
		{"lower critical goes", "both priorities set", pod("node", 2000001000, ""), []*v1.Pod{pod("cluster", 2000000000, "memory=1Gi")}, mem(1), []string{"cluster"}, ""},
		{"static displaces pods without priority", "critical against not critical", static, []*v1.Pod{unset}, mem(1), []string{"unset"}, ""},
		{"lower priority goes", "though the new one is not critical", pod("p", 5, ""), []*v1.Pod{pod("q", 4, "memory=1Gi"), unset, nil}, mem(1), []string{"q"}, ""},
	}, func(t *testing.T, tc test) {
		got, err := CriticalVictims(tc.pod, tc.running, tc.missing)
		if tc.err != "" {
			require.EqualError(t, err, tc.err)
			return
		}
		require.NoError(t, err)
		var list []string
		for _, p := range got {
			list = append(list, p.Name)
		}
		require.Equal(t, tc.want, list)
	})
}

// One and a half times the largest grace period does not fit into a duration. The wait is the longest duration then, not
// ten seconds.
func TestWaitOfHugeGrace(t *testing.T) {
	require.Equal(t, 10*time.Second, waitFor(1))
	require.Equal(t, 45*time.Second, waitFor(30))
	for _, grace := range []int64{9223372037, 10000000000, math.MaxInt64} {
		require.Equal(t, time.Duration(math.MaxInt64), waitFor(grace))
	}
}
