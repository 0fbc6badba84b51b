package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// Registrations returns the events that may help the pods that the profile rejected, for [queue.Profile.Events]:
//
//  1. the events of the built-in plugins, from [queue.DefaultEvents]: those of the profile's filters, and those of the plugins
//     that filter nothing, such as SchedulingGates;
//  2. Events of each other filter, in the order of Filters.
//
// Each comes with the hint of its plugin. Plugins that only score are left out, because they reject no pod. known has the
// namespaces at the time of an event; a [Cluster] is one. The release is that of the queue.
//
// The error has what Validate says, by field path, and what is wrong with the names of filters: a filter has the name of a
// built-in plugin that filters nothing, or a filter with Events has the name of a built-in plugin. [queue.New] refuses events that
// the release does not have.
func (p Profile) Registrations(known affinity.Namespaces, v release.Version) ([]queue.Registration, error) {
	errs, builtin, hints := p.Validate(nil), builtinFilters(), map[string]queue.Hint{}
	for i, f := range p.Filters {
		if f == nil {
			continue // Validate has said so
		}
		errs = append(errs, f.validateName(builtin, field.NewPath("filters").Index(i))...)
		if f.Hint != nil {
			hints[f.Name] = f.Hint(known)
		}
	}
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	out := slices.DeleteFunc(queue.DefaultEvents(hints, v), func(r queue.Registration) bool {
		return builtin[r.Plugin] && p.Filter(r.Plugin) == nil
	})
	for _, f := range p.Filters {
		if !builtin[f.Name] {
			out = append(out, f.registrations(hints[f.Name])...)
		}
	}
	return out, nil
}

// builtinFilters maps the names of the built-in plugins to whether they filter.
func builtinFilters() map[string]bool {
	out := map[string]bool{}
	for _, p := range plugins.InTree() {
		out[p.Name] = p.At("Filter")
	}
	return out
}

// validateName returns what is wrong with the name of a filter, if it is that of a built-in plugin.
func (p *Plugin) validateName(builtin map[string]bool, path *field.Path) field.ErrorList {
	switch filters, taken := builtin[p.Name]; {
	case taken && !filters:
		return field.ErrorList{field.Invalid(path.Child("name"), p.Name, "is the name of a built-in plugin that filters nothing")}
	case taken && p.Events != nil:
		return field.ErrorList{field.Forbidden(path.Child("events"), "the events of the built-in plugin "+p.Name+" stand in queue.DefaultEvents; a plugin with events of its own needs another name")}
	}
	return nil
}

// registrations returns what a plugin of the caller waits for.
func (p *Plugin) registrations(hint queue.Hint) []queue.Registration {
	var out []queue.Registration
	if p.Events == nil {
		out = queue.UnregisteredEvents(p.Name)
	}
	for _, e := range p.Events {
		out = append(out, queue.Registration{Plugin: p.Name, Event: e})
	}
	for k := range out {
		out[k].Hint = hint
	}
	return out
}
