package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
)

// Framework is one profile with its plugins. It runs each extension point as the documentation of the scheduling
// framework describes.
type Framework struct {
	name     string
	sampling filter.Sampling
	lists    map[Point][]PluginRef
	plugins  map[string]Plugin
	s        *Scheduler

	preEnqueue []PreEnqueuePlugin
	queueSort  QueueSortPlugin
	preFilter  []PreFilterPlugin
	filter     []FilterPlugin
	postFilter []PostFilterPlugin
	preScore   []PreScorePlugin
	score      []weighted
	reserve    []ReservePlugin
	permit     []PermitPlugin
	preBind    []PreBindPlugin
	bind       []BindPlugin
	postBind   []PostBindPlugin

	// placement has the filters and scores that are the library's. plan decides for a profile that has no other filters
	// and scores, and is nil for any other profile.
	placement placement.Profile
	plan      *placement.Plan
	own       []string          // plugins of FromPlacement
	groups    *placement.Placer // decides about groups; nil without Options.Groups

	signers []SignPlugin // nil: no pod has a signature
	batch   batch
}

type weighted struct {
	ScorePlugin
	weight int64
}

// ProfileName returns the spec.schedulerName of the profile's pods.
func (f *Framework) ProfileName() string { return f.name }

// ListPlugins returns the plugins of every point in the order in which they run, with the weights of scores.
func (f *Framework) ListPlugins() map[Point][]PluginRef {
	out := map[Point][]PluginRef{}
	for at, list := range f.lists {
		if len(list) > 0 {
			out[at] = slices.Clone(list)
		}
	}
	return out
}

// HasFilterPlugins reports whether there is a [Filter] plugin.
func (f *Framework) HasFilterPlugins() bool { return len(f.filter) > 0 }

// HasPostFilterPlugins reports whether there is a [PostFilter] plugin.
func (f *Framework) HasPostFilterPlugins() bool { return len(f.postFilter) > 0 }

// HasScorePlugins reports whether there is a [Score] plugin.
func (f *Framework) HasScorePlugins() bool { return len(f.score) > 0 }

// PercentageOfNodesToScore returns the profile's value, nil if the scheduler's value applies.
func (f *Framework) PercentageOfNodesToScore() *int32 { return f.sampling.Percentage }

// close closes the plugins that are io.Closers.
func (f *Framework) close() error {
	var errs []error
	for _, name := range sortedKeys(f.plugins) {
		if c, ok := f.plugins[name].(io.Closer); ok {
			errs = append(errs, f.s.act(context.Background(), Point(fmt.Sprintf("Close of plugin %q", name)), func(context.Context) error { return c.Close() }))
		}
	}
	return errors.Join(errs...)
}

// newFramework makes the plugins of the profile and lists them by extension point.
func newFramework(s *Scheduler, p Profile, r Registry) (*Framework, error) {
	f := &Framework{name: p.SchedulerName, s: s, lists: map[Point][]PluginRef{}, plugins: map[string]Plugin{}}
	f.sampling = filter.Sampling{Percentage: p.PercentageOfNodesToScore, Global: s.o.PercentageOfNodesToScore}
	sets := p.merged(s.o.Release)
	if err := f.makePlugins(sets, p.Args, r); err != nil {
		return nil, err
	}
	for _, at := range Points() {
		if err := f.check(at, sets[at]); err != nil {
			return nil, err
		}
	}
	for _, at := range Points() {
		if err := f.list(at, sets[at], sets[MultiPoint]); err != nil {
			return nil, err
		}
	}
	if f.queueSort == nil {
		return nil, fmt.Errorf("only one queue sort plugin required for profile with scheduler name %q, but got %d", f.name, len(f.lists[QueueSort]))
	}
	if len(f.bind) == 0 {
		return nil, fmt.Errorf("at least one bind plugin is needed for profile with scheduler name %q", f.name)
	}
	if err := f.weigh(sets[Score], sets[MultiPoint]); err != nil {
		return nil, fmt.Errorf("score plugins: %w", err)
	}
	f.findSigners()
	return f, f.makePlan()
}

// makePlugins makes every plugin that the profile names, in the order of the names.
func (f *Framework) makePlugins(sets Plugins, args map[string]any, r Registry) error {
	needed := map[string]bool{}
	for _, set := range sets {
		for _, p := range set.Enabled {
			needed[p.Name] = true
		}
	}
	for _, name := range sortedKeys(needed) {
		factory, ok := r[name]
		if !ok {
			continue // said where it is listed
		}
		p, err := factory(args[name], &Handle{s: f.s, f: f})
		if err != nil {
			return fmt.Errorf("initializing plugin %q: %w", name, err)
		}
		f.plugins[name] = p
	}
	return nil
}

// check returns the first error in the list of a point.
func (f *Framework) check(at Point, own PluginSet) error {
	for k, p := range own.Enabled {
		switch {
		case f.plugins[p.Name] == nil:
			return fmt.Errorf("%sPlugin %q does not exist", at, p.Name)
		case !implements(at, f.plugins[p.Name]):
			return fmt.Errorf("plugin %q does not extend %sPlugin plugin", p.Name, at)
		case slices.ContainsFunc(own.Enabled[:k], func(q PluginRef) bool { return q.Name == p.Name }):
			return plugins.Registered(string(at), p.Name)
		}
	}
	return nil
}

// list finds the plugins of one point.
func (f *Framework) list(at Point, own, multi PluginSet) error {
	for _, p := range multi.Enabled {
		if f.plugins[p.Name] == nil {
			return fmt.Errorf("%sPlugin %q does not exist", PreFilter, p.Name)
		}
	}
	names, err := expand(at, own, multi, func(name string) bool { return implements(at, f.plugins[name]) })
	if err != nil {
		return err
	}
	refs := make([]PluginRef, len(names))
	for k, name := range names {
		refs[k].Name = name
	}
	f.lists[at] = refs
	for _, ref := range refs {
		f.enlist(at, ref)
	}
	return nil
}

// weigh sets the weights of the scores.
func (f *Framework) weigh(own, multi PluginSet) error {
	weights, err := weights(own, multi, func(name string) bool { return implements(Score, f.plugins[name]) })
	for k := range f.score {
		name := f.score[k].Name()
		f.score[k].weight, f.lists[Score][k].Weight = weights[name], weights[name]
	}
	return err
}

func implements(at Point, p Plugin) bool {
	var ok bool
	switch at {
	case PreEnqueue:
		_, ok = p.(PreEnqueuePlugin)
	case QueueSort:
		_, ok = p.(QueueSortPlugin)
	case PreFilter:
		_, ok = p.(PreFilterPlugin)
	case Filter:
		_, ok = p.(FilterPlugin)
	case PostFilter:
		_, ok = p.(PostFilterPlugin)
	case PreScore:
		_, ok = p.(PreScorePlugin)
	case Score:
		_, ok = p.(ScorePlugin)
	case Reserve:
		_, ok = p.(ReservePlugin)
	case Permit:
		_, ok = p.(PermitPlugin)
	case PreBind:
		_, ok = p.(PreBindPlugin)
	case Bind:
		_, ok = p.(BindPlugin)
	case PostBind:
		_, ok = p.(PostBindPlugin)
	}
	return ok
}

func (f *Framework) enlist(at Point, ref PluginRef) {
	p := f.plugins[ref.Name]
	switch at {
	case PreEnqueue:
		f.preEnqueue = append(f.preEnqueue, p.(PreEnqueuePlugin))
	case QueueSort:
		if f.queueSort = p.(QueueSortPlugin); len(f.lists[QueueSort]) != 1 {
			f.queueSort = nil
		}
	case PreFilter:
		f.preFilter = append(f.preFilter, p.(PreFilterPlugin))
	case Filter:
		f.filter = append(f.filter, p.(FilterPlugin))
	case PostFilter:
		f.postFilter = append(f.postFilter, p.(PostFilterPlugin))
	case PreScore:
		f.preScore = append(f.preScore, p.(PreScorePlugin))
	case Score:
		f.score = append(f.score, weighted{ScorePlugin: p.(ScorePlugin)})
	case Reserve:
		f.reserve = append(f.reserve, p.(ReservePlugin))
	case Permit:
		f.permit = append(f.permit, p.(PermitPlugin))
	case PreBind:
		f.preBind = append(f.preBind, p.(PreBindPlugin))
	case Bind:
		f.bind = append(f.bind, p.(BindPlugin))
	case PostBind:
		f.postBind = append(f.postBind, p.(PostBindPlugin))
	}
}

// Placement returns the filters and scores of the profile that are the library's. Package placement can explain these.
// Making a plan of the result fails if a weight is negative.
func (f *Framework) Placement() placement.Profile { return f.placement }

// makePlan makes the plan of a profile if all filters and scores are the library's, each point lists them in the same
// order, no weight is negative, and Options.OneByOne is false.
func (f *Framework) makePlan() (err error) {
	f.placement = placement.Profile{SchedulerName: f.name, Sampling: f.sampling, Volumes: f.s.volumes, Devices: f.s.devices}
	whole := !f.s.o.OneByOne && subsequence(f.preFilter, f.filter) && f.scoresArePrepared()
	for _, p := range f.filter {
		l, ok := p.(libraryFilter)
		if !ok {
			whole = false
			continue
		}
		f.placement.Filters = append(f.placement.Filters, l.library())
	}
	for _, w := range f.score {
		l, ok := w.ScorePlugin.(libraryScore)
		if !ok || w.weight < 0 {
			whole = false
		}
		if !ok {
			continue
		}
		if s := l.libraryScore(); s != nil {
			f.placement.Scores = append(f.placement.Scores, placement.Weighted{Plugin: s, Weight: w.weight})
		}
	}
	f.own = f.ownPlugins()
	if err := f.checkOwn(); err != nil {
		return err
	}
	if whole && (len(f.score) == 0 || len(f.placement.Scores) > 0) {
		f.plan, err = placement.New(f.s.snapshot, f.placement)
	}
	if err != nil || f.s.groups == nil {
		return err
	}
	if f.plan == nil || len(f.s.o.Extenders) > 0 {
		return errors.New("groups of pods need filters and scores of package placement, without extenders and without OneByOne")
	}
	return f.planGroups()
}

// planGroups makes what decides about groups.
func (f *Framework) planGroups() (err error) {
	f.groups, err = placement.NewPlacer(f.s.snapshot, f.placement)
	return err
}

// subsequence reports whether the PreFilter plugins are the filters that implement PreFilter, in the same order.
func subsequence(pre []PreFilterPlugin, filters []FilterPlugin) bool {
	k := 0
	for _, p := range filters {
		if _, ok := p.(PreFilterPlugin); !ok {
			continue
		}
		if k == len(pre) || pre[k].Name() != p.Name() {
			return false
		}
		k++
	}
	return k == len(pre)
}

// scoresArePrepared reports whether PreScore lists each score that needs PreScore, in the same order.
func (f *Framework) scoresArePrepared() bool {
	k := 0
	for _, w := range f.score {
		if _, ok := w.ScorePlugin.(PreScorePlugin); !ok {
			continue
		}
		if k == len(f.preScore) || f.preScore[k].Name() != w.Name() {
			return false
		}
		k++
	}
	return k == len(f.preScore)
}

// events returns the events that the plugins that can reject wait for.
func (f *Framework) events() ([]queue.Registration, error) {
	var out []queue.Registration
	for _, name := range f.rejecting() {
		p := f.plugins[name]
		e, ok := p.(EnqueueExtensions)
		if !ok {
			out = append(out, queue.UnregisteredEvents(name)...)
			continue
		}
		list, err := e.EventsToRegister()
		if err != nil {
			return nil, err
		}
		t := new(callTurn)
		for _, r := range list {
			r.Plugin = name
			r.Hint = f.hint(p, t, r)
			out = append(out, r)
		}
	}
	return out, nil
}

// rejecting returns the plugins of the points that can reject, by name.
func (f *Framework) rejecting() []string {
	names := map[string]bool{}
	for _, at := range []Point{PreEnqueue, PreFilter, Filter, Reserve, Permit} {
		for _, p := range f.lists[at] {
			names[p.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
