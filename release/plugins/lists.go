package plugins

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/podberth/podberth/score"
)

// Merge merges the list that a profile enables into a default list:
//
//  1. With disabled "*" no default stays, otherwise all defaults except the disabled ones.
//  2. A default that the profile enables too is replaced at its place by the profile's last entry of that name.
//  3. The other enabled plugins follow in the profile's order.
//
// name returns the name of an entry. Nil lists are empty lists.
func Merge[P any](defaults, enabled []P, disabled []string, name func(P) string) []P {
	var out []P
	taken := make([]bool, len(enabled))
	if !slices.Contains(disabled, "*") {
		for _, p := range defaults {
			if slices.Contains(disabled, name(p)) {
				continue
			}
			for k := len(enabled) - 1; k >= 0; k-- {
				if name(enabled[k]) == name(p) {
					p, taken[k] = enabled[k], true
					break
				}
			}
			out = append(out, p)
		}
	}
	for k, p := range enabled {
		if !taken[k] {
			out = append(out, p)
		}
	}
	return out
}

// Expand returns the names of the plugins that run at a point, in order:
//
//  1. plugins in the point's own list and in multiPoint that the point does not disable, in the point's order;
//  2. plugins of multiPoint that have the point and that the point neither lists nor disables;
//  3. the other plugins of the point's own list.
//
// A point that disables "*" has only its own list. has reports whether a plugin of multiPoint has the point; its error ends
// Expand. A plugin that multiPoint lists twice is an error with kube-scheduler's text.
func Expand(point string, own, disabled, multi []string, has func(name string) (bool, error)) ([]string, error) {
	if slices.Contains(disabled, "*") {
		return slices.Clone(own), nil
	}
	var both, middle, rest []string
	for _, name := range own {
		if slices.Contains(multi, name) && !slices.Contains(disabled, name) {
			both = append(both, name)
		} else {
			rest = append(rest, name)
		}
	}
	for _, name := range multi {
		is, err := has(name)
		switch {
		case err != nil:
			return nil, err
		case !is, slices.Contains(disabled, name), slices.Contains(own, name):
		case slices.Contains(middle, name):
			return nil, Registered(point, name)
		default:
			middle = append(middle, name)
		}
	}
	return slices.Concat(both, middle, rest), nil
}

// Weights returns the factor of each plugin of a point with scores (rule C1.7): the weight of the plugin's first entry in the
// point's own list, else in multiPoint. Weight 0 means 1. entry returns the name and the weight of an entry. has reports
// whether a plugin has the point.
//
// The error says that a total could leave int64 (rule C1.12). Like kube-scheduler, Weights sums all weights in this order,
// disabled plugins included, and also refuses weights whose sum is below 0 before the last weight.
func Weights[P any](own, multi []P, entry func(P) (name string, weight int64), has func(name string) bool) (map[string]int64, error) {
	out := map[string]int64{}
	var sum int64
	for _, p := range slices.Concat(own, multi) {
		name, weight := entry(p)
		if _, ok := out[name]; ok || !has(name) {
			continue
		}
		if weight == 0 {
			weight = 1
		}
		if sum < 0 || weight > (math.MaxInt64-sum)/score.MaxScore || weight < math.MinInt64/score.MaxScore {
			return nil, errors.New("total score of Score plugins could overflow")
		}
		sum += weight * score.MaxScore
		out[name] = weight
	}
	return out, nil
}

// Registered returns kube-scheduler's error for a plugin that is listed twice for a point.
func Registered(point, name string) error {
	return fmt.Errorf("plugin %q already registered as %q", name, point+"Plugin")
}
