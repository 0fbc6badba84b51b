package taints_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// TestScores prints the raw and the normalized score of every node for the asked pod.
func TestScores(t *testing.T) {
	testkit.RunScenarios(t, "testdata/scores.txt", func(t *testing.T, c testkit.Scenario) string {
		s := taints.Compile(c.Asked[0].Spec.Tolerations, taints.Options{}).On(testkit.NewCluster(c.Nodes, nil))
		hi, lines := int64(0), []string(nil)
		for i := range c.Nodes {
			hi = max(hi, s.Raw(i))
		}
		for i, n := range c.Nodes {
			lines = append(lines, fmt.Sprintf("%s raw %d score %d", n.Name, s.Raw(i), s.Normalize(s.Raw(i), 0, hi)))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	})
}

// Normalize stays within 0 to 100 and never prefers the larger raw score.
func TestNormalize(t *testing.T) {
	s := taints.Compile(nil, taints.Options{}).On(one(nil))
	for hi := range int64(40) {
		last := int64(100)
		for raw := range hi + 1 {
			got := s.Normalize(raw, 0, hi)
			require.True(t, got >= 0 && got <= last, "raw %d of %d: %d after %d", raw, hi, got, last)
			last = got
		}
	}
}
