// Package profile (experimental) gives a planner's program the profile that decides.
//
//	p, warnings, err := profile.Of("scheduler.yaml", placement.PluginArgs{}, dump.Options{})
package profile

import (
	"fmt"

	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// Of returns the first profile of the KubeSchedulerConfiguration in a file (flag -config), or the default profile when file is "". args are
// what plugins follow beside the configuration (config.Loader.Args). Every node is checked, whatever percentageOfNodesToScore says, and
// claims have CEL selectors. warnings say what else the configuration asks for that a planner does not do.
func Of(file string, args placement.PluginArgs, in dump.Options) (p placement.Profile, warnings []string, err error) {
	args.Devices.Compiler = cel.NewCompiler()
	if file == "" {
		p = args.Profile()
		p.Sampling = placement.AllNodes()
		return p, nil, nil
	}
	data, err := dump.ReadText(file, nil, in)
	if err != nil {
		return p, nil, fmt.Errorf("-config: %w", err)
	}
	if data, err = dump.InConfigMap(data, "kubescheduler.config.k8s.io", "KubeSchedulerConfiguration"); err != nil {
		return p, nil, fmt.Errorf("%s: %w", file, err)
	}
	c, err := config.Loader{Args: args}.Load(data)
	if err != nil {
		return p, nil, program.Lines{Err: fmt.Errorf("%s: %w", file, err)}
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
		warnings = append(warnings, fmt.Sprintf("%d extenders of %s are not asked", len(c.Extenders), file))
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
