package lint

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/diagnose"
)

// mostOpenings is the number of ways that a fix names.
const mostOpenings = 2

// opening says what opens one of some closed nodes to a workload, as far as the law of advice names it: tolerations of the taints, or
// what ends the state of the node.
func (c *checker) opening(w *work, nodes []*v1.Node) string {
	var tolerate, instead []string
	for _, n := range nodes {
		o := diagnose.OpeningOf(w.pod, n, diagnose.Around{Nodes: c.nodes, Kind: w.kind, Replicas: w.replicas, Taints: c.in.Plugins.Taints})
		switch {
		case len(o.Tolerate) > 0:
			var keys []string
			for _, t := range o.Tolerate {
				keys = append(keys, t.ToString())
			}
			tolerate = append(tolerate, "tolerate "+strings.Join(keys, " and "))
		case o.Instead != "":
			instead = append(instead, o.Instead)
		}
	}
	list := slices.Compact(append(tolerate, instead...))
	if len(list) == 0 {
		return "add a node that the pod may use"
	}
	return strings.Join(list[:min(mostOpenings, len(list))], ", or ")
}
