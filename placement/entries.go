package placement

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/podgroup"
)

// Entry is what a scheduling queue holds: one pod, or the waiting pods of a tree of groups.
type Entry struct {
	Pods []*v1.Pod
	// Grouped is true for pods of groups, which DecideGroup decides about.
	Grouped bool
	// Gate is why nobody tries the pods of groups: an object is missing, or too few pods are known. "" when they are tried.
	Gate string
}

// Entries puts waiting pods together as the scheduling queue does where groups of pods count. The entries are in the order of their first
// pods, and the pods of an entry keep their order. The snapshot has the groups and their pods on nodes. nil gates: groups do not count,
// and each pod is an entry. O(pods + pods of their groups).
func Entries(s *cluster.Snapshot, waiting []*v1.Pod, gates *podgroup.Gates) []Entry {
	var out []Entry
	trees, at, known := map[int]*podgroup.Tree{}, map[string]int{}, map[string]int{}
	for _, pod := range waiting {
		group, ok := podgroup.Of(pod)
		if !ok || gates == nil {
			out = append(out, Entry{Pods: []*v1.Pod{pod}})
			continue
		}
		known[pod.Namespace+"/"+group]++
		tree, err := podgroup.TreeOf(s, pod.Namespace, group, *gates)
		if err != nil {
			out = append(out, Entry{Pods: []*v1.Pod{pod}, Grouped: true, Gate: err.Error()})
			continue
		}
		root := tree.Root().String()
		if k, there := at[root]; there {
			out[k].Pods = append(out[k].Pods, pod)
			continue
		}
		at[root], trees[len(out)] = len(out), tree
		out = append(out, Entry{Pods: []*v1.Pod{pod}, Grouped: true})
	}
	for k, tree := range trees {
		out[k].Gate = tree.GateText(func(g *podgroup.Group) int {
			n := known[g.Namespace+"/"+g.Name]
			for range s.Members(g.Namespace, g.Name) {
				n++
			}
			return n
		}, *gates)
	}
	return out
}

// DecideEntry decides about an entry: Decide for a pod alone, DecideGroup for pods of groups. The result has an outcome for each pod, in
// the order of the entry; none for an entry without pods. An entry with a nil pod is an error of all its pods. DecideEntry changes nothing in
// the cluster.
func (p *Placer) DecideEntry(e Entry, o GroupOptions) []MemberOutcome {
	switch {
	case len(e.Pods) == 0:
		return nil
	case slices.Contains(e.Pods, nil):
		return e.untried(filter.Error, fmt.Sprintf("pod %d of the entry is nil", slices.Index(e.Pods, nil)), o.Next)
	case e.Gate != "":
		return e.untried(filter.Unschedulable, e.Gate, o.Next)
	case e.Grouped:
		return p.DecideGroup(e.Pods, o).Members
	}
	out := MemberOutcome{Pod: e.Pods[0], Decision: p.Decide(e.Pods[0], o.Options)}
	if f := out.Failure; f != nil {
		out.Code, out.Text = f.Code, f.Text()
	}
	return []MemberOutcome{out}
}

// untried returns the outcomes of pods that are not tried.
func (e Entry) untried(code filter.Code, text string, next int) []MemberOutcome {
	out := make([]MemberOutcome, len(e.Pods))
	for k, pod := range e.Pods {
		out[k] = MemberOutcome{Pod: pod, Decision: Decision{Slot: -1, Next: next}, Code: code, Text: text}
	}
	return out
}

// Why returns why the pod is not placed: the failure of its own attempt, or one with the text of its group as its error. nil: the pod is
// placed.
func (m *MemberOutcome) Why() *Failure {
	if m.Failure != nil || m.Placed() {
		return m.Failure
	}
	return &Failure{Code: m.Code, Err: errors.New(m.Text)}
}
