package pressure

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// Config is a kubelet's configuration of eviction, with the fields of KubeletConfiguration. The maps go from signal to
// value. Compile takes a Config as it is; Default sets the fields that the kubelet sets when it loads a configuration.
type Config struct {
	EvictionHard            map[string]string // nil: the defaults; empty: no thresholds
	EvictionSoft            map[string]string
	EvictionSoftGracePeriod map[string]string // durations such as "1m30s"; every soft signal needs one
	EvictionMinimumReclaim  map[string]string
	// EvictionMaxPodGracePeriod limits the grace of pods that a soft threshold evicts, in seconds. 0 and negative values
	// mean one second (see Options.NegativeMaxGraceMeansPod).
	EvictionMaxPodGracePeriod int32
	// EvictionPressureTransitionPeriod is how long a condition stays true after the last observation that made it true.
	// Default changes 0 to five minutes. For Compile 0 means that a condition is true only while a threshold is met.
	EvictionPressureTransitionPeriod time.Duration
	EnforceNodeAllocatable           []string // with "pods" every hard memory threshold also holds for the cgroup of all pods
	MergeDefaultEvictionSettings     bool     // keep the defaults of hard thresholds that are not set
	// IgnoreLocalStorage turns off the limits on emptyDirs and ephemeral storage (localStorageCapacityIsolation: false).
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

// Default returns c with the fields that the kubelet sets when it loads a configuration (rules E2.13 and E2.14). goos is
// the node's operating system as Go and nodes name it: "linux", "windows", or another name for a system without defaults of
// its own. c is not modified.
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

// ParseThresholds reads the kubelet's flags --eviction-hard and --eviction-soft,
// "memory.available<500Mi,nodefs.available<10%". An empty list gives no thresholds. A part without "<" is an error. Compile
// checks the values.
//
// The documentation says that a signal cannot have both a quantity and a percentage. The kubelet accepts a signal that has
// several values and uses the last one. ParseThresholds does the same and returns a warning for each value that is not
// used.
func ParseThresholds(list string) (thresholds map[string]string, warnings []string, err error) {
	return pairs(list, "<")
}

// ParseSettings reads the kubelet's flags --eviction-soft-grace-period and --eviction-minimum-reclaim,
// "memory.available=1m30s". Of several values of a signal the last one is used, with a warning, as [ParseThresholds] does. A
// part without "=" is an error.
func ParseSettings(list string) (settings map[string]string, warnings []string, err error) {
	return pairs(list, "=")
}

func pairs(list, separator string) (m map[string]string, warnings []string, err error) {
	m = map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		key, value, ok := strings.Cut(item, separator)
		if !ok {
			return nil, nil, fmt.Errorf("malformed pair, expect string%sstring", separator)
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if old, again := m[key]; again && old != value {
			warnings = append(warnings, fmt.Sprintf("%s has the values %s and %s: the kubelet uses the last one, %s", key, old, value, value))
		}
		m[key] = value
	}
	return m, warnings, nil
}
