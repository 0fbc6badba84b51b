package failures

import (
	"fmt"

	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/placement"
)

// profileOf returns the profile that decides: the default profile, or the first profile of -config. Every node is checked,
// whatever percentageOfNodesToScore says. The texts are warnings about what else the configuration asks for.
func profileOf(o options) (p placement.Profile, warnings []string, err error) {
	args := placement.PluginArgs{Devices: tracker.Options{Compiler: cel.NewCompiler()}}
	if o.config == "" {
		p = args.Profile()
		p.Sampling = placement.AllNodes()
		return p, nil, nil
	}
	data, err := dump.ReadText(o.config, nil, o.input)
	if err != nil {
		return p, nil, fmt.Errorf("-config: %w", err)
	}
	c, err := config.Load(data)
	if err != nil {
		return p, nil, fmt.Errorf("%s: %w", o.config, err)
	}
	p = c.Profiles[0].Placement
	p.Sampling = placement.AllNodes()
	for _, text := range c.Profiles[0].Warnings {
		warnings = append(warnings, fmt.Sprintf("profile %s: %s", p.SchedulerName, text))
	}
	for k := range c.Profiles[1:] {
		warnings = append(warnings, fmt.Sprintf("profile %s: is left out: the first profile decides", c.Profiles[k+1].SchedulerName))
	}
	if len(c.Extenders) > 0 {
		warnings = append(warnings, fmt.Sprintf("%d extenders of %s are not asked", len(c.Extenders), o.config))
	}
	const name = "DynamicResources"
	devices, err := args.Plugin(name)
	if err != nil {
		return p, nil, err
	}
	for k, f := range p.Filters {
		if f.Name == name {
			p.Filters[k] = devices
		}
	}
	for k, s := range p.Scores {
		if s.Name == name {
			p.Scores[k].Plugin = devices
		}
	}
	return p, warnings, nil
}
