package score

import (
	"errors"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/plugins"
)

// Plugin is a score plugin with its weight.
type Plugin struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight,omitempty"`
}

// PluginSet is a list of a profile for one extension point or for all (multiPoint).
type PluginSet struct {
	Enabled  []Plugin
	Disabled []string // names; "*" is all
}

// DefaultPlugins returns the score plugins of v1.36 with their weights, in the order in which they run.
func DefaultPlugins() []Plugin {
	var out []Plugin
	for _, p := range plugins.Default() {
		if p.At("Score") {
			out = append(out, Plugin{p.Name, int64(max(p.Weight, 1))})
		}
	}
	return out
}

// DefaultPlugins118 returns the score plugins of v1.18 with their weights.
func DefaultPlugins118() []Plugin {
	return []Plugin{
		{"NodeResourcesBalancedAllocation", 1},
		{"ImageLocality", 1},
		{"InterPodAffinity", 1},
		{"NodeResourcesLeastAllocated", 1},
		{"NodeAffinity", 1},
		{"NodePreferAvoidPods", 10000},
		{"DefaultPodTopologySpread", 1},
		{"TaintToleration", 1},
	}
}

// Resolve returns the score plugins of a profile with their weights, in the order in which v1.36 runs them: those in both
// lists and not disabled, in the order of score; the others of multi; the others of score. scores reports whether a plugin
// of multi scores at all; nil: every one does. With "*" disabled only score counts, in its order.
//
// The weight of a plugin is the one of its first entry in score, then multi, and 1 when that is 0: a default plugin listed
// again in score without weight counts once. Negative weights are taken as they are (see ValidatePlugins). Errors are
// v1.36's: a name twice in one list, or weights so large that a total could overflow.
// Rule: documentation, "Scheduler Configuration" (Scheduling plugins, MultiPoint).
func Resolve(score, multi PluginSet, scores func(name string) bool) ([]Plugin, error) {
	weights := map[string]int64{}
	for _, p := range append(append([]Plugin(nil), score.Enabled...), multi.Enabled...) {
		if _, ok := weights[p.Name]; !ok {
			weights[p.Name] = p.Weight
			if p.Weight == 0 {
				weights[p.Name] = 1
			}
		}
	}
	disabled := map[string]bool{}
	for _, name := range score.Disabled {
		disabled[name] = true
	}
	own, inMulti := names(score.Enabled), names(multi.Enabled)
	var both, rest []Plugin
	seen := map[string]bool{}
	for _, p := range score.Enabled {
		if seen[p.Name] {
			return nil, registered(p.Name)
		}
		seen[p.Name] = true
		if inMulti[p.Name] && !disabled[p.Name] {
			both = append(both, Plugin{p.Name, weights[p.Name]})
		} else {
			rest = append(rest, Plugin{p.Name, weights[p.Name]})
		}
	}
	if disabled["*"] {
		list := make([]Plugin, len(score.Enabled))
		for i, p := range score.Enabled {
			list[i] = Plugin{p.Name, weights[p.Name]}
		}
		return list, checkOverflow(list)
	}
	list := both
	clear(seen)
	for _, p := range multi.Enabled {
		if disabled[p.Name] || own[p.Name] || scores != nil && !scores(p.Name) {
			continue
		}
		if seen[p.Name] {
			return nil, registered(p.Name)
		}
		seen[p.Name] = true
		list = append(list, Plugin{p.Name, weights[p.Name]})
	}
	list = append(list, rest...)
	return list, checkOverflow(list)
}

func names(list []Plugin) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, p := range list {
		m[p.Name] = true
	}
	return m
}

func registered(name string) error {
	return fmt.Errorf("plugin %q already registered as %q", name, "ScorePlugin")
}

func checkOverflow(list []Plugin) error {
	var sum int64
	for _, p := range list {
		if p.Weight > (math.MaxInt64-sum)/MaxScore {
			return errors.New("total score of Score plugins could overflow")
		}
		sum += p.Weight * MaxScore
	}
	return nil
}

// ValidatePlugins refuses what v1.36 lets pass: negative weights, which turn a plugin's preference around and make totals
// negative. Weight 0 is legal and stands for 1.
func ValidatePlugins(list []Plugin, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, p := range list {
		if p.Weight < 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("weight"), p.Weight, "must not be negative: the preference of "+p.Name+" would be reversed"))
		}
	}
	return errs
}
