package config

import (
	"maps"
	"slices"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/history"
)

// This file converts the plugin lists and arguments of profiles older than v1.

// profile renames the plugins of a profile, and converts the arguments of plugins that became strategies of
// NodeResourcesFit.
func (d *oldDocument) profile(p mapping) {
	if plugins, ok := p["plugins"].(mapping); ok {
		if un, ok := plugins["unreserve"]; ok {
			delete(plugins, "unreserve")
			if _, both := plugins["reserve"]; !both {
				plugins["reserve"] = un
			}
			d.note("plugins.unreserve: a part of reserve")
		}
		for _, point := range slices.Sorted(maps.Keys(plugins)) {
			if s, ok := plugins[point].(mapping); ok {
				d.set(p, point, s)
			}
		}
	}
	d.pluginConfig(p)
	d.weights(p)
}

// onceLighter are the default scores whose weight was 1 before v1beta3, in configurations and policies. Their weights are 2, 2 and 3 today.
var onceLighter = [...]string{"InterPodAffinity", "NodeAffinity", "TaintToleration"}

// weights writes the weights that the default scores had, of those that the document says nothing about.
func (d *oldDocument) weights(p mapping) {
	if d.version == "v1beta3" {
		return
	}
	plugins := child(p, "plugins")
	s, _ := plugins["score"].(mapping)
	if s == nil {
		s = mapping{}
	}
	named := map[any]bool{}
	for _, x := range append(mappingsOf(s, "enabled"), mappingsOf(s, "disabled")...) {
		named[x["name"]] = true
	}
	for _, name := range onceLighter {
		if !named["*"] && !named[name] {
			appendTo(s, "enabled", mapping{"name": name, "weight": 1})
			plugins["score"] = s
		}
	}
	if len(plugins) == 0 {
		delete(p, "plugins")
	}
}

// set renames the plugins of one list. It drops repeated names.
func (d *oldDocument) set(p mapping, point string, set mapping) {
	for _, key := range [...]string{"enabled", "disabled"} {
		items, ok := set[key].([]any)
		if !ok {
			continue
		}
		var out []any
		seen := map[string]bool{}
		for _, item := range items {
			o, ok := item.(mapping)
			if !ok {
				out = append(out, item)
				continue
			}
			name, _ := o["name"].(string)
			for _, now := range d.rename(p, point+"."+key, name, key == "enabled") {
				if seen[now] {
					continue
				}
				seen[now] = true
				renamed := mapping{}
				for k, v := range o {
					renamed[k] = v
				}
				renamed["name"] = now
				out = append(out, renamed)
			}
		}
		if set[key] = out; len(out) == 0 {
			delete(set, key)
		}
	}
}

// rename returns today's names of a plugin at a point. A removed plugin that is only disabled needs no note.
func (d *oldDocument) rename(p mapping, at, name string, enabled bool) []string {
	if _, ok := inTree[name]; ok || name == "*" {
		return []string{name}
	}
	if old, ok := ModernPriority(name); ok {
		if !enabled {
			return nil
		}
		if old.Note != "" {
			d.note("plugins.%s: %s: %s", at, name, old.Note)
		}
		if old.Strategy != "" {
			d.strategy(p, old.Strategy, nil)
		}
		if old.Plugin == "" {
			return nil
		}
		return []string{old.Plugin}
	}
	if old, ok := history.FindOldFilter(name); ok {
		if enabled && old.Note != "" {
			d.note("plugins.%s: %s: %s", at, name, old.Note)
		}
		if !enabled {
			return nil
		}
		return slices.Clone(old.Plugins)
	}
	return []string{name} // a plugin of the user
}

// strategy sets the type of the profile's scoring strategy and the fields that args give it.
func (d *oldDocument) strategy(p mapping, kind string, args mapping) {
	var entry mapping
	for _, e := range mappingsOf(p, "pluginConfig") {
		if e["name"] == fitPlugin {
			entry = e
		}
	}
	if entry == nil {
		entry = mapping{"name": fitPlugin}
		appendTo(p, "pluginConfig", entry)
	}
	s := child(child(entry, "args"), "scoringStrategy")
	if was, ok := s["type"].(string); ok && was != kind {
		d.note("%s: left out, NodeResourcesFit has one strategy and it is %s already; another profile can have another", kind, was)
		return
	}
	s["type"] = kind
	if r, ok := args["resources"]; ok {
		s["resources"] = r
	}
	for _, key := range [...]string{"functionShape", "shape"} {
		if shape, ok := args[key]; ok && kind == string(configv1.RequestedToCapacityRatio) {
			s["requestedToCapacityRatio"] = mapping{"shape": shape}
		}
	}
}

// pluginConfig moves the arguments of plugins that became strategies, and drops the arguments of removed plugins.
func (d *oldDocument) pluginConfig(p mapping) {
	items, ok := p["pluginConfig"].([]any)
	if !ok {
		return
	}
	var keep []any
	type moved struct {
		strategy string
		args     mapping
	}
	var later []moved
	for _, item := range items {
		o, _ := item.(mapping)
		name, _ := o["name"].(string)
		args, _ := o["args"].(mapping)
		old, isOld := ModernPriority(name)
		_, gone := history.FindOldFilter(name)
		switch _, current := inTree[name]; {
		case current:
			delete(args, "apiVersion") // the same version as the document's
			delete(args, "kind")
			d.oldDefaults(name, args)
			keep = append(keep, item)
		case isOld && old.Strategy != "":
			later = append(later, moved{old.Strategy, args})
		case isOld || gone:
			d.note("pluginConfig: %s is gone", name)
		default:
			keep = append(keep, item)
		}
	}
	if p["pluginConfig"] = keep; len(keep) == 0 {
		delete(p, "pluginConfig")
	}
	for _, m := range later {
		d.strategy(p, m.strategy, m.args)
	}
}

// oldDefaults writes what an argument that is absent meant. Up to v1beta1 defaultConstraints stood for themselves; since v1beta2 the
// type without a value is System, which excludes them.
func (d *oldDocument) oldDefaults(plugin string, args mapping) {
	constraints, _ := args["defaultConstraints"].([]any)
	if plugin != "PodTopologySpread" || len(constraints) == 0 || args["defaultingType"] != nil {
		return
	}
	if d.version == "v1alpha2" || d.version == "v1beta1" {
		args["defaultingType"] = string(configv1.ListDefaulting)
	}
}
