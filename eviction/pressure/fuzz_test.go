package pressure

import (
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/release"
)

// source has the choices of this package.
type source struct{ *testkit.Bytes }

func newSource(data []byte) *source { return &source{testkit.NewBytes(data)} }

// number is unknown, small or the largest possible number.
func (s *source) number(huge bool) *uint64 {
	switch k := s.Below(8); {
	case k == 0:
		return nil
	case k == 1 && huge:
		u := uint64(math.MaxUint64) - uint64(s.Below(2))
		return &u
	}
	u := uint64(s.Below(12)) * 10
	return &u
}

func (s *source) usage(huge bool) FsUsage {
	return FsUsage{UsedBytes: s.number(huge), InodesUsed: s.number(huge)}
}

func (s *source) layout() Layout {
	return []Layout{singleFilesystem, dedicatedImages, splitImages}[s.Below(3)]
}

func (s *source) pods(huge bool) ([]*v1.Pod, map[types.UID]PodStats) {
	var pods []*v1.Pod
	m := map[types.UID]PodStats{}
	for k := range s.Below(6) {
		p := testkit.Pod(string(rune('a' + k))).Obj()
		if s.Below(3) > 0 {
			p.Spec.Containers[0].Resources.Requests = testkit.Resources([]string{"memory=50", "ephemeral-storage=60,memory=110", "memory=20,ephemeral-storage=10"}[s.Below(3)])
		}
		if s.Below(3) > 0 {
			priority := []int32{-1, 0, 1, 2000000000}[s.Below(4)]
			p.Spec.Priority = &priority
		}
		for range s.Below(3) {
			p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: []string{"v", "w"}[len(p.Spec.Volumes)], VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
		}
		pods = append(pods, p)
		if s.Below(4) == 0 {
			continue
		}
		st := PodStats{WorkingSetBytes: s.number(huge), Processes: s.number(huge), EphemeralStorageUsed: s.number(huge)}
		for range s.Below(3) {
			st.Containers = append(st.Containers, ContainerStats{Name: []string{"c", "d"}[s.Below(2)], WorkingSetBytes: s.number(huge), Rootfs: s.usage(huge), Logs: s.usage(huge)})
		}
		for range s.Below(3) {
			st.Volumes = append(st.Volumes, VolumeStats{Name: []string{"v", "w"}[s.Below(2)], FsUsage: s.usage(huge)})
		}
		m[p.UID] = st
	}
	return pods, m
}

// The ranking agrees with its comparators, read one by one, and does not depend on the order of the pods.
func checkRank(t *testing.T, data []byte) {
	s := newSource(data)
	pods, m := s.pods(false)
	l := s.layout()
	for _, signal := range Signals() {
		got := Rank(signal, l, pods, m, Options{})
		require.Len(t, got, len(pods))
		for i := range got {
			for j := i + 1; j < len(got); j++ {
				c := before(signal, l, got[i].Pod, got[j].Pod, m)
				require.LessOrEqual(t, c, 0, "%s: %s before %s", signal, got[i].Pod.Name, got[j].Pod.Name)
				if c == 0 {
					require.Less(t, got[i].Pod.Name, got[j].Pod.Name)
				}
			}
		}
		reversed := slices.Clone(pods)
		slices.Reverse(reversed)
		require.Equal(t, names(got), names(Rank(signal, l, reversed, m, Options{})))
	}
}

func FuzzRank(f *testing.F) {
	f.Add([]byte{4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})
	f.Fuzz(checkRank)
}

func TestRankOracle(t *testing.T) { manySeeds(t, 600, 120, checkRank) }

func manySeeds(t *testing.T, rounds, size int, check func(*testing.T, []byte)) {
	rng := rand.New(rand.NewSource(11))
	for range rounds {
		data := make([]byte, rng.Intn(size))
		rng.Read(data)
		check(t, data)
	}
}

func (s *source) config() Config {
	c := Config{EvictionHard: settings{}, EvictionSoft: settings{}, EvictionSoftGracePeriod: settings{}, EvictionMinimumReclaim: settings{}, IgnoreLocalStorage: true}
	for _, signal := range []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "pid.available"} {
		value := []string{"10", "30%", "70", "0%"}[s.Below(4)]
		switch s.Below(4) {
		case 0:
			c.EvictionHard[signal] = value
		case 1:
			c.EvictionSoft[signal] = value
			c.EvictionSoftGracePeriod[signal] = []string{"0s", "5s", "25s"}[s.Below(3)]
		case 2:
			c.EvictionHard[signal], c.EvictionSoft[signal], c.EvictionSoftGracePeriod[signal] = value, "80", "10s"
		}
		if s.Below(2) == 0 {
			c.EvictionMinimumReclaim[signal] = []string{"15", "5%"}[s.Below(2)]
		}
	}
	if s.Below(2) == 0 {
		c.EnforceNodeAllocatable = []string{"pods"}
	}
	c.EvictionPressureTransitionPeriod = []time.Duration{20 * time.Second, time.Minute}[s.Below(2)]
	return c
}

// FuzzDay compares a day of observations with the rules, read one by one. Arguments stay as they are, and only pods that
// may be evicted are evicted. Conditions do not flap: a condition is false only when no threshold of it was met within the
// transition period, and true only when one was.
func checkDay(t *testing.T, data []byte) {
	s := newSource(data)
	p := compile(t, s.config(), Options{})
	l := s.layout()
	state := State{Layout: l}
	slow := &slowKubelet{thresholds: p.Thresholds(l), transition: newSource(data).config().EvictionPressureTransitionPeriod, lastTrue: map[v1.NodeConditionType]time.Time{}}
	now := epoch
	metAt := map[v1.NodeConditionType]time.Time{}
	for range 12 {
		now = now.Add(time.Duration(s.Below(30)) * time.Second)
		signals := map[Signal]Measurement{}
		for _, signal := range Signals() {
			if s.Below(5) == 0 {
				continue
			}
			m := Measurement{Available: int64(s.Below(101)), Capacity: 100, Time: now}
			switch s.Below(5) {
			case 0:
				m.Time = now.Add(-20 * time.Second)
			case 1:
				m.Time = time.Time{}
			}
			signals[signal] = m
		}
		pods, m := s.pods(true)
		o := Observation{Signals: signals, Layout: l, Pods: pods, Stats: m}
		kept := stored(t, state)
		var next State
		var d Decision
		testkit.Unchanged(t, func() { next, d = p.Observe(state, o, now) }, pods...)
		require.Equal(t, kept, stored(t, state), "the state is not modified")
		on, actionable := slow.cycle(signals, now)

		require.Len(t, d.Conditions, len(on))
		for _, c := range d.Conditions {
			require.True(t, on[c], c)
		}
		var act []string
		for _, st := range d.Thresholds {
			if st.Met {
				metAt[st.Threshold.Signal.condition()] = now
			}
			if st.Actionable {
				act = append(act, st.Threshold.key())
			}
		}
		require.ElementsMatch(t, actionable, act)
		for _, c := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
			at, ever := metAt[c]
			require.Equal(t, ever && now.Sub(at) < slow.transition, slices.Contains(d.Conditions, c))
		}
		if len(act) == 0 {
			require.Nil(t, d.Acting)
			require.Nil(t, d.Eviction)
		} else {
			require.Equal(t, act[0], d.Acting.key(), "the first threshold in their order")
			require.Equal(t, slices.ContainsFunc(act, func(k string) bool { return k[0] == 'm' || k[0] == 'a' }), d.Acting.Signal.Resource() == "memory", "memory first")
			i := slices.IndexFunc(d.Ranking, func(r Ranked) bool { return r.Exempt == "" })
			require.Equal(t, i < 0, d.Eviction == nil)
			if i >= 0 {
				require.Equal(t, d.Ranking[i].Pod, d.Eviction.Pod)
				require.GreaterOrEqual(t, d.Eviction.GraceSeconds, int64(1))
				f := p.Forecast(*d.Acting, signals[d.Acting.Signal], o)
				if len(f.Steps) > 0 { // none when the threshold acts only for its minimum reclaim, which is reached
					require.Equal(t, d.Eviction.Pod, f.Steps[0].Pod)
				}
			}
		}
		if at, ok := p.NextChange(next, now); ok {
			require.True(t, at.After(now))
		}
		state = stored(t, next)
	}
}

func FuzzDay(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90})
	f.Fuzz(checkDay)
}

func TestDayOracle(t *testing.T) { manySeeds(t, 250, 900, checkDay) }

// Missing numbers and numbers out of any range do not panic.
func checkMissing(t *testing.T, data []byte) {
	s := newSource(data)
	memory := func() *MemoryStats {
		if s.Below(3) == 0 {
			return nil
		}
		return &MemoryStats{AvailableBytes: s.number(true), WorkingSetBytes: s.number(true)}
	}
	fs := func() *FsStats {
		if s.Below(3) == 0 {
			return nil
		}
		return &FsStats{AvailableBytes: s.number(true), CapacityBytes: s.number(true), InodesFree: s.number(true), Inodes: s.number(true)}
	}
	signals := Measure(NodeStats{Memory: memory(), PodsMemory: memory(), NodeFs: fs(), ImageFs: fs(), ContainerFs: fs()})
	p := compile(t, Config{EvictionHard: settings{"memory.available": "70%", "nodefs.available": "9000Pi", "nodefs.inodesFree": "99%", "imagefs.available": "15%"},
		EvictionMinimumReclaim: settings{"memory.available": "300%", "nodefs.available": "7Ei"}, EnforceNodeAllocatable: []string{"pods"}}, Options{})
	pods, m := s.pods(true)
	pods = append(pods, nil, &v1.Pod{})
	o := Observation{Signals: signals, Layout: s.layout(), Pods: pods, Stats: m}
	state, d := p.Observe(State{Layout: o.Layout}, o, epoch)
	p.Relieved(state, signals)
	for _, th := range d.Thresholds {
		if th.Measured != nil {
			p.Forecast(th.Threshold, *th.Measured, o)
		}
	}
	if d.Eviction != nil {
		require.NotEmpty(t, d.Eviction.Message)
	}
}

func FuzzMissing(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(checkMissing)
}

func TestMissing(t *testing.T) { manySeeds(t, 600, 160, checkMissing) }

// The pods that a critical pod displaces are enough, may be displaced, and are of no better class than needed.
func checkCritical(t *testing.T, data []byte) {
	s := newSource(data)
	critical := testkit.Pod("new").Priority(2000000000).Obj()
	var running []*v1.Pod
	for k := range s.Below(7) {
		p := testkit.Pod(string(rune('a' + k)))
		switch s.Below(4) {
		case 0:
			p.Request("cpu=" + []string{"1", "2"}[s.Below(2)])
		case 1:
			p.Request("cpu=1,memory=" + []string{"1Gi", "3Gi"}[s.Below(2)])
		case 2:
			p.Request("cpu=1,memory=2Gi").Limit("cpu=1,memory=2Gi")
		}
		if s.Below(6) == 0 {
			p.Priority(2000000000)
		}
		running = append(running, p.Obj())
	}
	missing := []Missing{{Name: v1.ResourceCPU, Amount: int64(s.Below(5)) * 900}, {Name: v1.ResourceMemory, Amount: int64(s.Below(5)) * gi}, {Name: v1.ResourcePods, Amount: int64(s.Below(2))}}
	gives := func(list []*v1.Pod, name v1.ResourceName) (sum int64) {
		for _, p := range list {
			q := p.Spec.Containers[0].Resources.Requests[name]
			switch name {
			case v1.ResourcePods:
				sum++
			case v1.ResourceCPU:
				sum += q.MilliValue()
			default:
				sum += q.Value()
			}
		}
		return sum
	}
	enough := func(list []*v1.Pod) bool {
		return !slices.ContainsFunc(missing, func(m Missing) bool { return gives(list, m.Name) < m.Amount })
	}
	may := slices.DeleteFunc(slices.Clone(running), func(p *v1.Pod) bool { return exempt(p) != "" })
	victims, err := CriticalVictims(critical, running, missing)
	if err != nil {
		require.False(t, enough(may), "possible, but refused")
		return
	}
	require.True(t, enough(victims))
	for _, v := range victims {
		require.Contains(t, may, v)
	}
	class := func(list []*v1.Pod, keep func(v1.PodQOSClass) bool) []*v1.Pod {
		return slices.DeleteFunc(slices.Clone(list), func(p *v1.Pod) bool { return !keep(kubelet.QoS(p, release.Current)) })
	}
	lower := class(may, func(c v1.PodQOSClass) bool { return c != v1.PodQOSGuaranteed })
	if enough(lower) {
		require.Empty(t, class(victims, func(c v1.PodQOSClass) bool { return c == v1.PodQOSGuaranteed }))
	}
	if enough(class(may, func(c v1.PodQOSClass) bool { return c == v1.PodQOSBestEffort })) {
		require.Empty(t, class(victims, func(c v1.PodQOSClass) bool { return c != v1.PodQOSBestEffort }))
	}
}

func FuzzCritical(f *testing.F) {
	f.Add([]byte{5, 0, 1, 1, 1, 2, 2, 3, 3, 1, 1, 1})
	f.Fuzz(checkCritical)
}

func TestCriticalLaws(t *testing.T) { manySeeds(t, 1500, 40, checkCritical) }
