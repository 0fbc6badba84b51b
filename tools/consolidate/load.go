package consolidate

import (
	"cmp"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/profile"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// input is a cluster to plan for.
type input struct {
	planner *consolidation.Planner
	asks    consolidation.Input // of the planner
	// withoutAnnotations is asks.Hold where annotations hold no pod; nil when asks.Hold is that.
	withoutAnnotations func(pod *v1.Pod) string
	nodes              int
	template           proof.Question // of -gang
	short              *report.Nodes
	prices             map[*v1.Node]int64 // in millionths; nil: every node costs 1
	warnings           report.Warnings
}

// load reads the cluster.
func load(o options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	planned, err := objects.Snapshot(dump.Planning{Strict: o.Input.Strict, Orphans: "counted nowhere"})
	if err != nil {
		return nil, err
	}
	pending := 0
	for _, p := range objects.Pods {
		if p.Spec.NodeName == "" {
			pending++
		}
	}
	if pending > 0 {
		objects.Warnings.Add(fmt.Sprintf("%s without a node: the plan leaves them no room", report.Count(pending, "pod")))
	}
	decides, warnings, err := profile.Of(o.config, objects.PluginArgs(o.gates), o.Input)
	if err != nil {
		return nil, err
	}
	for _, text := range warnings {
		objects.Warnings.Add(text)
	}
	objects.WarnOfUnknownOwners()
	in := &input{nodes: len(objects.Nodes), short: objects.ShortNodes()}
	if o.why != "" {
		names := make([]string, len(objects.Nodes))
		for i, n := range objects.Nodes {
			names[i] = n.Name
		}
		if err := program.CheckNode("-why", o.why, names); err != nil {
			return nil, err
		}
	}
	x := consolidation.Input{
		Snapshot: planned.Snapshot, Deployments: objects.Deployments, DaemonSets: objects.DaemonSets, Profile: decides, EmptyDirs: o.emptyDirs,
		Defragment: v1.ResourceName(o.defragment), FreeDomains: o.freeDomains,
	}
	gates, err := objects.Groups(o.gates)
	if err != nil {
		return nil, err
	}
	byGroup := func(pod *v1.Pod) string { return heldByGroup(planned.Snapshot, pod, gates) }
	x.Hold = byGroup
	if !o.annotated {
		x.Hold = func(pod *v1.Pod) string { return cmp.Or(consolidation.HeldByAnnotation(pod), byGroup(pod)) }
		in.withoutAnnotations = byGroup
	}
	if o.freeDomains != "" && !slices.ContainsFunc(objects.Nodes, func(n *v1.Node) bool { _, ok := n.Labels[o.freeDomains]; return ok }) {
		return nil, fmt.Errorf("-free-domains: Not found: %q: no node has the label", o.freeDomains)
	}
	if o.gang != "" {
		if in.template, err = template(o, planned.Snapshot, objects.Pods, x, gates); err != nil {
			return nil, err
		}
	}
	types, err := readTypes(o)
	if err != nil {
		return nil, err
	}
	if o.priceLabel != "" {
		in.prices = map[*v1.Node]int64{}
		for _, n := range append(types, objects.Nodes...) {
			if in.prices[n], err = price(n, o.priceLabel); err != nil {
				return nil, err
			}
		}
		x.Price = func(n *v1.Node) int64 { return in.prices[n] }
	}
	for _, n := range types {
		t := consolidation.Type{Node: n, Price: 1}
		if in.prices != nil {
			t.Price = in.prices[n]
		}
		x.Types = append(x.Types, t)
	}
	in.warnings, in.asks = objects.Warnings, x
	in.planner, err = consolidation.New(x)
	return in, err
}

// readTypes reads the nodes that could be added.
func readTypes(o options) ([]*v1.Node, error) {
	if len(o.types) == 0 {
		return nil, nil
	}
	objects, err := dump.Read(o.types, strings.NewReader(""), o.Input)
	if err != nil {
		return nil, fmt.Errorf("-types: %w", err)
	}
	if len(objects.Nodes) == 0 {
		return nil, fmt.Errorf("-types: Required value: there is no Node in it")
	}
	return objects.Nodes, nil
}

// millionths is the unit of prices.
const millionths = 1_000_000

// price reads the price of a node.
func price(n *v1.Node, label string) (int64, error) {
	text, ok := n.Labels[label]
	if !ok {
		return 0, fmt.Errorf("node %s: metadata.labels[%s]: Required value: the price of the node", n.Name, label)
	}
	r, ok := new(big.Rat).SetString(text)
	if ok {
		r.Mul(r, big.NewRat(millionths, 1))
	}
	if !ok || !r.IsInt() || !r.Num().IsInt64() || r.Sign() < 0 || r.Num().Int64() > 1e15 {
		return 0, fmt.Errorf("node %s: metadata.labels[%s]: Invalid value: %q: must be a number from 0 to 1000000000 with at most six decimals", n.Name, label, text)
	}
	return r.Num().Int64(), nil
}

// cost writes a cost in the unit of the prices.
func (in *input) cost(n int64) string {
	if in.prices == nil {
		return fmt.Sprint(n)
	}
	return strings.TrimRight(strings.TrimRight(big.NewRat(n, millionths).FloatString(6), "0"), ".")
}
