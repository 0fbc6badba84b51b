package plugins

import (
	"slices"

	"github.com/podberth/podberth/release"
)

// defaultOf returns the default plugins of a release, made from those of v1.36.
func defaultOf(v release.Version, list []Plugin) []Plugin {
	if !v.AtLeast(release.V1_36) { // rule L2.2
		list = slices.DeleteFunc(list, func(p Plugin) bool { return p.Name == NodeDeclaredFeatures })
	}
	at := func(name string) int { return slices.IndexFunc(list, func(p Plugin) bool { return p.Name == name }) }
	if !v.AtLeast(release.V1_35) { // rule L2.3
		p := &list[at(DynamicResources)]
		p.Weight, p.Points = 0, without(p.Points, "Score")
	}
	if v.AtLeast(release.V1_37) {
		name, cordon := at(NodeName), at(NodeUnschedulable) // rule L2.1
		list[name], list[cordon] = list[cordon], list[name]
		for _, p := range []string{NodeName, NodeUnschedulable, TaintToleration} { // rule L2.5
			x := &list[at(p)]
			x.Points = append([]string{"PreFilter"}, x.Points...)
		}
		for _, p := range []string{DynamicResources, DefaultPreemption} { // rule L11.4
			x := &list[at(p)]
			x.Points = append(x.Points, "PodGroupPostFilter")
		}
	}
	return list
}

// without returns the points except one, in the same list.
func without(points []string, point string) []string {
	return slices.DeleteFunc(points, func(p string) bool { return p == point })
}
