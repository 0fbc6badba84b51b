package pressure

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
)

// Value 10% of 100Gi and 5Gi of minimum reclaim: in single precision 15Gi is not enough.
func TestRelieved(t *testing.T) {
	c := Config{EvictionHard: settings{"nodefs.available": "10%"}, EvictionMinimumReclaim: settings{"nodefs.available": "5Gi"},
		EvictionSoft: settings{"memory.available": "2Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "1h"}}
	p := compile(t, c, Options{})
	state, d := p.Observe(State{}, Observation{Layout: singleFilesystem, Signals: measured(nodeFsAvailable, "1Gi", "100Gi", epoch)}, epoch)
	require.Equal(t, []string{deadContainers, unusedImages}, d.Reclaim)
	type test struct {
		name    string
		signals map[Signal]Measurement
		want    bool
	}
	testkit.Run(t, []test{
		{"15Gi is not enough", measured(nodeFsAvailable, "15Gi", "100Gi", epoch), false},
		{"15361Mi is", measured(nodeFsAvailable, "15361Mi", "100Gi", epoch), true},
		{"an unrelated soft threshold within its grace", map[Signal]Measurement{
			nodeFsAvailable: {Available: 99 * gi, Capacity: 100 * gi}, memoryAvailable: {Available: gi, Capacity: 10 * gi}}, false},
		{"a threshold of the writable layers", measured(containerFsAvailable, "1Gi", "100Gi", epoch), false},
		{"nothing measured", nil, true},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, p.Relieved(state, tc.signals))
	})
	exact := compile(t, c, Options{ExactPercent: true})
	require.True(t, exact.Relieved(state, measured(nodeFsAvailable, "15Gi", "100Gi", epoch)))
}

func TestStatus(t *testing.T) {
	p := compile(t, Config{EvictionHard: settings{"memory.available": "10%"}, EvictionMinimumReclaim: settings{"memory.available": "1Gi"},
		EvictionSoft: settings{"nodefs.available": "1Gi"}, EvictionSoftGracePeriod: settings{"nodefs.available": "1m"}}, Options{})
	m := Measurement{Available: 5 * gi, Capacity: 10 * gi, Time: epoch}
	low := Measurement{Available: 1, Capacity: 10 * gi, Time: epoch}
	_, d := p.Observe(State{}, Observation{Layout: singleFilesystem, Signals: map[Signal]Measurement{memoryAvailable: m, nodeFsAvailable: low}}, epoch)
	require.Len(t, d.Thresholds, 2)
	require.Equal(t, "1073741840", d.Thresholds[0].Value.String())
	require.Equal(t, 1073741840+gi, d.Thresholds[0].Target.Value())
	require.Equal(t, &m, d.Thresholds[0].Measured)
	require.False(t, d.Thresholds[0].Met)
	soft := d.Thresholds[1]
	require.True(t, soft.Met)
	require.False(t, soft.Due || soft.Actionable)
	require.Equal(t, epoch, soft.Since)
}

func TestNothingConfigured(t *testing.T) {
	p := compile(t, Config{IgnoreLocalStorage: true}, Options{})
	before := State{Conditions: []v1.NodeConditionType{v1.NodeDiskPressure}}
	after, d := p.Observe(before, Observation{Signals: measured(memoryAvailable, "0", "1", epoch)}, epoch)
	require.Equal(t, before, after)
	require.Equal(t, Decision{Conditions: before.Conditions}, d)
}

// A share that is no number keeps nothing free, and a share beyond every capacity keeps all.
func TestAmountOfOddShares(t *testing.T) {
	for text, share := range map[string]float32{"0": float32(math.NaN()), "9223372036854775807": float32(math.Inf(1)), "50": 0.5} {
		q := thresholdValue{Percent: true, Share: share}.amount(100, Options{})
		require.Equal(t, text, q.AsDec().String())
	}
	all := thresholdValue{Percent: true, Share: 1}.amount(math.MaxInt64, Options{})
	require.Equal(t, int64(math.MaxInt64), all.Value())
	for text, want := range map[string]bool{"1.2.3": false, "": false, "1e1": false, "-1": false, "12.5": true, "+7": true, ".5": true} {
		n, ok := thresholdValue{Percent: true, text: text}.exact(1000)
		require.Equal(t, want, ok, text)
		require.Equal(t, map[string]int64{"12.5": 125, "+7": 70, ".5": 5}[text], n, text)
	}
	_, ok := thresholdValue{Percent: true, text: strings.Repeat("1", 64)}.exact(0)
	require.True(t, ok, "64 characters are read")
	_, ok = thresholdValue{Percent: true, text: strings.Repeat("1", 65)}.exact(0)
	require.False(t, ok)
}

// A pod whose status names no allocated resources is as its spec says.
func TestNothingAllocated(t *testing.T) {
	pod := &v1.Pod{}
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "a"}}
	require.Same(t, pod, allocated(pod))
}

func TestNextChange(t *testing.T) {
	p := compile(t, Config{EvictionSoft: settings{"memory.available": "2Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "30s"}, EvictionPressureTransitionPeriod: time.Minute}, Options{})
	_, ok := p.NextChange(State{}, epoch)
	require.False(t, ok)
	state, _ := p.Observe(State{}, Observation{Layout: singleFilesystem, Signals: measured(memoryAvailable, "1Gi", "4Gi", epoch)}, epoch)
	next, ok := p.NextChange(state, epoch)
	require.True(t, ok)
	require.Equal(t, since(30), next, "the soft threshold becomes due")
	next, ok = p.NextChange(state, since(30))
	require.True(t, ok)
	require.Equal(t, since(60), next, "the condition ends")
	_, ok = p.NextChange(state, since(60))
	require.False(t, ok)
}

func TestForecast(t *testing.T) {
	p := compile(t, Config{EvictionHard: settings{"memory.available": "1Gi"}, EvictionMinimumReclaim: settings{"memory.available": "500Mi"}}, Options{})
	threshold := p.Thresholds("")[0]
	pods, use := ranked()
	pods = append(pods, pod("critical", 2000000000, ""))
	use = append(use, PodStats{}, memory(9*gi))
	use[len(pods)-1].WorkingSetBytes = n(9 * gi)
	o := Observation{Layout: singleFilesystem, Pods: pods, Stats: stats(pods, use...)}
	delete(o.Stats, pods[8].UID) // pods without statistics
	f := p.Forecast(threshold, Measurement{Available: gi - 1, Capacity: 10 * gi}, o)
	require.Equal(t, "1524Mi", f.Target.String())
	require.True(t, f.Cleared)
	var steps []string
	for _, s := range f.Steps {
		steps = append(steps, s.Pod.Name)
		require.Equal(t, int64(1), s.GraceSeconds)
	}
	require.Equal(t, []string{"nostats", "be-250", "over-200"}, steps)
	require.Equal(t, []int64{0, 250 * mi, 300 * mi}, []int64{f.Steps[0].Frees, f.Steps[1].Frees, f.Steps[2].Frees})
	require.Equal(t, gi-1+550*mi, f.Steps[2].Available)

	short := p.Forecast(threshold, Measurement{Available: -20 * gi, Capacity: 10 * gi}, o)
	require.False(t, short.Cleared)
	require.Len(t, short.Steps, 9, "all but the exempt pod")
	fine := p.Forecast(threshold, Measurement{Available: 2 * gi, Capacity: 10 * gi}, o)
	require.True(t, fine.Cleared)
	require.Empty(t, fine.Steps)
}

// A forecast begins with the pod that Observe evicts.
func TestForecastAgreesWithObserve(t *testing.T) {
	p := compile(t, Config{EvictionHard: settings{"nodefs.available": "1Gi"}}, Options{})
	pods, use := diskPods()
	o := Observation{Layout: singleFilesystem, Pods: pods, Stats: stats(pods, use...), Signals: measured(nodeFsAvailable, "1023Mi", "100Gi", epoch)}
	d := observe(t, p, o)
	f := p.Forecast(*d.Acting, o.Signals[nodeFsAvailable], o)
	require.Equal(t, d.Eviction.Pod, f.Steps[0].Pod)
	require.True(t, f.Cleared)
	require.Len(t, f.Steps, 1)
	require.Equal(t, 51*mi, f.Steps[0].Frees)
}

// The documentation's node of 10Gi reserves 500Mi for eviction and 1.5Gi for the system.
func TestAllocatable(t *testing.T) {
	hard := settings{"memory.available": "500Mi"}
	capacity := testkit.Resources("memory=10Gi")
	got, err := overhead.Allocatable(capacity, overhead.Reservations{System: testkit.Resources("memory=1.5Gi"), EvictionHard: hard})
	require.NoError(t, err)
	require.Equal(t, 8204*mi, got.Memory().Value())

	p := compile(t, Config{EvictionHard: hard}, Options{})
	use := func(share float64) Observation {
		available := int64(float64(10*gi) * (1 - share))
		return Observation{Signals: map[Signal]Measurement{memoryAvailable: {Available: available, Capacity: 10 * gi}}}
	}
	require.Empty(t, observe(t, p, use(0.95)).Conditions, "512Mi are left")
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, observe(t, p, use(0.952)).Conditions)
}

func TestThresholdKey(t *testing.T) {
	p := compile(t, Config{EvictionHard: settings{"memory.available": "1Gi"}, EvictionSoft: settings{"memory.available": "1Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "1m"}}, Options{})
	th := p.Thresholds("")
	require.Equal(t, []string{"memory.available<1Gi/0s", "memory.available<1Gi/1m0s"}, []string{th[0].key(), th[1].key()}, "the hard and the soft threshold of a signal have different keys")
	require.True(t, th[0].hard())
	require.False(t, th[1].hard())
}

// A threshold with 30 s of grace is due at the first observation from 30 s on, whatever the pace: there is no interval but the
// caller's.
func TestAnyPace(t *testing.T) {
	p := compile(t, Config{EvictionSoft: settings{"memory.available": "2Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "30s"}}, Options{})
	for pace, want := range map[float64]float64{1: 30, 7: 35, 10: 30, 45: 45} {
		state, at := State{}, 0.0
		for ; ; at += pace {
			var d Decision
			state, d = p.Observe(state, Observation{Layout: singleFilesystem, Signals: measured(memoryAvailable, "1Gi", "4Gi", since(at))}, since(at))
			if d.Acting != nil {
				break
			}
			require.Less(t, at, 100.0, "every %v s: nothing acts", pace)
		}
		require.Equal(t, want, at, "every %v s", pace)
	}
}
