package upgrade

import (
	"slices"
	"strconv"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// pluginChange is a plugin of the default profile that is not the same in both versions.
type pluginChange struct {
	Plugin string `json:"plugin"`
	Change string `json:"change"` // "presence", "weight", "order" or "points"
	From   string `json:"from"`   // how it was
	To     string `json:"to"`     // how it is
	Rule   rule   `json:"rule"`   // the difference
}

// pluginChanges compares the default profiles.
func pluginChanges(from, to release.Version) []pluginChange {
	out := []pluginChange{}
	before, after := plugins.Default(from), plugins.Default(to)
	at := func(list []plugins.Plugin, name string) int {
		return slices.IndexFunc(list, func(p plugins.Plugin) bool { return p.Name == name })
	}
	add := func(plugin, change, was, is, id string) {
		out = append(out, pluginChange{plugin, change, was, is, ruleOf(id)})
	}
	names := slices.Clone(before)
	for _, p := range after {
		if at(before, p.Name) == -1 {
			names = append(names, p)
		}
	}
	for _, p := range names {
		i, k := at(before, p.Name), at(after, p.Name)
		if i < 0 || k < 0 {
			add(p.Name, "presence", presence(i), presence(k), "L2.2")
			continue
		}
		x, y := before[i], after[k]
		if x.Weight != y.Weight {
			add(p.Name, "weight", strconv.Itoa(int(x.Weight)), strconv.Itoa(int(y.Weight)), "L2.3")
		}
		if i != k {
			add(p.Name, "order", "place "+strconv.Itoa(i+1), "place "+strconv.Itoa(k+1), "L2.1")
		}
		if x.At("PreFilter") != y.At("PreFilter") {
			add(p.Name, "points", served(x), served(y), "L2.5")
		}
	}
	if scores := func(v release.Version) bool { return v.AtLeast(release.V1_37) }; scores(from) != scores(to) {
		add(plugins.VolumeBinding, "points", scoring(scores(from)), scoring(scores(to)), "L2.4")
	}
	return out
}

func presence(at int) string {
	if at < 0 {
		return "absent"
	}
	return "place " + strconv.Itoa(at+1)
}

func served(p plugins.Plugin) string {
	if p.At("PreFilter") {
		return "PreFilter and Filter"
	}
	return "Filter"
}

func scoring(does bool) string {
	if does {
		return "scores, weight 1"
	}
	return "scores nothing"
}

// ruleOf returns a rule by its identifier.
func ruleOf(id string) rule {
	for _, d := range release.Differences() {
		if d.ID == id {
			return rule{d.ID, d.Sentence}
		}
	}
	return rule{ID: id}
}
