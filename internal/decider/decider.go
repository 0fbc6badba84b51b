// Package decider checks the profile that a planner decides with, and the pods that wait for its decisions.
package decider

import (
	"fmt"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/taints"
)

// Profile returns the profile of a planner. A profile without filters and scores becomes placement.DefaultProfile with the same name;
// the default profile looks at every node unless the profile says otherwise. Errors: Volumes or Devices that are not nil, and those of
// Profile.Validate. The texts begin with the planner's name; owner has the volumes and devices: "every plan".
func Profile(planner, owner string, p placement.Profile) (placement.Profile, error) {
	if p.Volumes != nil {
		return p, fmt.Errorf("%s: profile.Volumes: Forbidden: %s has volumes of its own", planner, owner)
	}
	if p.Devices != nil {
		return p, fmt.Errorf("%s: profile.Devices: Forbidden: %s has devices of its own", planner, owner)
	}
	if len(p.Filters) == 0 && len(p.Scores) == 0 {
		name, sampling := p.SchedulerName, p.Sampling
		p = placement.DefaultProfile()
		p.SchedulerName, p.Sampling = name, sampling
		if sampling == (filter.Sampling{}) {
			p.Sampling = placement.AllNodes()
		}
	}
	return p, p.Validate(nil).ToAggregate()
}

// Tolerations returns how the TaintToleration of a profile judges tolerations.
func Tolerations(p placement.Profile) taints.Options {
	return Args[taints.Options](p, plugins.TaintToleration)
}

// Args returns the arguments that a filter of a profile has, the zero value when the profile lacks the filter or a plugin of the caller is in
// its place with other arguments.
func Args[T any](p placement.Profile, filter string) (args T) {
	if f := p.Filter(filter); f != nil {
		args, _ = f.Args.(T)
	}
	return args
}
