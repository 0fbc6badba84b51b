package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cmd/kubectl-podberth/internal/terminal"
)

// The planners answer about dumps, in lines that fit.
func TestPlanners(t *testing.T) {
	for want, args := range map[string][]string{
		"NODE": {"consolidate", "-f", examples + "consolidate/testdata/cluster.yaml", "--steps", "10"},
		"1.36": {"upgrade", "-f", examples + "upgrade/testdata/cluster.yaml", "--from", "1.35", "--to", "1.36"},
	} {
		code, out, errs := podberth(t, "", append(args, "--width", "80")...)
		require.Zero(t, code, errs)
		require.Contains(t, out, want)
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, terminal.Cells(strings.TrimSuffix(line, "\n")), 80, line)
		}
	}
	_, names, _ := podberth(t, "", "consolidate", "-f", examples+"consolidate/testdata/cluster.yaml", "--steps", "10", "-o", "name")
	require.True(t, strings.HasPrefix(names, "node/"), names)
}
