package rollout

import (
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/examples/program"
	"github.com/podberth/podberth/examples/report"
	"github.com/podberth/podberth/placement"
	planner "github.com/podberth/podberth/planning/rollout"
)

// input is a cluster, ready to be planned.
type input struct {
	objects  *dump.Objects
	planner  *planner.Planner
	warnings report.Warnings
}

// load reads the cluster and completes the options with its nodes.
func load(o *options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.files, stdin, o.input)
	if err != nil {
		return nil, err
	}
	if o.expand {
		if _, err := objects.Expand(); err != nil {
			return nil, err
		}
	}
	if err := objects.Orphans("left out of the plan"); err != nil && o.strict {
		return nil, err
	}
	objects.Absent(dump.Asks{Placed: func(*v1.Pod) bool { return true }, Budgets: true})
	objects.Workloads() // objects without UIDs get those of their pods
	if err := objects.CheckBudgets(); err != nil {
		return nil, err
	}
	s, err := cluster.New(objects.Cluster())
	if err != nil {
		return nil, err
	}
	profile := placement.PluginArgs{Devices: tracker.Options{Compiler: cel.NewCompiler()}}.Profile()
	profile.Sampling = placement.AllNodes()
	var pending []*v1.Pod
	for _, p := range objects.Pods {
		if p.Spec.NodeName == "" {
			pending = append(pending, p)
		}
	}
	in := &input{objects: objects, warnings: objects.Warnings}
	in.planner, err = planner.New(planner.Input{
		Snapshot: s, Deployments: objects.Deployments, Jobs: objects.Jobs, DaemonSets: objects.DaemonSets, Pending: pending,
		Profile: profile, Admission: objects.Admission(),
	})
	if err != nil {
		return nil, err
	}
	return in, in.complete(o)
}

// complete gives the options of the plan what the command line says about nodes and times.
func (in *input) complete(o *options) error {
	nodes := map[string]*v1.Node{}
	var names []string
	for _, n := range in.objects.Nodes {
		nodes[n.Name] = n
		names = append(names, n.Name)
	}
	known := func(flag, name string) error {
		if nodes[name] == nil {
			return fmt.Errorf("%s: Not found: %q: no such node in the input%s", flag, name, program.Near(name, names))
		}
		return nil
	}
	for _, n := range o.nodes {
		if err := known("NODE", n); err != nil {
			return err
		}
	}
	o.plan.Nodes, o.plan.Order = o.nodes, planner.Order(o.order)
	if o.order == "" && o.nodes != nil {
		o.plan.Order = planner.Given
	}
	if o.selector != nil {
		if o.plan.Nodes = in.planner.Pool(o.selector); len(o.plan.Nodes) == 0 {
			return fmt.Errorf("-l: Not found: %q: no node of the input has these labels", o.selector)
		}
	}
	if o.like != "" {
		if err := known("-surge-like", o.like); err != nil {
			return err
		}
		o.plan.Shape = nodes[o.like]
	}
	o.plan.Start = func(*v1.Pod, string) time.Duration { return o.start }
	o.plan.Renew = func(*v1.Node) time.Duration { return o.renew }
	if len(in.objects.DaemonSets) > 0 {
		there := map[string]bool{}
		for _, d := range in.objects.DaemonSets {
			there[d.Namespace+"/"+d.Name] = true
		}
		o.plan.Drain.DaemonSetExists = func(namespace, name string) bool { return there[namespace+"/"+name] }
	}
	return nil
}
