package place

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/explain"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// groupsFor is how many more groups like that of a pod fit.
type groupsFor struct {
	Root    string      `json:"root"`              // podgroup/NAMESPACE/NAME, or the composite group above it
	Needs   int         `json:"needs"`             // its minCount, or its minGroupCount
	Pods    int         `json:"pods"`              // how many pods one group has
	Count   int         `json:"count"`             // how many more groups fit
	Key     string      `json:"key,omitempty"`     // its topology key
	Domains []domainFor `json:"domains,omitempty"` // the values of the key that take groups
	Stop    string      `json:"stop,omitempty"`    // why one more group does not fit
	Members *membersFor `json:"members,omitempty"` // of a group that has its minimum on nodes: more pods of the group itself
}

type domainFor struct {
	Name  string `json:"name"`  // the value
	Count int    `json:"count"` // how many groups it takes
}

type membersFor struct {
	Count int    `json:"count"`          // how many fit
	Stop  string `json:"stop,omitempty"` // kube-scheduler's message about one more
}

// treeFor returns the tree of a pod's group and all pods of the tree that have not ended. nil: the pod counts alone, and why says why if it has a
// group.
func (w *world) treeFor(pod *v1.Pod) (tree *podgroup.Tree, pods []*v1.Pod, why string) {
	group, member := podgroup.Of(pod)
	if !member || w.groups == nil {
		return nil, nil, ""
	}
	tree, err := podgroup.TreeOf(w.snapshot, pod.Namespace, group, *w.groups)
	if err != nil {
		return nil, nil, err.Error()
	}
	for _, p := range w.objects.Pods {
		p = cmp.Or(w.pods[key(p)], p)
		if name, in := podgroup.Of(p); in && p.Namespace == pod.Namespace && tree.Home(name) != nil && !cluster.Finished(p) && p.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	if !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return key(p) == key(pod) }) { // it has ended, or is leaving
		pods = append(pods, pod)
	}
	return tree, pods, ""
}

// howManyGroups says how many more groups like that of a pod fit. With -admit quotas are charged with each pod of each copy.
func howManyGroups(ctx context.Context, out *bytes.Buffer, stderr io.Writer, w *world, o options, profile placement.Profile, tree *podgroup.Tree, pods []*v1.Pod) (failed bool) {
	placer := must.Get(placement.NewPlacer(w.snapshot, profile))
	progress := report.NewProgress(stderr, "place: -how-many", "groups fit so far", nil)
	for _, n := range tree.Leaves() {
		if n.Needs() > mostCopies {
			must.Do(fmt.Errorf("group %s/%s needs %d pods, and at most %d are placed to count", n.Namespace, n.Name, n.Needs(), mostCopies))
		}
	}
	copies := groupCopies(tree, pods)
	if text := tree.GateText(func(*podgroup.Group) int { return mostCopies }, *w.groups); text != "" { // no number of pods helps
		g := &groupsFor{Root: tree.Root().String(), Needs: tree.Root().Needs(), Pods: len(copies), Key: tree.Root().Key(), Stop: text}
		return g.write(out, o, nil, nil, nil)
	}
	within, quotas := upTo(ctx, max(1, mostCopies/len(copies)), progress), w.gate.Quotas.Clone()
	var refused error
	room, err := placer.HowManyGroups(copies, *w.groups, func(groups int) bool {
		if !within(groups) {
			return false
		}
		for _, p := range copies {
			next := *p
			next.Name = fmt.Sprintf("%s-%d", p.Name, groups+1)
			if refused = quotas.Charge(&next); refused != nil {
				return false
			}
		}
		return true
	})
	progress.End()
	must.Do(cmp.Or(err, program.Interrupted(ctx)))
	root := tree.Root()
	g := &groupsFor{Root: room.Root, Needs: root.Needs(), Pods: len(copies), Count: room.Groups, Key: root.Key()}
	var stop *placement.Failure
	if d := room.Stop; d != nil {
		stop, g.Stop = stopOf(d)
	}
	if w.groups.Topology && g.Key != "" {
		g.domains(w.snapshot, room.Nodes)
	}
	if root.Composite == nil {
		g.members(ctx, w, o, placer, stderr)
	}
	return g.write(out, o, room.Nodes, stop, refused)
}

// groupCopies returns the pods of which one copy of a tree is made: of a group with fewer pods than its minimum the last one again, as
// HowManyGroups does, so that quotas are charged with each pod that is placed.
func groupCopies(tree *podgroup.Tree, pods []*v1.Pod) (out []*v1.Pod) {
	last, count := map[*podgroup.Node]*v1.Pod{}, map[*podgroup.Node]int{}
	for _, p := range pods {
		name, _ := podgroup.Of(p)
		home := tree.Home(name)
		last[home], out = p, append(out, p)
		count[home]++
	}
	for _, n := range tree.Leaves() {
		for k := count[n]; k > 0 && k < n.Needs(); k++ {
			out = append(out, last[n])
		}
	}
	return out
}

// stopOf returns why a copy of a group does not fit: the failure of its first pod without a node, and the sentence.
func stopOf(d *placement.GroupDecision) (*placement.Failure, string) {
	text := explain.Stuck(d.Members)
	if d.Code == filter.Success {
		text += "; kube-scheduler would place the group without the pods that find none"
	}
	for _, own := range []bool{true, false} {
		for k := range d.Members {
			if m := &d.Members[k]; !m.Placed() && (m.Failure != nil || !own) {
				return m.Why(), cmp.Or(text, m.Text)
			}
		}
	}
	return nil, text
}

// domains counts the copies by the value of the key. A copy has all its pods in one.
func (g *groupsFor) domains(s *cluster.Snapshot, nodes []string) {
	count := map[string]int{}
	for k := 0; k < len(nodes); k += g.Pods {
		count[s.Node(s.Slot(nodes[k])).Labels[g.Key]]++
	}
	for _, name := range sortedKeys(count) {
		g.Domains = append(g.Domains, domainFor{name, count[name]})
	}
}

// members counts more pods of the group itself, a group alone, if it has its minimum on nodes.
func (g *groupsFor) members(ctx context.Context, w *world, o options, placer *placement.Placer, stderr io.Writer) {
	pod := *w.find(o.howMany)
	name, _ := podgroup.Of(&pod)
	running := 0
	for range w.snapshot.Members(pod.Namespace, name) {
		running++
	}
	if running < g.Needs {
		return
	}
	progress := report.NewProgress(stderr, "place: -how-many", "pods of the group fit so far", nil)
	room, err := placer.HowManyMembers(&pod, *w.groups, upTo(ctx, mostCopies, progress))
	progress.End()
	must.Do(cmp.Or(err, program.Interrupted(ctx)))
	g.Members = &membersFor{Count: len(room.Nodes)}
	if room.Stop != nil {
		g.Members.Stop = room.Stop.Text()
	}
}

// write writes the answer in the form that is asked for.
func (g *groupsFor) write(out *bytes.Buffer, o options, nodes []string, stop *placement.Failure, refused error) (failed bool) {
	if report.IsData(o.Output) {
		if nodes == nil {
			nodes = []string{}
		}
		a := roomOf(o.howMany, placement.Room{Nodes: nodes, Stop: stop}, refused)
		a.Group = g
		writeData(out, a, o.Output)
		return g.Count == 0
	}
	with := fmt.Sprintf("with %s", report.Count(g.Pods, "pod"))
	most := ""
	if stop == nil && refused == nil && g.Stop == "" {
		most = "At least "
	}
	if g.Count == 1 {
		report.Textf(out, "%s1 more group like %s fits, %s.\n", most, g.Root, with)
	} else {
		report.Textf(out, "%s%d more groups like %s fit, each %s.\n", most, g.Count, g.Root, with)
	}
	nodeCounts(out, o, nodes)
	if len(g.Domains) > 0 {
		var parts []string
		for _, d := range g.Domains {
			parts = append(parts, fmt.Sprintf("%s %d", d.Name, d.Count))
		}
		report.Textf(out, "Groups by %s: %s\n", g.Key, strings.Join(parts, ", "))
	}
	switch {
	case refused != nil:
		report.Textf(out, "One more does not: %v\n", refused)
	case g.Stop != "":
		report.Textf(out, "One more does not: %s.\n", strings.TrimSuffix(g.Stop, "."))
	}
	if m := g.Members; m != nil {
		if m.Stop == "" {
			report.Textf(out, "At least %d more pods of the group itself fit; no more than that are tried.\n", m.Count)
		} else {
			report.Textf(out, "%d more pod(s) of the group itself fit; one more does not: %s\n", m.Count, m.Stop)
		}
	}
	return g.Count == 0
}
