package failures

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/profile"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// input is a cluster and the scenarios to play.
type input struct {
	objects   *dump.Objects
	snapshot  *cluster.Snapshot
	planner   *failures.Planner
	groups    *podgroup.Gates // with which groups of pods count; nil: they do not
	scenarios []failures.Scenario
	waits     []waiting // before any failure
	warnings  report.Warnings
}

// load reads the cluster and chooses the scenarios.
func load(o options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	objects.Tolerations.ComparisonOperators = o.gates.Compares()
	planned, err := objects.Snapshot(dump.Planning{Expand: o.expand, All: o.config != "", Expands: true, Strict: o.Input.Strict, Orphans: "counted nowhere"})
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
	own := cmp.Or(decides.SchedulerName, v1.DefaultSchedulerName)
	var pending []*v1.Pod
	for _, p := range objects.Pods {
		if p.Spec.NodeName == "" && cmp.Or(p.Spec.SchedulerName, v1.DefaultSchedulerName) == own && len(p.Spec.SchedulingGates) == 0 {
			pending = append(pending, p)
		}
	}
	gates, err := objects.Groups(o.gates)
	if err != nil {
		return nil, err
	}
	in := &input{objects: objects, snapshot: planned.Snapshot, groups: gates, waits: []waiting{}, warnings: objects.Warnings}
	if pending, err = in.before(pending, planned.Refused, decides, o.expand); err != nil {
		return nil, err
	}
	in.planner, err = failures.New(failures.Input{
		Groups:   gates,
		Snapshot: planned.Snapshot, Deployments: objects.Deployments, Jobs: objects.Jobs, Pending: pending, Profile: decides, Admission: objects.Admission(),
		Quotas: planned.Quotas,
	})
	if err != nil {
		return nil, err
	}
	return in, in.choose(o)
}

// choose lists the scenarios that the command line asks for.
func (in *input) choose(o options) error {
	p := in.planner
	var names []string
	for _, n := range in.objects.Nodes {
		names = append(names, n.Name)
	}
	for _, text := range o.scenarios {
		s := failures.Scenario{Name: text, Nodes: strings.Split(text, ",")}
		for _, n := range s.Nodes {
			if err := program.CheckNode("-scenario", n, names); err != nil {
				return err
			}
		}
		in.scenarios = append(in.scenarios, s)
	}
	for _, label := range o.by {
		list := p.By(label)
		if len(list) == 0 {
			return fmt.Errorf("-by: Not found: %q: no node of the input has this label", label)
		}
		in.scenarios = append(in.scenarios, list...)
	}
	if len(o.scenarios) == 0 && len(o.by) == 0 && o.pairs == 0 {
		in.scenarios = append(p.Nodes(), p.By(v1.LabelTopologyZone)...)
	}
	in.scenarios = append(in.scenarios, p.Pairs(o.pairs, o.seed)...)
	return nil
}

// workers plays scenarios at a time, and says how many were played.
type workers struct {
	number   int
	progress *report.Progress
	total    int // of all calls together; 0: nobody knows
	done     atomic.Int64
}

// newWorkers returns so many workers; 0 means one for each processor.
func newWorkers(number int, progress *report.Progress) *workers {
	if number == 0 {
		number = runtime.GOMAXPROCS(0)
	}
	return &workers{number: number, progress: progress}
}

// each is a parallel-for.
func (w *workers) each(n int, run func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(w.number, n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				run(i)
				w.progress.Step(int(w.done.Add(1)), w.total)
			}
		})
	}
	group.Wait()
}
