package main

import (
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// input is what the command line names.
type input struct {
	objects  cluster.Objects
	profiles []placement.Profile // none without -config
	warnings report.Warnings
}

// read reads the input.
func read(o options, stdin io.Reader) (in input, err error) {
	objects, err := dump.Read(o.files, stdin, o.input)
	if err != nil {
		return in, err
	}
	objects.Absent(dump.Asks{Placed: func(*v1.Pod) bool { return true }, Budgets: true}) // a request may bring any pod
	_ = objects.Orphans("not counted until a request brings the node")                   // no error: requests may bring nodes
	in.objects, in.warnings = objects.Cluster(), objects.Warnings
	if o.config == "" {
		return in, nil
	}
	data, err := os.ReadFile(o.config)
	if err != nil {
		return in, fmt.Errorf("-config: %w", err)
	}
	c, err := config.Load(data)
	if err != nil {
		return in, program.Lines{Err: fmt.Errorf("%s: %w", o.config, err)}
	}
	for k := range c.Profiles {
		in.profiles = append(in.profiles, c.Profiles[k].Placement)
		for _, text := range c.Profiles[k].Warnings {
			in.warnings.Add(text)
		}
	}
	return in, nil
}
