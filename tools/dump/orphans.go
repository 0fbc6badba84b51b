package dump

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Orphans adds a warning for each pod whose node the dump lacks, all in one group. Finished pods are left out, for they take no
// room. consequence says what follows, as in "counted nowhere". The error is the first warning, for programs that refuse such input; it is nil when every pod has its node.
func (o *Objects) Orphans(consequence string) error {
	known := map[string]bool{}
	for _, n := range o.Nodes {
		known[n.Name] = true
	}
	var first error
	for _, p := range o.Pods {
		node := p.Spec.NodeName
		if node == "" || known[node] || p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
			continue
		}
		text := fmt.Sprintf("pod %s/%s: spec.nodeName: Invalid value: %q: no such node in the input", p.Namespace, p.Name, node)
		if first == nil {
			first = errors.New(text)
		}
		group := "%d pods are on nodes that are not in the input; " + consequence
		if len(o.Nodes) == 0 {
			group = "%d pods are on nodes, and the input has no Node; " + consequence
		}
		o.Warnings.Aside(group, text+"; "+consequence)
	}
	return first
}

// escape returns text for a place in a format.
func escape(text string) string { return strings.ReplaceAll(text, "%", "%%") }
