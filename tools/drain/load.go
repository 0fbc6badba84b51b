package drain

import (
	"fmt"
	"io"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// input is a cluster, ready to be drained.
type input struct {
	objects  *dump.Objects
	nodes    []string                        // to drain
	budgets  []*policyv1.PodDisruptionBudget // each with a status
	scale    disruption.Scale                // nil: not all controllers are known
	notes    map[string][]string             // what is said about a budget, by its name
	failing  map[string]string               // why the sync of a budget fails for ever, by its name
	gates    *podgroup.Gates                 // with which groups of pods count; nil: they do not
	groups   *cluster.Snapshot               // has them
	args     placement.PluginArgs            // by feature gates
	warnings report.Warnings
}

// load reads the cluster, checks it against the command line and completes the budgets.
func load(o options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	objects.Tolerations.ComparisonOperators = o.gates.Compares()
	expanded := &dump.Expanded{}
	if o.expand {
		if expanded, err = objects.Expand(false); err != nil {
			return nil, err
		}
		objects.TellCounted(expanded.Counted)
	}
	if err := objects.Orphans("left out of the plan"); err != nil && o.Input.Strict {
		return nil, err
	}
	in := &input{objects: objects}
	if err := in.choose(o); err != nil {
		return nil, err
	}
	objects.Absent(dump.Asks{Budgets: true, Placed: func(p *v1.Pod) bool {
		return dump.Pending(p) || slices.Contains(in.nodes, p.Spec.NodeName)
	}})
	_ = objects.AdmitMade(expanded.Pods) // a warning names what is refused
	in.args = objects.PluginArgs(o.gates)
	if in.gates, err = objects.Groups(o.gates); err != nil {
		return nil, err
	}
	if in.gates != nil {
		list, composites := objects.AcceptedGroups()
		if in.groups, err = cluster.New(cluster.Objects{PodGroups: list, CompositePodGroups: composites}); err != nil {
			return nil, err
		}
	}
	in.warnings = objects.Warnings
	return in, in.complete(o)
}

// choose lists the nodes to drain: the nodes of the command line, or the nodes with the labels of -l, sorted by name.
func (in *input) choose(o options) error {
	var names []string
	for _, n := range in.objects.Nodes {
		names = append(names, n.Name)
		if o.selector != nil && o.selector.Matches(labels.Set(n.Labels)) {
			in.nodes = append(in.nodes, n.Name)
		}
	}
	slices.Sort(in.nodes)
	if o.selector != nil && len(in.nodes) == 0 {
		return fmt.Errorf("-l: Not found: %q: no node of the input has these labels", o.selector)
	}
	for i, n := range o.nodes {
		if err := program.CheckNode("NODE", n, names); err != nil {
			return err
		}
		if slices.Contains(o.nodes[:i], n) {
			return fmt.Errorf("NODE: Duplicate value: %q", n)
		}
	}
	in.nodes = append(in.nodes, o.nodes...)
	return nil
}

// unit returns the group with disruption mode All that the pod leaves with, "" for a pod that leaves alone.
func (in *input) unit(pod *v1.Pod) string {
	if in.gates == nil {
		return ""
	}
	unit, _, _ := podgroup.UnitOf(in.groups, pod, *in.gates)
	if unit == nil {
		return ""
	}
	return unit.String()
}

func (in *input) pod(name string) *v1.Pod {
	for _, p := range in.objects.Pods {
		if p.Namespace+"/"+p.Name == name {
			return p
		}
	}
	return nil
}
