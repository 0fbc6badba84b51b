package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// TestScenarios prints the decision and the verdicts of all nodes for each asked pod. The answers must not depend on
// the form of the cluster, on earlier questions, on unrelated nodes and pods, or on changes that were undone.
func TestScenarios(t *testing.T) {
	testkit.RunScenarios(t, "testdata/*.txt", func(t *testing.T, s testkit.Scenario) string {
		var b strings.Builder
		for _, pod := range s.Asked {
			b.WriteString(answer(t, s, pod))
		}
		return b.String()
	})
}

func answer(t *testing.T, s testkit.Scenario, pod *v1.Pod) string {
	p, c := planOf(t, cluster.Objects{Nodes: s.Nodes, Pods: s.Pods, Namespaces: s.Namespaces})
	text := describe(t, p, pod, s.Nodes)

	for range 3 {
		require.Equal(t, text, describe(t, p, pod, s.Nodes), "asked again")
	}
	view := testkit.NewCluster(s.Nodes, s.Pods)
	for _, n := range s.Namespaces {
		view.NamespaceLabels[n.Name] = n.Labels
	}
	plain, err := New(Rows(view), DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, text, describe(t, plain, pod, s.Nodes), "three methods instead of a snapshot")

	more := testkit.Node("unrelated").Bare().Capacity("pods=1").Unschedulable().Taint("unrelated:NoSchedule").Obj()
	other := testkit.Pod("unrelated/p").Labels("unrelated=yes").On("unrelated").Obj()
	larger, _ := planOf(t, cluster.Objects{Nodes: append(slices.Clone(s.Nodes), more), Pods: append(slices.Clone(s.Pods), other), Namespaces: s.Namespaces})
	require.Equal(t, verdicts(t, p, pod, s.Nodes), verdicts(t, larger, pod, s.Nodes), "an unrelated node with an unrelated pod")

	for slot := range c.Len() {
		twin := pod.DeepCopy()
		twin.Name, twin.UID = "twin", "twin"
		require.NoError(t, c.Assume(twin, slot))
		require.NoError(t, c.Remove(twin))
	}
	require.Equal(t, text, describe(t, p, pod, s.Nodes), "a twin came to each node and left")

	m := c.Mark()
	for slot := range c.Len() {
		n := c.Node(slot).DeepCopy()
		n.Spec.Unschedulable = !n.Spec.Unschedulable
		require.NoError(t, c.Set(n))
		for q := range c.Pods(slot) {
			require.NoError(t, c.Remove(q))
			break
		}
		p.Decide(pod, Options{})
	}
	require.True(t, c.Rollback(m))
	require.Equal(t, text, describe(t, p, pod, s.Nodes), "changes that were rolled back")
	return text
}

// describe returns the decision and the verdicts as text. It names all nodes of the highest total, because the first of
// them depends on the order of the nodes.
func describe(t *testing.T, p *Plan, pod *v1.Pod, nodes []*v1.Node) string {
	d := p.Decide(pod, Options{})
	head := pod.Namespace + "/" + pod.Name
	lines, best, total := table(t, p, pod, nodes)
	if !d.Placed() {
		require.Empty(t, best)
		return fmt.Sprintf("%s has no node: %s\n%s", head, d.Failure.Text(), lines)
	}
	require.Contains(t, best, d.Node)
	if d.Feasible > 1 {
		require.Equal(t, total, d.Total)
	}
	for _, n := range nodes {
		slot, _ := p.Slot(n.Name)
		fits := len(p.Rejections(pod, slot)) == 0
		require.Equal(t, fits, !strings.Contains(lines, n.Name+" rejected"), n.Name)
	}
	return fmt.Sprintf("%s goes to %s\n%s", head, strings.Join(best, " or "), lines)
}

func verdicts(t *testing.T, p *Plan, pod *v1.Pod, nodes []*v1.Node) string {
	lines, _, _ := table(t, p, pod, nodes)
	return lines
}

func table(t *testing.T, p *Plan, pod *v1.Pod, nodes []*v1.Node) (lines string, best []string, total int64) {
	reports, err := p.Table(pod)
	require.NoError(t, err)
	require.True(t, slices.IsSortedFunc(reports, func(a, b NodeReport) int { return cmp.Compare(a.Node, b.Node) }))
	var b strings.Builder
	for _, n := range reports {
		if !slices.ContainsFunc(nodes, func(x *v1.Node) bool { return x.Name == n.Node }) {
			continue
		}
		if n.Feasible() {
			switch {
			case len(best) == 0 || n.Total > total:
				best, total = []string{n.Node}, n.Total
			case n.Total == total:
				best = append(best, n.Node)
			}
			fmt.Fprintf(&b, "%s %d:", n.Node, n.Total)
			for _, s := range n.Scores {
				fmt.Fprintf(&b, " %s %d", s.Plugin, s.Weighted)
			}
			b.WriteString("\n")
			continue
		}
		for _, r := range n.Rejections {
			fmt.Fprintf(&b, "%s rejected: %s: %s", n.Node, r.Plugin, strings.Join(r.Reasons, ", "))
			for _, x := range r.Numbers {
				b.WriteString("; " + x)
			}
			b.WriteString("\n")
		}
	}
	return b.String(), best, total
}
