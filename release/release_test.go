package release_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestVersions(t *testing.T) {
	require.Equal(t, "1.37", release.Current.String(), "the zero value is the release that podberth follows by default")
	require.True(t, release.Current.AtLeast(release.V1_37))
	require.True(t, release.V1_37.AtLeast(release.Current))
	require.False(t, release.V1_36.AtLeast(release.Current))
	all := release.Versions()
	for i, v := range all {
		require.True(t, v.Known())
		require.Equal(t, v == release.V1_37, v.AtLeast(release.Current), "the zero value is no version before all others")
		require.True(t, release.Current.AtLeast(v), v)
		for k, w := range all {
			require.Equal(t, i >= k, v.AtLeast(w), "%s and %s", v, w)
		}
	}
	require.Equal(t, "v1.37.2", release.Current.Patch())
	require.Equal(t, "v1.34.4", release.V1_34.Patch())
	require.Empty(t, release.Version(33).Patch())
	require.Empty(t, release.Version(38).Patch())
	require.False(t, release.Version(33).Known())
	require.False(t, release.Version(38).Known())
}

func TestParse(t *testing.T) {
	for text, want := range map[string]release.Version{
		"": release.Current, "1.34": release.V1_34, "v1.35": release.V1_35, "1.36.3": release.V1_36, "v1.37.0-alpha.1": release.V1_37, "1.36+": release.V1_36, "1.36-gke.100": release.V1_36,
	} {
		got, err := release.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"1", "36", "1.33", "1.38", "1.360", "v", "latest", " 1.36", "2.36"} {
		_, err := release.Parse(text)
		require.EqualError(t, err, fmt.Sprintf("release %q: known are 1.34, 1.35, 1.36 and 1.37", text))
	}
}

// Every difference is complete, differs somewhere, and has an identifier of its own.
func TestDifferences(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range release.Differences() {
		require.Regexp(t, `^L[0-9]+\.[0-9]+$`, d.ID)
		require.False(t, seen[d.ID], d.ID)
		seen[d.ID] = true
		require.NotEmpty(t, d.Area, d.ID)
		require.NotEmpty(t, d.Name, d.ID)
		require.True(t, strings.HasSuffix(d.Sentence, "."), "%s is a sentence", d.ID)
		texts := map[string]bool{}
		for _, v := range release.Versions() {
			require.NotEmpty(t, d.In(v), "%s in %s", d.ID, v)
			texts[d.In(v)] = true
		}
		require.Greater(t, len(texts), 1, d.ID)
		require.Empty(t, d.In(release.Version(99)))
		require.NotEqual(t, d.Option == "", d.NotFollowed == "", "%s: either something follows a release, or the entry says why not", d.ID)
	}
	require.Greater(t, len(seen), 50)
}

func TestBetween(t *testing.T) {
	ids := func(a, b release.Version) (out []string) {
		for _, d := range release.Between(a, b) {
			out = append(out, d.ID)
		}
		return out
	}
	require.Empty(t, ids(release.V1_37, release.Current))
	require.Empty(t, ids(release.V1_36, release.Version(38)))
	require.Empty(t, ids(release.Version(38), release.V1_36))
	require.Equal(t, ids(release.V1_35, release.V1_37), ids(release.V1_37, release.V1_35))
	require.Contains(t, ids(release.V1_35, release.V1_36), "L5.1")
	require.NotContains(t, ids(release.V1_36, release.V1_37), "L5.1")
	require.Contains(t, ids(release.V1_36, release.V1_37), "L6.1")
	sum := map[string]bool{}
	for _, pair := range [][2]release.Version{{release.V1_34, release.V1_35}, {release.V1_35, release.V1_36}, {release.V1_36, release.V1_37}} {
		for _, id := range ids(pair[0], pair[1]) {
			sum[id] = true
		}
	}
	require.Len(t, sum, len(release.Differences()), "every difference is one of neighbours")
}

// The fidelity table has a row for each difference that something follows, and no other rows.
func TestFidelityRows(t *testing.T) {
	text, err := os.ReadFile("../docs/fidelity/release.md")
	require.NoError(t, err)
	var rows, want []string
	for _, m := range regexp.MustCompile(`(?m)^\| (L[0-9.]+) \|`).FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, m[1])
	}
	for _, d := range release.Differences() {
		if d.Option != "" {
			want = append(want, d.ID)
		}
	}
	require.ElementsMatch(t, want, rows)
}

// Every difference that a page of fidelity names is one that something follows.
func TestFidelityMarks(t *testing.T) {
	pages, err := filepath.Glob("../docs/fidelity/*.md")
	require.NoError(t, err)
	followed := map[string]bool{}
	for _, d := range release.Differences() {
		followed[d.ID] = d.Option != ""
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, id := range regexp.MustCompile(`\bL[0-9]+\.[0-9]+\b`).FindAllString(string(text), -1) {
			require.True(t, followed[id], "%s: %s", page, id)
		}
	}
}

// A branch on a release stands in a file release.go, so that everything that differs is found at once.
func TestBranches(t *testing.T) {
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(path)
		switch {
		case d.IsDir() && (name == "../conformance" || name == "../tools/upgrade" || name == "../release" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || d.Name() == "release.go":
			return nil
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), "AtLeast(release.", name)
		return err
	}))
}

// each returns what every release does.
func each(in func(release.Version) string) (out []string) {
	for _, v := range release.Versions() {
		out = append(out, in(v))
	}
	return out
}

// docs/fidelity/versions is made from Differences.
func TestPage(t *testing.T) {
	testkit.Golden(t, "../docs/fidelity/versions/README.md", page())
}

func page() string {
	var b strings.Builder
	b.WriteString(`# Versions

podberth follows Kubernetes v1.37 by default. Options with a field ` + "`Release`" + ` follow v1.34, v1.35 or v1.36 instead, each with
default feature gates and all components of the cluster at that version. [Fidelity](../release.md) has the tests of each
difference, [conformance](../../conformance.md) how each version is held against its real code. ` + "`go run ./cmd/podberth upgrade`" + ` tells what
changes for a given cluster.

This page is made from ` + "`release.Differences`" + `: ` + "`go test ./release -rewrite`" + ` writes it. The last line of an entry names what follows a
release, or says why nothing does.
`)
	for _, area := range release.Areas() {
		fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(area[:1])+area[1:])
		for _, d := range release.Differences() {
			if d.Area != area {
				continue
			}
			fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n", d.ID, d.Name, d.Sentence)
			fmt.Fprintf(&b, "| %s |\n|%s\n| %s |\n", strings.Join(each(release.Version.String), " | "), strings.Repeat(" --- |", len(release.Versions())), strings.Join(each(d.In), " | "))
			if d.Example != "" {
				fmt.Fprintf(&b, "\nExample. %s\n", d.Example)
			}
			if d.Option != "" {
				fmt.Fprintf(&b, "\nIn podberth: `%s`\n", strings.ReplaceAll(d.Option, ", ", "`, `"))
			} else {
				fmt.Fprintf(&b, "\nNot followed: %s\n", d.NotFollowed)
			}
		}
	}
	b.WriteString(`
## Feature gates

The gates whose default or stage changes from v1.36.3 to v1.37.2, or that the last table names, as far as they touch scheduling,
preemption, eviction, admission, requests or devices.

| gate | 1.36 | 1.37 | difference | what follows it, or why it decides nothing |
| --- | --- | --- | --- | --- |
`)
	for _, g := range release.Gates() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", g.Name, g.In(release.V1_36), g.In(release.V1_37), g.Difference, g.Note)
	}
	b.WriteString(`
## v1.37.0 and v1.37.2

podberth follows v1.37.2. Beside v1.37.0 (conformance/v1_37_0.mod) the scheduler's decisions agree on 100,011 clusters, and so do the queue, the
kubelet, the taint eviction controller and the Eviction API (docs/reports/controllers.md). All tests of devices agree (-tags k1_37_0) but for two
differences, which they then leave out:

| what | v1.37.0 | v1.37.2 |
| --- | --- | --- |
| a DeviceTaintRule without deviceSelector | taints every device | taints none (L1.10) |
| claims for too many devices | claim ns/k1: number of requested devices 33 exceeds the claim limit of 32 | claim ns/k1, request r0: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for (L1.12); v1.37.0 adds all requests first, as v1.36 does, and the sum may wrap around |

Victims that several budgets select are charged in the same way in both: up to the first budget without room (L8.11).
`)
	b.WriteString("\n## Announced, not proven\n\nWhat Kubernetes has announced for releases that podberth does not follow yet. Nobody has compared it with their code.\n\n" +
		"| release | what | gate |\n| --- | --- | --- |\n")
	for _, a := range release.Announced("") {
		fmt.Fprintf(&b, "| %s | %s: %s | %s |\n", a.Release, a.Name, a.Sentence, a.Gate)
	}
	return b.String()
}

// Every gate is complete, and its difference exists.
func TestGates(t *testing.T) {
	known, last := map[string]bool{"": true}, ""
	for _, d := range release.Differences() {
		known[d.ID] = true
	}
	for _, g := range release.Gates() {
		require.Less(t, last, g.Name, "by name")
		last = g.Name
		require.True(t, known[g.Difference], g.Name)
		require.NotEmpty(t, g.Note, g.Name)
		for _, state := range []string{g.In(release.V1_36), g.In(release.V1_37)} {
			require.Contains(t, []string{"on", "off", "absent"}, state, g.Name)
		}
	}
}

// What is announced is complete, is of releases that are not followed, and has its gate.
func TestAnnounced(t *testing.T) {
	all := release.Announced("")
	require.Len(t, all, 4)
	for _, a := range all {
		_, err := release.Parse(a.Release)
		require.Error(t, err, "%s: what podberth follows is a Difference", a.Name)
		require.NotEmpty(t, a.Name)
		require.True(t, strings.HasSuffix(a.Sentence, "."), a.Name)
		require.Regexp(t, "^[A-Z][A-Za-z]+$", a.Gate)
		require.Contains(t, release.Announced(a.Release), a)
	}
	require.Equal(t, all, release.Announced("v1.38.0-rc.1"))
	for _, text := range []string{"1.37", "1.380", "1.39", "latest"} {
		require.Empty(t, release.Announced(text), text)
	}
	all[0].Name = "changed"
	require.NotEqual(t, "changed", release.Announced("")[0].Name, "each call returns a slice of its own")
}

func FuzzParse(f *testing.F) {
	f.Add("1.36")
	f.Add("v1.34.4")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := release.Parse(text)
		if err == nil && !v.Known() || err != nil && v != release.Current {
			t.Fatalf("%q: %s, %v", text, v, err)
		}
	})
}

func BenchmarkDifferences(b *testing.B) {
	for b.Loop() {
		release.Between(release.V1_34, release.V1_37)
	}
}
