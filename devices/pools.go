package devices

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/release"
)

// pool is the part of a pool that one node sees.
type pool struct {
	key     poolKey
	group   *group
	all     []*slice // the slices whose counters are used: the relevant slices when they are complete, else all slices of the generation
	devices []*device
	binding bool // some device has binding conditions
	state   poolState
	reason  string // why the pool is incomplete or invalid; empty when it is neither

	sets map[counterID]counter
}

type poolState uint8

const (
	complete poolState = iota
	incomplete
	invalid
)

// poolsOf returns the pools that a node sees, in the order of the search (rules U3.1 to U3.8). Every node looks at all slices
// with counters. A pool of which the node sees nothing else offers no devices, and is in the result only when it is incomplete
// or invalid.
func (a *Allocator) poolsOf(node *v1.Node) ([]*pool, error) {
	inv := a.inventory
	relevant := map[poolKey][]*slice{}
	for _, list := range a.offering(node) {
		for _, s := range list {
			ok, err := s.relevant(node)
			if err != nil {
				return nil, fatal("gather pool information: failed to perform node selection for %w", err)
			}
			if ok {
				relevant[s.pool] = append(relevant[s.pool], s)
			}
		}
	}
	var out []*pool
	for key, list := range relevant {
		if countersEverywhere(a.options.Release) {
			list = append(list, inv.pools[key].counters...)
		}
		if p := inv.pool(key, list, a.options); p != nil {
			out = append(out, p)
		}
	}
	for _, p := range a.troubled() {
		if relevant[p.key] == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pool) int {
		if a.binding != b.binding {
			if a.binding {
				return 1
			}
			return -1
		}
		return a.key.compare(b.key)
	})
	return out, nil
}

// troubled returns the pools that are incomplete or invalid for a node that sees only their slices with counters.
func (a *Allocator) troubled() []*pool {
	if !a.checked && countersEverywhere(a.options.Release) {
		a.checked = true
		for key, g := range a.inventory.pools {
			if len(g.counters) == 0 {
				continue
			}
			if p := a.inventory.pool(key, slices.Clone(g.counters), a.options); p != nil && p.state != complete {
				a.foreign = append(a.foreign, p)
			}
		}
	}
	return a.foreign
}

// relevant reports whether a node looks at a slice without counters (rule U3.1). The error names the slice or the device
// whose selector cannot be parsed.
func (s *slice) relevant(node *v1.Node) (bool, error) {
	if s.reach.kind != nowhere {
		ok, err := s.reach.has(node)
		if err != nil {
			err = fmt.Errorf("slice %s: %w", s.object.Name, err)
		}
		return ok, err
	}
	for k := range s.devices {
		d := &s.devices[k]
		ok, err := d.reach.has(node) // nowhere, unless the slice has PerDeviceNodeSelection
		if err != nil {
			return false, fmt.Errorf("device %v in slice %s: %w", d.object, s.object.Name, err)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}

// pool makes a pool from the relevant slices of one pool name, and reorders the list; nil when the pool is obsolete (rules U3.3, U3.4 and U3.7).
func (inv *Inventory) pool(key poolKey, relevant []*slice, options Options) *pool {
	generation := relevant[0].object.Spec.Pool.Generation
	for _, s := range relevant {
		generation = max(generation, s.object.Spec.Pool.Generation)
	}
	older := func(s *slice) bool { return s.object.Spec.Pool.Generation < generation }
	relevant = slices.DeleteFunc(relevant, older)
	slices.SortStableFunc(relevant, func(a, b *slice) int { return strings.Compare(a.object.Name, b.object.Name) })
	p := &pool{key: key, group: inv.pools[key]}
	newer := false
	for _, s := range p.group.all {
		switch g := s.object.Spec.Pool.Generation; {
		case g > generation:
			newer = true
		case g == generation:
			p.all = append(p.all, s)
		}
	}
	want := relevant[0].object.Spec.Pool.ResourceSliceCount
	if newer && (options.CurrentGeneration || int64(len(relevant)) != want) {
		return nil
	}
	switch {
	case int64(len(relevant)) == want:
		p.all = relevant
	case int64(len(p.all)) != want:
		p.state, p.reason = incomplete, fmt.Sprintf("%d of %d slices", len(p.all), want)
		return p
	}
	p.fill(relevant, options.Release)
	return p
}

// fill adds the devices and counter sets of the slices and finds contradictions between them (rule U3.6).
func (p *pool) fill(relevant []*slice, v release.Version) {
	p.sets = map[counterID]counter{}
	names, sets := map[string]bool{}, map[string]bool{}
	broken := func(format string, args ...any) {
		if p.state == complete {
			p.state, p.reason = invalid, fmt.Sprintf(format, args...)
		}
	}
	for _, s := range p.all {
		for k := range s.object.Spec.SharedCounters {
			set := &s.object.Spec.SharedCounters[k]
			if sets[set.Name] {
				broken("duplicate counter set name %s", set.Name)
			}
			sets[set.Name] = true
			for name, c := range set.Counters {
				p.sets[counterID{set.Name, name}] = counter{c.Value}
			}
		}
	}
	for _, s := range relevant {
		if s.counters {
			continue
		}
		for k := range s.devices {
			d := &s.devices[k]
			if names[d.id.Device] {
				broken("duplicate device name %s", d.id.Device)
			}
			names[d.id.Device] = true
			p.devices = append(p.devices, d)
			p.binding = p.binding || d.object.BindingConditions != nil
		}
	}
	for _, s := range p.all {
		if s.counters && !countersEverywhere(v) {
			continue
		}
		for k := range s.devices {
			p.checkCounters(s.devices[k].object, sets, broken)
		}
	}
	p.binding = p.binding && p.state == complete
}

func (p *pool) checkCounters(d *resourcev1.Device, sets map[string]bool, broken func(string, ...any)) {
	for _, use := range d.ConsumesCounters {
		if !sets[use.CounterSet] {
			broken("counter set %s not found", use.CounterSet)
		}
		for name := range use.Counters {
			if _, ok := p.sets[counterID{use.CounterSet, name}]; !ok {
				broken("counter %s not found in counter set %s", name, use.CounterSet)
			}
		}
	}
}
