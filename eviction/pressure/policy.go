package pressure

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Options select rules that differ from v1.37. The zero value is v1.37's behaviour.
type Options struct {
	// Release is the kubelet's release (rule L12.2).
	Release release.Version

	ExactPercent             bool // percentages are exact decimals, not single-precision floats
	InodeUsageOnly           bool // rank by number of inodes alone; v1.37 subtracts the ephemeral-storage request in bytes
	NegativeMaxGraceMeansPod bool // a negative EvictionMaxPodGracePeriod gives pods their own grace, as an earlier documentation said
	KeepOrder                bool // equal pods stay in the caller's order; v1.37 orders them by age, then by name
}

// Policy is a checked configuration. It is immutable and safe for concurrent use.
type Policy struct {
	thresholds []Threshold // without the thresholds of containerfs, which follow from the layout
	// shadowed are keys of hard thresholds from which no containerfs threshold follows, because a soft threshold with a
	// grace of 0s takes their place (rule E2.9b).
	shadowed   []string
	warnings   []string
	maxGrace   int64
	transition time.Duration
	local      bool
	options    Options
}

// ConfigError is a wrong value in a [Config]. Its text is the kubelet's error at start.
type ConfigError struct {
	Field  string // evictionHard, evictionSoft, evictionSoftGracePeriod or evictionMinimumReclaim
	Signal string
	error
}

// Compile checks a configuration and returns its policy (rules E2.1 to E2.11). It takes c without defaults: pass Default(c,
// os) to get what a kubelet with that configuration does. Thresholds of "0%" or "100%" are dropped. Thresholds of
// containerfs are ignored (see Warnings). The error is a [ConfigError] about the first wrong value: hard, soft, grace,
// reclaim, each by signal, and then a soft threshold without grace.
func Compile(c Config, o Options) (*Policy, error) {
	p := &Policy{maxGrace: int64(c.EvictionMaxPodGracePeriod), transition: c.EvictionPressureTransitionPeriod, local: !c.IgnoreLocalStorage, options: o}
	hard, err := parseValues("evictionHard", c.EvictionHard, parseThreshold)
	if err != nil {
		return nil, err
	}
	soft, err := parseValues("evictionSoft", c.EvictionSoft, parseThreshold)
	if err != nil {
		return nil, err
	}
	grace, err := parseValues("evictionSoftGracePeriod", c.EvictionSoftGracePeriod, parseGrace)
	if err != nil {
		return nil, err
	}
	reclaim, err := parseValues("evictionMinimumReclaim", c.EvictionMinimumReclaim, parseReclaim)
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Sorted(maps.Keys(hard)) {
		if v := hard[s]; v != nil {
			p.add(Threshold{Signal: s, Value: *v, MinReclaim: reclaim[s]}, "hard")
		}
	}
	for _, s := range slices.Sorted(maps.Keys(soft)) {
		v := soft[s]
		if v == nil {
			continue
		}
		g, ok := grace[s]
		if !ok {
			return nil, &ConfigError{"evictionSoft", string(s), fmt.Errorf("grace period must be specified for the soft eviction threshold %s", s)}
		}
		t := Threshold{Signal: s, Value: *v, Grace: g, MinReclaim: reclaim[s]}
		if first := hard[s]; t.hard() && first != nil {
			if old := (Threshold{Signal: s, Value: *first}).key(); old != t.key() {
				p.shadowed = append(p.shadowed, old)
			}
		}
		p.add(t, "soft")
	}
	if slices.Contains(c.EnforceNodeAllocatable, "pods") {
		for _, t := range p.thresholds {
			if t.Signal == memoryAvailable && t.hard() {
				t.Signal = allocatableMemoryAvailable
				p.thresholds = append(p.thresholds, t)
			}
		}
	}
	slices.SortStableFunc(p.thresholds, compareThresholds)
	return p, nil
}

func (p *Policy) add(t Threshold, kind string) {
	if t.Signal == containerFsAvailable || t.Signal == containerFsInodesFree {
		p.warnings = append(p.warnings, fmt.Sprintf("found %s for %s eviction. ignoring", t.Signal, kind))
		return
	}
	p.thresholds = append(p.thresholds, t)
}

// Warnings returns the settings that [Compile] ignored: thresholds of containerfs, the file system of the writable layers.
// Those follow from the thresholds of nodefs or imagefs. The kubelet logs only the last ignored setting.
func (p *Policy) Warnings() []string { return slices.Clone(p.warnings) }

// Thresholds returns the thresholds that hold on a node with this layout, in the order in which they act: the configured
// thresholds, a copy of the hard memory thresholds for the cgroup of all pods, and the thresholds of the writable layers.
// With an empty layout there are no thresholds of the writable layers, as in the kubelet's first cycle.
func (p *Policy) Thresholds(l Layout) []Threshold {
	list := slices.Clone(p.thresholds)
	for _, t := range p.thresholds {
		if slices.Contains(p.shadowed, t.key()) {
			continue
		}
		switch source := l.containerSource(); {
		case source == imageFsAvailable && t.Signal == imageFsAvailable, source == nodeFsAvailable && t.Signal == nodeFsAvailable:
			t.Signal = containerFsAvailable
		case source == imageFsAvailable && t.Signal == imageFsInodesFree, source == nodeFsAvailable && t.Signal == nodeFsInodesFree:
			t.Signal = containerFsInodesFree
		default:
			continue
		}
		list = append(list, t)
	}
	slices.SortStableFunc(list, compareThresholds)
	return list
}

// parseValues parses one map, in the order of the signals.
func parseValues[T any](name string, m map[string]string, parse func(signal, text string) (T, error)) (map[Signal]T, error) {
	out := make(map[Signal]T, len(m))
	for _, s := range slices.Sorted(maps.Keys(m)) {
		if !Signal(s).known() {
			return nil, &ConfigError{name, s, fmt.Errorf("unsupported eviction signal %s", s)}
		}
		v, err := parse(s, m[s])
		if err != nil {
			return nil, &ConfigError{name, s, err}
		}
		out[Signal(s)] = v
	}
	return out, nil
}

// parseThreshold returns nil for the two values that disable a threshold.
func parseThreshold(signal, text string) (*thresholdValue, error) {
	if text == "0%" || text == "100%" {
		return nil, nil
	}
	if strings.HasSuffix(text, "%") {
		v, err := parsePercent(text)
		switch {
		case err != nil:
			return nil, err
		case v.Share > 1:
			return nil, fmt.Errorf("eviction percentage threshold %s must be <= 100%%: %s", signal, text)
		case !(v.Share >= 0): // also true for NaN
			return nil, fmt.Errorf("eviction percentage threshold %s must be >= 0%%: %s", signal, text)
		}
		return &v, nil
	}
	q, err := resources.ParseQuantity(text)
	if err != nil {
		return nil, err
	}
	if q.Sign() <= 0 {
		return nil, fmt.Errorf("eviction threshold %s must be positive: %s", signal, q.String())
	}
	return &thresholdValue{Quantity: q}, nil
}

func parseReclaim(signal, text string) (thresholdValue, error) {
	if strings.HasSuffix(text, "%") {
		v, err := parsePercent(text)
		if err == nil && !(v.Share > 0) {
			err = fmt.Errorf("eviction percentage minimum reclaim %s must be positive: %s", signal, text)
		}
		return v, err
	}
	q, err := resources.ParseQuantity(text)
	if err == nil && q.Sign() < 0 {
		err = fmt.Errorf("negative eviction minimum reclaim specified for %s", signal)
	}
	return thresholdValue{Quantity: q}, err
}

// parsePercent reads a percentage in single precision, as the kubelet does.
func parsePercent(text string) (thresholdValue, error) {
	number := strings.TrimRight(text, "%")
	f, err := strconv.ParseFloat(number, 32)
	if err != nil {
		return thresholdValue{}, err
	}
	return thresholdValue{Percent: true, Share: float32(f) / 100, text: number}, nil
}

func parseGrace(signal, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, err
	}
	if d < 0 {
		return 0, fmt.Errorf("invalid eviction grace period specified: %s, must be a positive value", text)
	}
	return d, nil
}
