package diagnose

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// rehouse looks for another node for each pod that leaves, the most important first, with the pod on its node, and fills in
// Leaving. It returns the pods that get none.
func (d *diagnosis) rehouse(c *Change, s *cluster.Snapshot) (stuck []*v1.Pod) {
	home := map[string]string{}
	for _, q := range c.remove {
		home[podinfo.Name(q)] = d.nodeOf(q)
	}
	p := d.profileOver(s) // a pod that leaves may go to any node but its own
	p.Filters = append([]*placement.Plugin{{Name: d.freeFilter("Elsewhere"), Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: elsewhere{c, home[podinfo.Name(pod)]}}
	}}}, p.Filters...)
	placer := must.Get(placement.NewPlacer(s, p))
	c.to = map[*v1.Pod]string{}
	for _, q := range c.remove {
		l := Leaving{Pod: podinfo.Name(q), Node: d.nodeOf(q), Priority: podinfo.Priority(q)}
		again := unplaced(q)
		if dec := placer.Decide(again, placement.Options{}); dec.Placed() && !usesDevices(q) {
			must.Do(placer.Assume(again, dec))
			l.To, c.to[q] = dec.Node, dec.Node
		} else {
			stuck = append(stuck, q)
		}
		c.Leaving = append(c.Leaving, l)
	}
	slices.Reverse(c.Leaving)
	return stuck
}

// elsewhere rejects one node.
type elsewhere struct {
	c    placement.Cluster
	node string
}

func (elsewhere) Name() string { return "Elsewhere" }

func (elsewhere) Reasons(resources.Verdict) []string {
	return []string{"the pod leaves the node"}
}

func (e elsewhere) Check(i int) resources.Verdict {
	if n := e.c.Node(i); n == nil || n.Name == e.node {
		return 1
	}
	return 0
}
