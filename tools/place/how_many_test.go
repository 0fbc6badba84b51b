package place

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// -how-many stops at a stated limit on a node that allows more pods than anybody can count.
func TestHowManyIsBounded(t *testing.T) {
	input := strings.Replace(oneNode, "pods: '10'", "pods: '1000000000'", 1) + "---\n" + onePod
	code, out, errs := simulate(t, input, "-f", "-", "-how-many", "default/p")
	require.Zero(t, code, errs)
	require.True(t, strings.HasPrefix(out, fmt.Sprintf("At least %d more pods like default/p fit; no more than that are tried.\n", mostCopies)), "%.200s", out)
}

// With -admit quotas are charged with each copy, beside the pods that are there.
func TestHowManyWithinQuotas(t *testing.T) {
	const quota = "---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: '3'}}}\n"
	code, out, errs := simulate(t, oneNode+quota+"---\n"+onePod, "-f", "-", "-how-many", "default/p", "-admit")
	require.Zero(t, code, errs)
	require.Contains(t, out, "2 more pod(s) like default/p fit.\n")
	require.Contains(t, out, `One more does not: pods "p-3" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3`)
	_, out, _ = simulate(t, oneNode+quota+"---\n"+onePod, "-f", "-", "-how-many", "default/p", "-admit", "-o", "json")
	require.Contains(t, out, `"refused": "pods \"p-3\" is forbidden`)
	_, out, _ = simulate(t, oneNode+quota+"---\n"+onePod, "-f", "-", "-how-many", "default/p")
	require.Contains(t, out, "10 more pod(s) like default/p fit.\n", "without -admit the API server is not asked")
}

// -how-many says on standard error how far it is.
func TestHowManyShowsProgress(t *testing.T) {
	var out strings.Builder
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	more := upTo(t.Context(), 3, report.NewProgress(&out, "place: -how-many", "pods fit so far", func() time.Time { return now }))
	require.True(t, more(0))
	now = now.Add(9999 * time.Millisecond)
	require.True(t, more(1))
	require.Empty(t, out.String(), "a short answer comes alone")
	now = now.Add(time.Millisecond)
	require.True(t, more(2))
	require.False(t, more(3))
	require.Equal(t, "place: -how-many: 2 pods fit so far, 0 a second\n", out.String())
}

// -add makes all its copies, and finds a name that the input has.
func TestAddManyCopies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pod.yaml")
	require.NoError(t, os.WriteFile(file, []byte(onePod), 0o600))
	code, out, errs := simulate(t, oneNode, "-f", "-", "-add", file, "-count", "20000")
	require.Zero(t, code, errs)
	require.Contains(t, out, "19990 pods like p-11")
	code, _, errs = simulate(t, oneNode+"---\n"+strings.Replace(onePod, "name: p}", "name: p-7}", 1), "-f", "-", "-add", file, "-count", "20")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, `-add: metadata.name: Duplicate value: "default/p-7"`)
}
