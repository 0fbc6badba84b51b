package diagnose

import (
	"maps"
	"slices"
	"strings"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/resources"
)

// common is what diagnoses of several pods over one snapshot share.
type common struct {
	shapes   map[int]string       // by slot; nil: not asked yet
	untaints map[[2]string]string // why a taint stays, by the name of the node and the taint
}

func newCommon() *common { return &common{untaints: map[[2]string]string{}} }

// shapesOf returns the shapes of the nodes: allocatable resources, taints that a new node has too, and those labels that other nodes have.
func (x *common) shapesOf(s *cluster.Snapshot) map[int]string {
	if x.shapes != nil {
		return x.shapes
	}
	shared := map[[2]string]int{}
	for _, i := range s.Order() {
		for k, v := range s.Node(int(i)).Labels {
			shared[[2]string{k, v}]++
		}
	}
	x.shapes = map[int]string{}
	for _, i := range s.Order() {
		n := s.Node(int(i))
		var b strings.Builder
		for _, r := range slices.Sorted(maps.Keys(n.Status.Allocatable)) {
			b.WriteString(string(r) + "=" + decimal(resources.Value(r, n.Status.Allocatable[r])) + ",")
		}
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			if shared[[2]string{k, n.Labels[k]}] > 1 {
				b.WriteString(k + "=" + n.Labels[k] + ",")
			}
		}
		for _, t := range n.Spec.Taints {
			if !passes(n, t) {
				b.WriteString(t.ToString())
			}
		}
		x.shapes[int(i)] = b.String()
	}
	return x.shapes
}
