package config

import (
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
)

// WithSelectors returns the profile with a compiler of the selectors of device classes and claims. A profile that has a compiler
// already, or no DynamicResources, stays as it is.
func WithSelectors(p placement.Profile, compiler devices.SelectorCompiler) (placement.Profile, error) {
	made := map[*placement.Plugin]*placement.Plugin{}
	with := func(x *placement.Plugin) (*placement.Plugin, error) {
		o, ok := x.Args.(tracker.Options)
		if !ok || o.Compiler != nil {
			return x, nil
		}
		if made[x] == nil {
			o.Compiler = compiler
			y, err := placement.PluginArgs{Devices: o}.Plugin(x.Name)
			if err != nil {
				return nil, err
			}
			made[x] = y
		}
		return made[x], nil
	}
	filters, scores := make([]*placement.Plugin, len(p.Filters)), make([]placement.Weighted, len(p.Scores))
	var err error
	for k, x := range p.Filters {
		if filters[k], err = with(x); err != nil {
			return p, err
		}
	}
	for k, w := range p.Scores {
		scores[k].Weight = w.Weight
		if scores[k].Plugin, err = with(w.Plugin); err != nil {
			return p, err
		}
	}
	p.Filters, p.Scores = filters, scores
	return p, nil
}
