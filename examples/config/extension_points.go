package config

import (
	"slices"

	"github.com/podberth/podberth/internal/plugins"
)

// Point is an extension point of the scheduling framework that lists plugins.
type Point int

// The extension points, in the order in which kube-scheduler goes through their lists when it starts. It is the order in
// which errors are found.
const (
	PreFilter Point = iota
	Filter
	PostFilter
	Reserve
	PreScore
	Score
	PreBind
	Bind
	PostBind
	Permit
	PreEnqueue
	QueueSort
	PlacementGenerate
	PlacementScore
	points // how many there are
)

var pointNames = [points]string{
	"PreFilter", "Filter", "PostFilter", "Reserve", "PreScore", "Score", "PreBind", "Bind", "PostBind", "Permit",
	"PreEnqueue", "QueueSort", "PlacementGenerate", "PlacementScore",
}

// Points returns all extension points.
func Points() []Point {
	list := make([]Point, points)
	for k := range list {
		list[k] = Point(k)
	}
	return list
}

// String returns the point's name, such as "PreFilter".
func (p Point) String() string {
	if p < 0 || p >= points {
		return "unknown"
	}
	return pointNames[p]
}

// inTree are the plugins that kube-scheduler v1.36 brings along, with the points that each takes part in.
var inTree = inTreePoints()

func inTreePoints() map[string][]Point {
	out := map[string][]Point{}
	for _, p := range plugins.InTree() {
		for _, name := range p.Points {
			out[p.Name] = append(out[p.Name], Point(slices.Index(pointNames[:], name)))
		}
	}
	return out
}
