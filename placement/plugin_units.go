package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// over returns the profile of one plan: its plugins are over the Volumes and the devices that they share, and keep what the plan's goroutine
// alone uses.
func (p Profile) over(c Cluster) Profile {
	p.Volumes = volumesOr(p.Volumes, c)
	if p.Devices == nil {
		p.Devices = newDevices(c)
	}
	p.Filters = slices.Clone(p.Filters)
	p.Scores = slices.Clone(p.Scores)
	shared := map[*Plugin]*Plugin{}
	over := func(plugin *Plugin) *Plugin {
		if shared[plugin] == nil {
			switch {
			case plugin.WithShared != nil:
				shared[plugin] = plugin.WithShared(p)
			case plugin.own != nil:
				shared[plugin] = plugin.own(plugin)
			default:
				shared[plugin] = plugin
			}
		}
		return shared[plugin]
	}
	for k := range p.Filters {
		p.Filters[k] = over(p.Filters[k])
	}
	for k := range p.Scores {
		p.Scores[k].Plugin = over(p.Scores[k].Plugin)
	}
	return p
}

// units returns the plugins in the form of the engine. A plugin that filters and scores is one unit.
func (p Profile) units(c Cluster) []hooks.Plugin {
	var out []hooks.Plugin
	at := map[*Plugin]int{}
	unit := func(x *Plugin) *hooks.Plugin {
		k, known := at[x]
		if !known {
			k = len(out)
			at[x] = k
			out = append(out, x.unit(c))
		}
		return &out[k]
	}
	for k, f := range p.Filters {
		unit(f).Filter = k
	}
	for k, w := range p.Scores {
		u := unit(w.Plugin)
		u.Score, u.Weight = k, w.weight()
	}
	return out
}

// unit returns the plugin in the form of the engine, without its places in the lists.
func (p *Plugin) unit(c Cluster) hooks.Plugin {
	u := hooks.Plugin{
		Name: p.Name, Keep: p.Keep, Filter: -1, Score: -1,
		AppendKey: p.AppendKey, KeyName: p.KeyName, Parts: p.KeyParts, Skips: p.Skips,
		Predicate: func(pod *v1.Pod) (filter.Predicate, bool) {
			f := p.Filter(pod, c)
			if f.Code == filter.Skip {
				return nil, true
			}
			return f.Predicate, f.Code == filter.Success && f.Nodes == nil
		},
		Scorer: func(pod *v1.Pod) (hooks.Scorer, error) {
			s, err := p.Score(pod, c)
			if s == nil {
				return nil, err
			}
			return s, err
		},
		Open: func() hooks.Counting { return p.states(c) },
	}
	for _, read := range p.ReadsOfOthers {
		if read != storageObjects {
			u.Reads = append(u.Reads, read)
			continue
		}
		u.Storage = func(pod *v1.Pod) bool { return p.Skips == nil || !p.Skips(pod) }
	}
	if p.AppendSharedKey != nil {
		prepare := u.Predicate
		u.KeyName, u.Parts, u.AppendKey = "", nil, func(dst []byte, pod *v1.Pod) []byte {
			if key, ok := p.AppendSharedKey(append(dst, 1), pod); ok {
				return key
			}
			return append(dst, 0)
		}
		u.Predicate = func(pod *v1.Pod) (filter.Predicate, bool) {
			if _, ok := p.AppendSharedKey(nil, pod); !ok {
				return nil, false
			}
			return prepare(pod)
		}
	}
	if p.AppendRowKey != nil {
		u.AppendRowKey = func(dst []byte, pod *v1.Pod) []byte { return p.AppendRowKey(dst, pod, c) }
	}
	return u
}
