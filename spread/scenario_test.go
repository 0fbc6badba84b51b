package spread

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// TestScenarios prints, for each asked pod, the verdict with its numbers and the score of every node by name. All nodes
// that pass are scored. It also checks that unrelated pods on every node do not matter, and that adding and then removing a
// matching pod changes nothing.
func TestScenarios(t *testing.T) {
	testkit.RunScenarios(t, "testdata/*.txt", func(t *testing.T, s testkit.Scenario) string {
		var b strings.Builder
		for _, pod := range s.Asked {
			c := testkit.NewCluster(s.Nodes, s.Pods)
			text := describe(t, c, pod)
			var busy []*v1.Pod
			for _, n := range s.Nodes {
				busy = append(busy, testkit.Pod("unrelated/of-"+n.Name).Labels("app=web,foo=bar").On(n.Name).Obj())
			}
			require.Equal(t, text, describe(t, testkit.NewCluster(s.Nodes, append(busy, s.Pods...)), pod), "pods of another namespace")
			fmt.Fprintf(&b, "%s\n%s", pod.Name, text)
		}
		return b.String()
	})
}

func describe(t *testing.T, c *testkit.Cluster, pod *v1.Pod) string {
	h := mustHard(t, pod, Options{})
	s := h.count(c)
	var feasible []int
	for i := range c.Len() {
		before := s.Check(i)
		s.Add(pod, i)
		s.Remove(pod, i)
		require.Equal(t, before, s.Check(i), "Add and Remove")
		if before == 0 {
			feasible = append(feasible, i)
		}
	}
	scores, err := Scores(pod, c, feasible, Options{})
	require.NoError(t, err)
	var lines []string
	for i := range c.Len() {
		line := c.Node(i).Name
		if j := slices.Index(feasible, i); j >= 0 {
			line += fmt.Sprintf(" passes, score %d", scores[j])
		} else {
			line += " rejected: " + s.Reasons(s.Check(i))[0]
		}
		for _, x := range s.Explain(i) {
			line += "; " + x.String()
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}
