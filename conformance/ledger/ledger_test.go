package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.txt")
	slices, err := Read(path)
	require.NoError(t, err)
	require.EqualValues(t, 1, Next(slices, "1.35"), "a run begins with seed 1")
	require.NoError(t, os.WriteFile(path, []byte("# slices\n\n"), 0o644))
	require.NoError(t, Append(path, Slice{"1.35", 1, 400, 9000, 0}))
	require.NoError(t, Append(path, Slice{"1.36", 7, 10, 300, 2}))
	require.NoError(t, Append(path, Slice{"1.35", 401, 100, 2000, 1}))
	slices, err = Read(path)
	require.NoError(t, err)
	require.Len(t, slices, 3)
	require.EqualValues(t, 501, Next(slices, "1.35"))
	require.EqualValues(t, 17, Next(slices, "1.36"))
	require.Equal(t, Slice{Release: "1.35", Clusters: 500, Comparisons: 11000, Disagreements: 1}, Sum(slices, "1.35"))
	for _, bad := range []string{"1.35", "1.35: seed x", "1.35: seed 1, clusters 2, comparisons 3, disagreements 4 and more"} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o644))
		_, err := Read(path)
		require.ErrorContains(t, err, path+":1: ")
	}
}

// docs/reports/conformance.md names the version that go.mod requires.
func TestVersion(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`k8s\.io/kubernetes (v\S+)`).FindSubmatch(mod)
	require.NotNil(t, version)
	page, err := os.ReadFile("../../docs/reports/conformance.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "links Kubernetes "+string(version[1])+" itself")
}

// The ledger of the judges is readable, and docs/reports/conformance.md has its sums.
func TestDocs(t *testing.T) {
	slices, err := Read("../judge/ledger.txt")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/reports/conformance.md")
	require.NoError(t, err)
	clusters, comparisons, disagreements := "\n| clusters |", "\n| comparisons |", "\n| disagreements |"
	for _, release := range []string{"1.34", "1.35", "1.36", "1.37"} {
		sum := Sum(slices, release)
		clusters += fmt.Sprintf(" %d |", sum.Clusters)
		comparisons += fmt.Sprintf(" %d |", sum.Comparisons)
		disagreements += fmt.Sprintf(" %d |", sum.Disagreements)
	}
	require.Contains(t, string(page), "| version | 1.34 | 1.35 | 1.36 | 1.37 |\n| --- | --- | --- | --- | --- |"+clusters+comparisons+disagreements+"\n")
}
