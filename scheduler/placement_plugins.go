package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/placement"
)

// This file makes plugins of the caller's filters and scores of package placement.

// FromPlacement returns the factory of a plugin of the caller that package placement runs too. It runs at [PreFilter] and [Filter] if
// it filters, at [PreScore] and [Score] if it scores; list it at [MultiPoint]. It waits for Plugin.Events.
//
//	Options{
//		Plugins:  Registry{p.Name: FromPlacement(p)},
//		Profiles: []Profile{{Plugins: Plugins{MultiPoint: {Enabled: []PluginRef{{Name: p.Name, Weight: 2}}}}}},
//	}
//
// The plan of a profile includes the plugin, so that equal pods share its work. The plan makes the same decisions as single
// calls of the plugins. A panic of the plugin fails the attempt; [Options.PluginTimeout] does not end a decision of the plan.
//
// The factory takes no arguments, and the registry must have it under the plugin's name. It returns an error for a plugin that
// is nil, neither filters nor scores, or is not valid in a [placement.Profile].
func FromPlacement(p *placement.Plugin) Factory {
	return func(args any, h *Handle) (Plugin, error) {
		if p == nil || p.Filter == nil && p.Score == nil {
			return nil, errors.New("want a plugin of package placement with Filter or Score")
		}
		if args != nil {
			return nil, fmt.Errorf("want no args, got %T", args)
		}
		var profile placement.Profile
		if p.Filter != nil {
			profile.Filters = []*placement.Plugin{p}
		}
		if p.Score != nil {
			profile.Scores = []placement.Weighted{{Plugin: p}}
		}
		if errs := profile.Validate(nil); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
		own := p
		if p.WithShared != nil {
			own = p.WithShared(placement.Profile{Volumes: h.s.volumes, Devices: h.s.devices})
		}
		b := adapterBase{name: own.Name, h: h, plugin: own, own: true}
		switch {
		case own.Filter == nil:
			return preScores{newScores(b)}, nil
		case own.Score == nil:
			return podFilters(b), nil
		}
		return podFiltersAndScores(b), nil
	}
}

// ownPlugins returns the names of the profile's plugins of FromPlacement, in order.
func (f *Framework) ownPlugins() []string {
	var out []string
	for _, name := range sortedKeys(f.plugins) {
		if _, adapted := f.plugins[name].(builtin); adapted && !isBuiltin(f.plugins[name]) {
			out = append(out, name)
		}
	}
	return out
}

// checkOwn returns an error if a plugin of FromPlacement has another name in the registry, or runs at Filter without PreFilter or
// at Score without PreScore, where it prepares its answers.
func (f *Framework) checkOwn() error {
	for _, name := range f.own {
		if own := f.plugins[name].Name(); own != name {
			return fmt.Errorf("plugin %q of FromPlacement is registered as %q", own, name)
		}
		has := func(at Point) bool {
			return slices.ContainsFunc(f.lists[at], func(p PluginRef) bool { return p.Name == name })
		}
		for _, at := range [...][2]Point{{PreFilter, Filter}, {PreScore, Score}} {
			if has(at[0]) != has(at[1]) {
				return fmt.Errorf("plugin %q of FromPlacement needs %s and %s", name, at[0], at[1])
			}
		}
	}
	return nil
}

// decideGuarded does what decidePlanned does. A panic of a plugin of FromPlacement fails the attempt, and the profile gets a new
// plan, because the kept work of the old one may be incomplete.
func (s *Scheduler) decideGuarded(ctx context.Context, a *attempt) (node string, failed *failure) {
	if len(a.f.own) == 0 {
		return s.decidePlanned(ctx, a)
	}
	at := Point("the plan with " + strings.Join(a.f.own, ", "))
	_, st := protect(s, ctx, callee{at: at}, func(ctx context.Context) (struct{}, *Status) {
		node, failed = s.decidePlanned(ctx, a)
		return struct{}{}, nil
	})
	if st.Success() {
		return node, failed
	}
	plan, err := placement.New(s.snapshot, a.f.placement)
	a.f.plan = plan
	return "", &failure{status: AsStatus(errors.Join(st.AsError(), err)), nomination: denominate}
}
