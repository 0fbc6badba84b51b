package place

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
)

// -map draws the zones and nodes after the run, the fullest first.
func TestMap(t *testing.T) {
	zone := func(name string) string { return ", topology.kubernetes.io/zone: " + name }
	input := nodeYAML("n1", "4", zone("a")) + nodeYAML("n2", "2", zone("a")) + nodeYAML("n3", "8", zone("b")) + podYAML("a", "n1", 0, "1", "") + podYAML("p", "", 0, "6", "")
	code, out, errs := simulate(t, input, "-f", "-", "-map")
	require.Zero(t, code, errs)
	_, drawn, _ := strings.Cut(out, "victims\n\n")
	require.Equal(t, `ZONE AND NODE   REQUESTED OF ALLOCATABLE
a, 2 nodes      cpu [##........]  16%  memory [..........]   0%
  n1            cpu [###.......]  25%  memory [..........]   0%
  n2            cpu [..........]   0%  memory [..........]   0%
b, 1 node       cpu [########..]  75%  memory [..........]   0%
  n3            cpu [########..]  75%  memory [..........]   0%
`, drawn)
	code, _, errs = simulate(t, input, "-f", "-", "-map", "-o", "json")
	require.Equal(t, program.BadInput, code)
	require.Equal(t, "place: -map: Invalid value: true: goes with tables\n", errs)

	for k := range 50 {
		input += nodeYAML("m"+strings.Repeat("x", k), "4", zone("c"))
	}
	_, out, _ = simulate(t, input, "-f", "-", "-map")
	require.Contains(t, out, "  and 10 more nodes; -o wide has them\n")
	_, out, _ = simulate(t, input, "-f", "-", "-map", "-o", "wide")
	require.NotContains(t, out, "more node")
}
