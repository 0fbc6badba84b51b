package pressure

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// Config is what a kubelet is told about eviction, field by field as in KubeletConfiguration. The maps go from signal to
// value. Compile takes it as it is; Default fills in what the kubelet fills in while it loads a configuration.
type Config struct {
	EvictionHard            map[string]string // nil: the defaults; empty: no thresholds
	EvictionSoft            map[string]string
	EvictionSoftGracePeriod map[string]string // durations as "1m30s"; every soft signal needs one
	EvictionMinimumReclaim  map[string]string
	// EvictionMaxPodGracePeriod limits the grace of pods that a soft threshold evicts, in seconds. 0 and negative values mean
	// one second (see Options.NegativeMaxGraceMeansPod).
	EvictionMaxPodGracePeriod int32
	// EvictionPressureTransitionPeriod is how long a condition stays true after the last observation that made it true. 0
	// after Default is five minutes; Compile reads 0 as: true as long as a threshold is met.
	EvictionPressureTransitionPeriod time.Duration
	EnforceNodeAllocatable           []string // with "pods" every hard memory threshold holds for the pods' cgroup, too
	MergeDefaultEvictionSettings     bool     // keep the defaults of hard thresholds that are not set
	// IgnoreLocalStorage turns the limits on emptyDirs and ephemeral storage off (localStorageCapacityIsolation: false).
	IgnoreLocalStorage bool
}

const defaultTransition = 5 * time.Minute

// defaultHard returns the hard thresholds of a kubelet without configuration. The documentation's table lacks
// imagefs.inodesFree, which was added later.
func defaultHard(goos string) map[string]string {
	hard := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "15%"}
	switch goos {
	case "linux":
		hard["nodefs.inodesFree"], hard["imagefs.inodesFree"] = "5%", "5%"
	case "windows":
		hard["memory.available"] = "500Mi"
	}
	return hard
}

// Default returns c as the kubelet completes it while it loads a configuration. goos is the node's operating system as Go
// and nodes name it: "linux", "windows", or another name for a system without defaults of its own. c is not modified.
//
//   - Hard thresholds: the defaults when EvictionHard is nil, or for the signals that are not set when
//     MergeDefaultEvictionSettings is true. One hard threshold without merging leaves the other signals unset.
//   - A transition period of five minutes when it is 0.
//   - Node allocatable enforced on pods when EnforceNodeAllocatable is nil.
func Default(c Config, goos string) Config {
	switch {
	case c.EvictionHard == nil:
		c.EvictionHard = defaultHard(goos)
	case c.MergeDefaultEvictionSettings:
		hard := defaultHard(goos)
		maps.Copy(hard, c.EvictionHard)
		c.EvictionHard = hard
	}
	if c.EvictionPressureTransitionPeriod == 0 {
		c.EvictionPressureTransitionPeriod = defaultTransition
	}
	if c.EnforceNodeAllocatable == nil {
		c.EnforceNodeAllocatable = []string{"pods"}
	}
	return c
}

// ParseThresholds reads the flag form of hard and soft thresholds, "memory.available<500Mi,nodefs.available<1Gi". Of a
// signal named twice the last counts. The values are checked by Compile.
func ParseThresholds(list string) (map[string]string, error) { return pairs(list, "<") }

// ParseSettings reads the flag form of grace periods and minimum reclaims, "memory.available=1m30s".
func ParseSettings(list string) (map[string]string, error) { return pairs(list, "=") }

func pairs(list, separator string) (map[string]string, error) {
	m := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		key, value, ok := strings.Cut(item, separator)
		if !ok {
			return nil, fmt.Errorf("malformed pair, expect string%sstring", separator)
		}
		m[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return m, nil
}
