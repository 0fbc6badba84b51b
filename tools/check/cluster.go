package check

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// clusterCheck is the answer about the whole cluster, in the form in which it is printed.
type clusterCheck struct {
	report.Head
	Pods       int         `json:"pods"`       // how many pods run
	Violations []violation `json:"violations"` // the running pods that their nodes would reject if they came now
	// How many groups of pods have spread constraints: the pods of a controller, or one pod without a controller.
	Groups   int       `json:"groups"`
	Findings []finding `json:"findings"` // likely mistakes in these constraints
}

// violation is a running pod that its node would reject if the pod came now.
type violation struct {
	Pod        string                `json:"pod"`
	Namespace  string                `json:"namespace"`
	Name       string                `json:"name"`
	Node       string                `json:"node"`       // the node of the pod
	Rejections []placement.Rejection `json:"rejections"` // the plugins that reject
}

// finding is a likely mistake in the constraints of pods that belong together.
type finding struct {
	Owner string `json:"owner"` // the controller, as "KIND NAMESPACE/NAME"; "" for a pod without one
	// The kind of mistake: MixedConstraints, MixedNamespaces, UnknownAction, InvalidSelector, NoSelector, SelectorMissesPod,
	// SelectorMissesGroup, AbsentMatchLabelKey, NodesWithoutKey or TooFewDomains.
	Kind string `json:"kind"`
	// The index in spec.topologySpreadConstraints; -1 for a mistake of no single constraint.
	Constraint int      `json:"constraint"`
	Pods       []string `json:"pods"`    // the pods, as NAMESPACE/NAME
	Nodes      []string `json:"nodes"`   // the nodes that the mistake is about
	Message    string   `json:"message"` // the mistake in words
}

// check asks about every running pod, and about the constraints of all pods.
func (in *input) check(ctx context.Context, o options) (*clusterCheck, error) {
	c := &clusterCheck{Head: report.HeadOf("ClusterCheck"), Violations: []violation{}, Findings: []finding{}}
	for _, p := range in.objects.Pods {
		if running(p) && o.Tables.Shows(p.Namespace) {
			c.Pods++
		}
	}
	for _, v := range in.plan.Violations() {
		namespace, name, _ := strings.Cut(v.Pod, "/")
		if o.Tables.Shows(namespace) {
			c.Violations = append(c.Violations, violation{v.Pod, namespace, name, v.Node, v.Rejections})
		}
	}
	for _, group := range groups(in.objects.Pods) {
		if err := program.Interrupted(ctx); err != nil {
			return nil, err
		}
		if o.Tables.Shows(group[0].Namespace) {
			c.Groups++
			c.Findings = append(c.Findings, in.findings(group)...)
		}
	}
	return c, nil
}

// groups returns the pods that belong together and have constraints, in input order: pods of one controller, and each other
// pod alone.
func groups(pods []*v1.Pod) (list [][]*v1.Pod) {
	at, constrained := map[string]int{}, map[int]bool{}
	for _, p := range pods {
		if cluster.Finished(p) || p.DeletionTimestamp != nil {
			continue
		}
		owner := ownerOf(p)
		i, known := at[owner]
		if owner == "" || !known {
			i = len(list)
			at[owner] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], p)
		constrained[i] = constrained[i] || len(p.Spec.TopologySpreadConstraints) > 0
	}
	var out [][]*v1.Pod
	for i, group := range list {
		if constrained[i] {
			out = append(out, group)
		}
	}
	return out
}

// findings returns the mistakes in a group. CheckGroup compares pods with each other, so among pods with equal labels and
// constraints it gets the first; the finding names all of them.
func (in *input) findings(group []*v1.Pod) (out []finding) {
	var distinct []*v1.Pod
	equal := map[string][]string{} // names of the equal pods, by the name of the distinct one
	seen := map[string]string{}
	for _, p := range group {
		text := fmt.Sprint(p.Labels, constraintsOf(p)) // fmt sorts the keys of maps
		first, found := seen[text]
		if !found {
			first = dump.Name(p)
			seen[text] = first
			distinct = append(distinct, p)
		}
		equal[first] = append(equal[first], dump.Name(p))
	}
	for _, f := range spread.CheckGroup(distinct, in.snapshot) {
		var names []string
		for _, p := range f.Pods {
			names = append(names, equal[p]...)
		}
		out = append(out, finding{ownerOf(group[0]), f.Kind, f.Constraint, orEmpty(names), orEmpty(f.Nodes), f.Message})
	}
	return out
}

func constraintsOf(p *v1.Pod) string {
	var b strings.Builder
	for i := range p.Spec.TopologySpreadConstraints {
		report.Textf(&b, "%s\n", p.Spec.TopologySpreadConstraints[i].String())
	}
	return b.String()
}

func (c *clusterCheck) table(b *strings.Builder, layout report.Layout) {
	if !layout.NoHeaders {
		report.Textf(b, "Pods on nodes that would reject them now: %d of %d\n", len(c.Violations), c.Pods)
		report.Textf(b, "Likely mistakes in spread constraints: %d in %s of pods\n", len(c.Findings), report.Count(c.Groups, "group"))
	}
	var rows [][]string
	for _, v := range c.Violations {
		for _, r := range v.Rejections {
			why := strings.Join(r.Reasons, "; ")
			if len(r.Numbers) > 0 {
				why += " (" + strings.Join(r.Numbers, "; ") + ")"
			}
			rows = append(rows, []string{v.Pod, v.Node, r.Plugin, why})
		}
	}
	section(b, layout, []string{"POD", "NODE", "PLUGIN", "WHY"}, rows)
	writeFindings(b, layout, c.Findings)
}

// section writes a table with a blank line before it, and nothing without rows.
func section(b *strings.Builder, layout report.Layout, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	table, _ := layout.Columns(header, rows)
	b.WriteString(table)
}

func writeFindings(b *strings.Builder, layout report.Layout, findings []finding) {
	var rows [][]string
	for _, f := range findings {
		rows = append(rows, []string{cmp.Or(f.Owner, "-"), f.Kind, some(f.Pods), f.Message})
	}
	section(b, layout, []string{"OWNER", "MISTAKE", "PODS", "MESSAGE"}, rows)
}

// some returns the first three names and how many more there are.
func some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

func orEmpty(list []string) []string { return append([]string{}, list...) }
