package place

import (
	"fmt"
	"io"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/setup"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// A ConfigMap may hold the configuration.
const (
	configGroup = "kubescheduler.config.k8s.io"
	configKind  = "KubeSchedulerConfiguration"
)

// optionsOf returns the scheduler's options that the command line asks for, and warnings about them: those of -against if there are two.
func optionsOf(o options, stderr io.Writer) (out scheduler.Options, warnings []string, err error) {
	flag, file := "-config", o.config
	if o.against != "" {
		flag, file = "-against", o.against
	}
	if file == "" {
		all := int32(100)
		args := map[string]any{}
		plugins, err := o.featureGates.Plugins()
		if err != nil {
			return out, nil, err
		}
		for _, p := range plugins {
			args[p.Name] = p
		}
		out.Profiles = []scheduler.Profile{{SchedulerName: v1.DefaultSchedulerName, PercentageOfNodesToScore: &all, Args: args}}
	} else if out, warnings, err = configured(flag, file, o, stderr); err != nil {
		return out, nil, err
	}
	if o.percentage >= 0 {
		percentage := int32(o.percentage)
		for k := range out.Profiles {
			out.Profiles[k].PercentageOfNodesToScore = &percentage
		}
	}
	return out, warnings, nil
}

// configured returns the scheduler's options that a KubeSchedulerConfiguration asks for. A simulation never asks extenders to
// bind. flag names the file in errors. Of each extender, the first failure that kube-scheduler passes over is a warning.
func configured(flag, file string, o options, stderr io.Writer) (out scheduler.Options, warnings []string, err error) {
	data, err := dump.ReadText(file, nil, o.Input)
	if err != nil {
		return out, nil, fmt.Errorf("%s: %w", flag, err)
	}
	if data, err = dump.InConfigMap(data, configGroup, configKind); err != nil {
		return out, nil, fmt.Errorf("%s: %w", file, err)
	}
	c, err := config.Loader{Args: o.featureGates.Args()}.Load(data)
	if err != nil {
		return out, nil, program.Lines{Err: fmt.Errorf("%s: %w", file, err)}
	}
	var said sync.Map
	out, warnings, err = setup.Options(c, setup.Extending{PassedOver: func(extender string, err error) {
		if _, again := said.LoadOrStore(extender, true); !again {
			report.Textf(stderr, "warning: extender %s: passed over: %v\n", extender, err)
		}
	}})
	if err != nil {
		return out, nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, warnings, nil
}
