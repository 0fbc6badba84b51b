package taint

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config holds the parameters of the node lifecycle controller (rule XZ2.1). The zero value has v1.37's defaults. A
// duration of 0 and a nil pointer mean the default.
type Config struct {
	MonitorPeriod time.Duration // --node-monitor-period, 5 s: time between two monitor passes of a Forecast
	GracePeriod   time.Duration // --node-monitor-grace-period, 50 s (40 s up to v1.31)
	StartupGrace  time.Duration // --node-startup-grace-period, 60 s: for a node that has never had a Ready condition

	EvictionRate       *float32 // --node-eviction-rate, 0.1 nodes per second in each zone; 0: never
	SecondaryRate      *float32 // --secondary-node-eviction-rate, 0.01: for large zones that are partially disrupted; 0: never
	LargeCluster       *int     // --large-cluster-size-threshold, 50: a zone with more nodes is large
	UnhealthyThreshold *float32 // --unhealthy-zone-threshold, 0.55: a zone with this share of nodes not ready is partially disrupted

	// FullDisruptionRate is the rate of a zone whose nodes are all down while other zones work. nil means EvictionRate, as
	// in v1.37. There, a zone that goes from partial to full disruption gets a higher rate.
	FullDisruptionRate *float32
}

// Validate returns the errors of the parameters: negative durations, rates and thresholds that are negative or NaN, and a
// threshold above 1. The controller itself checks none of this.
func (c Config) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	duration := func(name string, d time.Duration) {
		if d < 0 {
			errs = append(errs, field.Invalid(path.Child(name), d.String(), "must not be negative; 0 is the default"))
		}
	}
	number := func(name string, f *float32, most float32) {
		if f != nil && !(*f >= 0 && *f <= most) {
			detail := "must be a number not less than 0"
			if most < math.MaxFloat32 {
				detail = "must be a number from 0 to 1"
			}
			errs = append(errs, field.Invalid(path.Child(name), *f, detail))
		}
	}
	duration("monitorPeriod", c.MonitorPeriod)
	duration("gracePeriod", c.GracePeriod)
	duration("startupGrace", c.StartupGrace)
	number("evictionRate", c.EvictionRate, math.MaxFloat32)
	number("secondaryRate", c.SecondaryRate, math.MaxFloat32)
	if c.LargeCluster != nil && *c.LargeCluster < 0 {
		errs = append(errs, field.Invalid(path.Child("largeCluster"), *c.LargeCluster, "must not be negative"))
	}
	number("unhealthyThreshold", c.UnhealthyThreshold, 1)
	number("fullDisruptionRate", c.FullDisruptionRate, math.MaxFloat32)
	return errs
}

func orDefault[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

func (c Config) monitorPeriod() time.Duration { return orDuration(c.MonitorPeriod, 5*time.Second) }
func (c Config) gracePeriod() time.Duration   { return orDuration(c.GracePeriod, 50*time.Second) }
func (c Config) startupGrace() time.Duration  { return orDuration(c.StartupGrace, 60*time.Second) }
func (c Config) evictionRate() float32        { return orDefault(c.EvictionRate, 0.1) }

// ServePeriod is the time between two services of the zones' queues.
const ServePeriod = 100 * time.Millisecond
