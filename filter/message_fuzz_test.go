package filter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The list of reasons has each reason once, with the number of its nodes, sorted as text.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("reasons of nodes, and of nodes that no filter looked at"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			reason := func() string {
				return testkit.Pick(b, "Too many pods", "Insufficient cpu", "Insufficient memory", "x", "")
			}
			m := Message{Nodes: b.Below(200)}
			sums := map[string]int{}
			for range b.Below(12) {
				c := Count{reason(), 1 + b.Below(110)}
				m.Reasons = append(m.Reasons, c)
				sums[c.Reason] += c.Nodes
			}
			m.AbsentNodes = b.Below(3)
			for range b.Below(3) {
				m.Absent = append(m.Absent, reason())
				if m.AbsentNodes > 0 {
					sums[m.Absent[len(m.Absent)-1]] += m.AbsentNodes
				}
			}
			var texts []string
			for reason, n := range sums {
				texts = append(texts, fmt.Sprintf("%d %s", n, reason))
			}
			slices.Sort(texts)
			want := fmt.Sprintf("0/%d nodes are available:", m.Nodes)
			if len(texts) > 0 {
				want += " " + strings.Join(texts, ", ") + "."
			}
			require.Equal(t, want, m.String())
		}
	})
}
