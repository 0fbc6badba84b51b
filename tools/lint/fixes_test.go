package lint

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/diagnose/lint"
	"github.com/podberth/podberth/internal/testkit/fixes"
	"github.com/podberth/podberth/tools/program"
)

// A fix that is made ends its finding, and no new error comes: over the cases, the charts and random manifests.
func TestFixes(t *testing.T) {
	texts := map[string]string{}
	files, err := filepath.Glob("testdata/cases/*.yaml")
	require.NoError(t, err)
	for _, f := range append(files, "testdata/manifests.yaml") {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		texts[f] = string(text)
	}
	for seed := range uint64(*agreements / 10) {
		g := &drawing{rand.New(rand.NewPCG(seed, 60))}
		_, text := g.manifest()
		texts[fmt.Sprint("random ", seed)] = g.cluster() + "\n---\n" + text
	}
	made := map[string]int{}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			fixes.Law(t, func() *lint.Input {
				in, _, err := load(options{Common: program.Common{Files: []string{"-"}}}, strings.NewReader(text))
				require.NoError(t, err)
				return &in
			}, func(in *lint.Input) (out []fixes.Said) {
				all, err := lint.Check(*in)
				require.NoError(t, err)
				for _, f := range all {
					out = append(out, fixes.Said{Rule: f.Rule, Severity: string(f.Severity), Finding: fixes.Finding{Object: f.Object, Path: f.Path, Explanation: f.Explanation, Fix: f.Fix}})
				}
				return out
			}, false, made)
		})
	}
	require.Greater(t, len(made), 25, "%v", made)
}
