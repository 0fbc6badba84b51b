package config

import (
	"slices"

	"github.com/podberth/podberth/release/plugins"
)

// Point is an extension point of the scheduling framework that lists plugins.
type Point int

// The extension points, in the order in which kube-scheduler reads their lists at start. Errors are found in this order.
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
	PodGroupPostFilter
	numPoints // the number of points
)

var pointNames = [numPoints]string{
	"PreFilter", "Filter", "PostFilter", "Reserve", "PreScore", "Score", "PreBind", "Bind", "PostBind", "Permit",
	"PreEnqueue", "QueueSort", "PlacementGenerate", "PlacementScore", "PodGroupPostFilter",
}

// Points returns all extension points.
func Points() []Point {
	list := make([]Point, numPoints)
	for k := range list {
		list[k] = Point(k)
	}
	return list
}

// String returns the point's name, such as "PreFilter".
func (p Point) String() string {
	if p < 0 || p >= numPoints {
		return "unknown"
	}
	return pointNames[p]
}

// inTree are the plugins of kube-scheduler v1.37 with the points of each.
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
