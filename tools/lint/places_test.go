package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

const placed = `# a comment
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  nodeSelector:
    disk.example.com/kind: ssd
  containers:
  - name: main
    resources:
      limits: {cpu: 1}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: second
    namespace: shop
  spec: &spec
    tolerations:
    - key: a
    - {key: b, effect: NoExecute}
- {apiVersion: v1, kind: Pod, metadata: {name: third}, spec: *spec}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1
`

// A field has the line and column of its key, an item those of its first character. What is not written has the place of what leads to it.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/sub/a.yaml", placed)
	write(t, dir+"/b.json", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\n \"metadata\":{\"name\":\"json\"},\n \"spec\":{\"é\":1,\"nodeName\":\"n1\"}}")
	write(t, dir+"/c.txt", placed)
	write(t, dir+"/d.json", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"one\"}}\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"two\"}}")
	in, err := readObjects([]string{dir, "-"}, dump.Options{})
	require.NoError(t, err)
	type test struct {
		name, object, path string
		file               string // "" for no place
		line, column       int
	}
	testkit.Run(t, []test{
		{"a key", "Pod default/first", "spec.nodeSelector", "sub/a.yaml", 6, 3},
		{"a key with dots", "Pod default/first", "spec.nodeSelector[disk.example.com/kind]", "sub/a.yaml", 7, 5},
		{"an item", "Pod default/first", "spec.containers[0]", "sub/a.yaml", 9, 5},
		{"in a flow", "Pod default/first", "spec.containers[0].resources.limits[cpu]", "sub/a.yaml", 11, 16},
		{"what is not written", "Pod default/first", "spec.containers[0].resources.requests[cpu]", "sub/a.yaml", 10, 5},
		{"an item that is not there", "Pod default/first", "spec.containers[1]", "sub/a.yaml", 8, 3},
		{"no path", "Pod default/first", "", "sub/a.yaml", 2, 1},
		{"an item of a List", "Pod shop/second", "spec.tolerations[1].effect", "sub/a.yaml", 24, 16},
		{"behind an alias", "Pod default/third", "spec.tolerations[0]", "sub/a.yaml", 23, 7},
		{"without a namespace", "PriorityClass high", "value", "sub/a.yaml", 30, 1},
		{"columns are characters", "Pod default/json", "spec.nodeName", "b.json", 3, 16},
		{"the first of JSON objects one behind the other", "Pod default/one", "metadata", "d.json", 1, 33},
		{"the second", "Pod default/two", "metadata", "", 0, 0},
		{"unknown", "Pod default/none", "spec", "", 0, 0},
	}, func(t *testing.T, c test) {
		at, ok := in.place(c.object, c.path)
		require.Equal(t, c.file != "", ok)
		if ok {
			require.Equal(t, spot{filepath.Join(dir, c.file), c.line, c.column}, at)
		}
	})
	require.Equal(t, "a%20b/c.yaml", uri("./a b/c.yaml"))
	require.Equal(t, "file:///a/b.yaml", uri("/a/b.yaml"))
	_, err = readObjects([]string{dir + "/none"}, dump.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// No text makes the second reader panic, and aliases are not unfolded. It refuses a text only if the first reader does.
func FuzzPlaces(f *testing.F) {
	f.Add(placed, "spec.containers[0].resources")
	f.Add("a: &a [*a, *a]\nkind: List\nitems: *a\n---\n- b", "[0][0")
	f.Add("\xff\xfea", "") // half a character
	f.Add("&a {kind: Pod, metadata: *a, spec: *a}", "metadata.spec.metadata")
	f.Fuzz(func(t *testing.T, text, path string) {
		file := filepath.Join(t.TempDir(), "a.yaml")
		write(t, file, text)
		in, err := readObjects([]string{file}, dump.Options{})
		if err != nil {
			_, first := dump.Read([]string{file}, nil, dump.Options{})
			require.Error(t, first)
		}
		for name := range in {
			_, ok := in.place(name, path)
			require.True(t, ok)
		}
	})
}

// Each finding has its file and line, in SARIF; standard input has no file.
func TestRegions(t *testing.T) {
	code, out, errs := linting("", append(shipped, "-o", "sarif")...)
	require.Equal(t, 1, code, errs)
	testkit.Golden(t, "testdata/manifests.sarif", out)
	text, err := os.ReadFile("testdata/manifests.yaml")
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	var s sarif
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	for _, r := range s.Runs[0].Results {
		at := r.Locations[0].Physical
		require.NotNil(t, at, r.Message)
		require.Equal(t, "testdata/manifests.yaml", at.Artifact.URI)
		path := steps(strings.SplitN(r.Locations[0].Logical[0].Name, ": ", 2)[1])
		line := lines[at.Region.Line-1]
		require.True(t, strings.Contains(line, path[len(path)-1]) || strings.Contains(line, "- "), line)
	}
	_, out, _ = linting(string(text), "-f", "-", "-o", "sarif")
	require.NotContains(t, out, "physicalLocation")
}

// A baseline leaves out what it has, by rule, object and field, and says what is gone.
func TestBaseline(t *testing.T) {
	dir := t.TempDir()
	_, all, _ := linting("", append(shipped, "-o", "json")...)
	write(t, dir+"/known.json", all)
	var a lintReport
	require.NoError(t, json.Unmarshal([]byte(all), &a))
	code, out, errs := linting("", append(shipped, "-baseline", dir+"/known.json")...)
	require.Zero(t, code, errs)
	require.Equal(t, "0 errors, 0 warnings, 0 notes; "+strconv.Itoa(len(a.Findings))+" known, 0 of the baseline gone\n", out)

	a.Findings[0].Explanation = "other words"
	gone := a.Findings[1]
	gone.Object = "Pod default/gone"
	rest := lintReport{Head: a.Head}
	rest.Findings = append(rest.Findings, a.Findings[0], gone)
	text, err := json.Marshal(rest)
	require.NoError(t, err)
	write(t, dir+"/some.json", string(text))
	_, out, _ = linting("", append(shipped, "-baseline", dir+"/some.json", "-o", "json")...)
	var b lintReport
	require.NoError(t, json.Unmarshal([]byte(out), &b))
	require.Equal(t, a.Findings[1:], b.Findings)
	require.Equal(t, []int{1, 1}, []int{*b.Summary.Known, *b.Summary.Gone})

	write(t, dir+"/pod.yaml", placed[:strings.Index(placed, "---")])
	write(t, dir+"/half.json", `{"kind": "LintReport", "findings": [{"rule": "x"}]}`)
	for file, want := range map[string]string{
		dir + "/none.json": "no such file", dir + "/pod.yaml": `kind: Unsupported value: "Pod": must be LintReport, which lint -o json prints`,
		dir + "/half.json": "findings[0]: Required value: rule and object", "-": "must be a file",
	} {
		code, out, errs := linting("", append(shipped, "-baseline", file)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
}

// A run without findings has an empty list of results.
func TestNoResults(t *testing.T) {
	require.Equal(t, []sarifResult{}, sarifOf(nil, nil).Runs[0].Results)
}
