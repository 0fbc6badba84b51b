package rollout

import (
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/profile"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// input is a cluster, ready to be planned.
type input struct {
	objects  *dump.Objects
	snapshot *cluster.Snapshot
	profile  placement.Profile
	planner  *planner.Planner
	groups   *podgroup.Gates // with which groups of pods count; nil: they do not
	warnings report.Warnings
}

// load reads the cluster and completes the options with its nodes.
func load(o *options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	return prepare(o, objects)
}

// prepare completes the options with the nodes of a cluster that was read.
func prepare(o *options, objects *dump.Objects) (*input, error) {
	objects.Tolerations.ComparisonOperators = o.gates.Compares()
	planned, err := objects.Snapshot(dump.Planning{Expand: o.expand, All: o.config != "", Expands: true, Strict: o.Input.Strict, Orphans: "left out of the plan"})
	if err != nil {
		return nil, err
	}
	decides, warnings, err := profile.Of(o.config, objects.PluginArgs(o.gates), o.Input)
	if err != nil {
		return nil, err
	}
	for _, text := range warnings {
		objects.Warnings.Add(text)
	}
	var pending []*v1.Pod
	for _, p := range objects.Pods {
		if p.Spec.NodeName == "" {
			pending = append(pending, p)
		}
	}
	objects.WarnOfUnknownOwners()
	in := &input{objects: objects, snapshot: planned.Snapshot, profile: decides, warnings: objects.Warnings}
	gates, err := objects.Groups(o.gates)
	if err != nil {
		return nil, err
	}
	in.warnings, in.groups = objects.Warnings, gates
	in.planner, err = planner.New(planner.Input{
		Groups:   gates,
		Snapshot: planned.Snapshot, Deployments: objects.Deployments, Jobs: objects.Jobs, DaemonSets: objects.DaemonSets, Pending: pending,
		Profile: decides, Admission: objects.Admission(),
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
	for _, n := range o.nodes {
		if err := program.CheckNode("NODE", n, names); err != nil {
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
		if err := program.CheckNode("-surge-like", o.like, names); err != nil {
			return err
		}
		o.plan.Shape = nodes[o.like]
	}
	o.plan.Start = func(*v1.Pod, string) time.Duration { return o.start }
	o.plan.Renew = func(*v1.Node) time.Duration { return o.renew }
	o.plan.Drain.DaemonSetExists = in.objects.DaemonSetExists()
	return nil
}
