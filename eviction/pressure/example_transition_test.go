package pressure_test

import (
	"fmt"
	"time"

	"github.com/podberth/podberth/eviction/pressure"
)

// A node swings around its threshold (oscillation): 400 MiB are available, then 600, and so on. The condition does not swing with it: it
// stays until memory was sufficient for eviction-pressure-transition-period. The kubelet looks every ten seconds
// (housekeeping-interval); the example prints a line a minute.
func ExampleConfig() {
	policy, err := pressure.Compile(pressure.Default(pressure.Config{
		EvictionHard:                     map[string]string{"memory.available": "500Mi"},
		EvictionPressureTransitionPeriod: 2 * time.Minute,
	}, "linux"), pressure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var state pressure.State
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for minute, available := range []uint64{400, 600, 400, 600, 600, 600} {
		now := start.Add(time.Duration(minute) * time.Minute)
		used := (8<<10 - available) << 20
		var decision pressure.Decision
		state, decision = policy.Observe(state, pressure.Observation{
			Signals: pressure.Measure(pressure.NodeStats{Memory: pressure.CgroupMemory(8<<30, used, 0, now)}), Layout: "single",
		}, now)
		fmt.Println(now.Format("15:04"), available, "MiB", decision.Conditions)
	}
	// Output:
	// 12:00 400 MiB [MemoryPressure]
	// 12:01 600 MiB [MemoryPressure]
	// 12:02 400 MiB [MemoryPressure]
	// 12:03 600 MiB [MemoryPressure]
	// 12:04 600 MiB []
	// 12:05 600 MiB []
}
