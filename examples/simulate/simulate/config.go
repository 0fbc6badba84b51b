package simulate

import (
	"context"
	"fmt"
	"io"
	"sync"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/examples/httpextender"
	"github.com/podberth/podberth/examples/scheduler"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/examples/httpextender/rules"
)

// setup returns the scheduler's options that the command line asks for, and warnings about them.
func setup(o options, stderr io.Writer) (out scheduler.Options, warnings []string, err error) {
	if o.config == "" {
		all := int32(100)
		out.Profiles = []scheduler.Profile{{SchedulerName: v1.DefaultSchedulerName, PercentageOfNodesToScore: &all}}
	} else if out, warnings, err = configured(o.config, o.input, stderr); err != nil {
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
// bind.
func configured(file string, limits dump.Options, stderr io.Writer) (out scheduler.Options, warnings []string, err error) {
	data, err := dump.ReadText(file, nil, limits)
	if err != nil {
		return out, nil, fmt.Errorf("-config: %w", err)
	}
	c, err := config.Load(data)
	if err != nil {
		return out, nil, fmt.Errorf("%s: %w", file, err)
	}
	out = scheduler.Options{
		PercentageOfNodesToScore: c.PercentageOfNodesToScore, InitialBackoff: c.PodInitialBackoff, MaxBackoff: &c.PodMaxBackoff,
	}
	for k := range c.Profiles {
		p, texts := profileOf(&c.Profiles[k])
		out.Profiles, warnings = append(out.Profiles, p), append(warnings, texts...)
	}
	clients, err := httpextender.NewAll(c.Extenders, httpextender.Options{})
	if err != nil {
		return out, nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, x := range clients {
		if x.Offers(httpextender.Bind) {
			warnings = append(warnings, fmt.Sprintf("extender %s: is not asked to bind", x.Name()))
		}
		out.Extenders = append(out.Extenders, extender{x, stderr, new(sync.Once)})
	}
	return out, warnings, nil
}

// profileOf turns a profile of a configuration into a profile of the scheduler. It keeps the lists of plugins as they are and
// adds no defaults.
func profileOf(p *config.Profile) (out scheduler.Profile, warnings []string) {
	out = scheduler.Profile{
		SchedulerName: p.SchedulerName, PercentageOfNodesToScore: p.Placement.Sampling.Percentage,
		Plugins: scheduler.Plugins{scheduler.MultiPoint: {Disabled: []string{"*"}}}, Args: map[string]any{},
	}
	known := scheduler.DefaultRegistry()
	for _, at := range scheduler.Points() {
		set := scheduler.PluginSet{Disabled: []string{"*"}}
		for _, plugin := range p.Plugins[pointOf(at)] {
			if known[plugin.Name] == nil {
				warnings = append(warnings, fmt.Sprintf("profile %s: plugin %s is left out at %s: podberth does not have it", p.SchedulerName, plugin.Name, at))
				continue
			}
			set.Enabled = append(set.Enabled, scheduler.PluginRef{Name: plugin.Name, Weight: plugin.Weight})
			if args := p.Plugin(plugin.Name); args != nil {
				out.Args[plugin.Name] = args
			}
		}
		out.Plugins[at] = set
	}
	if a, ok := p.Args["DefaultPreemption"].(*configv1.DefaultPreemptionArgs); ok {
		out.Args["DefaultPreemption"] = scheduler.PreemptionArgs{Options: preemption.Options{Candidates: preemption.CandidateArgs{
			MinPercentage: a.MinCandidateNodesPercentage, MinAbsolute: a.MinCandidateNodesAbsolute,
		}}}
	}
	for _, text := range p.Warnings {
		warnings = append(warnings, fmt.Sprintf("profile %s: %s", p.SchedulerName, text))
	}
	return out, warnings
}

// pointOf returns the name that a configuration has for an extension point, -1 for none.
func pointOf(at scheduler.Point) config.Point {
	for _, p := range config.Points() {
		if p.String() == string(at) {
			return p
		}
	}
	return -1
}

// extender asks an HTTP extender in the scheduler's name. Failures that kube-scheduler passes over are warnings.
type extender struct {
	*httpextender.Client
	stderr io.Writer
	once   *sync.Once
}

func (x extender) passOver(err error) {
	x.once.Do(func() { fmt.Fprintf(x.stderr, "warning: extender %s: passed over: %v\n", x.Name(), err) })
}

// Offers reports whether the extender has a verb that a simulation may ask for.
func (x extender) Offers(v scheduler.Verb) bool {
	return v != scheduler.BindVerb && x.Client.Offers(httpextender.Verb(v))
}

// Filter asks the extender which nodes can take the pod.
func (x extender) Filter(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (rules.Filtered, error) {
	a, err := x.Client.Filter(ctx, pod, nodes)
	if err != nil && x.Ignorable() {
		x.passOver(err)
		for _, n := range nodes {
			a.Nodes = append(a.Nodes, n.Name)
		}
		return a.Filtered, nil
	}
	return a.Filtered, err
}

// Prioritize asks the extender for scores.
func (x extender) Prioritize(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (score.Column, error) {
	s, err := x.Client.Prioritize(ctx, pod, nodes)
	if err != nil {
		x.passOver(err)
	}
	return s, nil
}

// Preempt asks the extender which candidates and victims stay.
func (x extender) Preempt(ctx context.Context, pod *v1.Pod, candidates []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
	for _, p := range httpextender.Preempters(ctx, []*httpextender.Client{x.Client}, pod) {
		return p.Process(pod, candidates)
	}
	return nil, fmt.Errorf("extender %s: is not asked about the victims of pod %s/%s", x.Name(), pod.Namespace, pod.Name)
}
