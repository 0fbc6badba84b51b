// Package setup (experimental) makes the options of package [scheduler] from a KubeSchedulerConfiguration that package [config] has loaded.
//
//	c, err := config.Load(data)
//	options, warnings, err := setup.Options(c, setup.Extending{Binds: true})
//	options.Client = scheduler.Client(client)
//	s, err := scheduler.New(snapshot, options)
//
// The plugins of each profile run at the points and in the order of the configuration. Plugins that podberth does not have
// are left out, with a warning each.
package setup

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/httpextender"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// Extending says how extenders are asked.
type Extending struct {
	// Binds lets extenders bind pods. Without Binds a warning names each extender that offers to bind.
	Binds bool
	// PassedOver receives the failures that kube-scheduler passes over; nil drops them.
	PassedOver func(extender string, err error)
}

// Options returns the options that the configuration asks for, and warnings about them. An error is about the TLS files of an
// extender.
func Options(c *config.Configuration, x Extending) (out scheduler.Options, warnings []string, err error) {
	out = scheduler.Options{
		PercentageOfNodesToScore: c.PercentageOfNodesToScore, InitialBackoff: c.PodInitialBackoff, MaxBackoff: &c.PodMaxBackoff,
	}
	for k := range c.Profiles {
		p, texts := profileOf(&c.Profiles[k])
		out.Profiles, warnings = append(out.Profiles, p), append(warnings, texts...)
	}
	clients, err := httpextender.NewAll(c.Extenders, httpextender.Options{})
	if err != nil {
		return out, nil, err
	}
	for _, client := range clients {
		if !x.Binds && client.Offers(httpextender.Bind) {
			warnings = append(warnings, fmt.Sprintf("extender %s: is not asked to bind", client.Name()))
		}
		out.Extenders = append(out.Extenders, extender{client, x})
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

// extender asks an HTTP extender in the scheduler's name.
type extender struct {
	*httpextender.Client
	x Extending
}

func (e extender) passOver(err error) {
	if e.x.PassedOver != nil {
		e.x.PassedOver(e.Name(), err)
	}
}

// Offers reports whether the extender has a verb that it may be asked for.
func (e extender) Offers(v scheduler.Verb) bool {
	return (e.x.Binds || v != scheduler.BindVerb) && e.Client.Offers(httpextender.Verb(v))
}

// Filter asks the extender which nodes can take the pod.
func (e extender) Filter(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (rules.Filtered, error) {
	a, err := e.Client.Filter(ctx, pod, nodes)
	if err != nil && e.Ignorable() {
		e.passOver(err)
		for _, n := range nodes {
			a.Nodes = append(a.Nodes, n.Name)
		}
		return a.Filtered, nil
	}
	return a.Filtered, err
}

// Prioritize asks the extender for scores.
func (e extender) Prioritize(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (score.Column, error) {
	s, err := e.Client.Prioritize(ctx, pod, nodes)
	if err != nil {
		e.passOver(err)
	}
	return s, nil
}

// Preempt asks the extender which candidates and victims stay.
func (e extender) Preempt(ctx context.Context, pod *v1.Pod, candidates []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
	for _, p := range httpextender.Preempters(ctx, []*httpextender.Client{e.Client}, pod) {
		return p.Process(pod, candidates)
	}
	return nil, fmt.Errorf("extender %s: is not asked about the victims of pod %s/%s", e.Name(), pod.Namespace, pod.Name)
}
