package command_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/report"
)

// schemas are the files that the tests of the commands make of their types.
const schemas = "../../../docs/schema"

// answers are the rows of docs/json.md: the command line, which of the commands gives an answer, what the object says, and a file of tools with a
// whole answer. A kind without a file has a short example in the page.
var answers = []struct{ line, command, says, file string }{
	{"podberth place", "place", "Where each waiting pod goes, and why pods go nowhere. `--detail` adds every plugin's answer about every node.", "place/testdata/devices.json"},
	{"podberth place --pack", "place-pack", "How the queue would be placed by moving and evicting pods, with a bound.", ""},
	{"podberth place --config A --against B", "place-against", "Which pods end otherwise with another configuration, and how full the nodes are.", "place/testdata/against.json"},
	{"podberth why NAMESPACE/NAME", "why", "Why a pod waits or runs where it runs, and what helps.", "place/testdata/devices-explain.json"},
	{"podberth what-if", "what-if", "What changes of nodes and workloads do to the pods.", ""},
	{"podberth no-pods KIND/NAMESPACE/NAME", "no-pods", "Why a workload has no pods.", ""},
	{"podberth fit NAMESPACE/NAME", "fit", "How many more pods like this one fit.", ""},
	{"podberth drain NODE...", "drain", "The waves in which pods can leave, and what is in the way.", "drain/testdata/waves.json"},
	{"podberth evict NAMESPACE/NAME", "evict", "What the Eviction API answers.", "drain/testdata/evict-db.json"},
	{"podberth rollout", "rollout", "How all nodes are replaced, step by step.", "rollout/testdata/cluster.json"},
	{"podberth preflight --to VERSION", "preflight", "Whether an upgrade can begin.", "preflight/testdata/cluster.json"},
	{"podberth upgrade --from A --to B", "upgrade", "What another version of Kubernetes decides otherwise.", "upgrade/testdata/1.36-1.37.json"},
	{"podberth failures", "failures", "What is left without a node when nodes or zones fail.", "failures/testdata/cluster.json"},
	{"podberth consolidate", "consolidate", "Which nodes can be emptied. Costs are in the unit of the price label, in nodes without `--price-label`, and in amounts of the resource with `--defragment`.", "consolidate/testdata/cluster.json"},
	{"podberth pressure NODE", "pressure", "What the kubelet would do on the node now.", "pressure/testdata/memory.out.json"},
	{"podberth taints", "taints", "When taints make pods leave.", "taints/testdata/events.json"},
	{"podberth check", "check", "Running pods that their nodes would reject now, and mistakes in spread constraints.", "check/testdata/cluster.json"},
	{"podberth check --spread NAMESPACE/NAME", "check-pod", "How the pods of a constraint are spread.", "check/testdata/spread.json"},
	{"podberth lint", "lint", "Rules that can never be met, or do nothing.", "lint/testdata/manifests.json"},
}

const jsonPage = `# What the programs print as JSON and YAML

` + "`-o json` and `-o yaml` print one object. Every object has `apiVersion` (" + "`" + report.APIVersion + "`" + `) and ` + "`kind`" + `. The file
[schema/KIND.json](schema) is its JSON Schema (draft 2020-12), with the meaning of every field. Tests make the files of the Go types, and hold
what the commands print against them.

- A field that the schema requires is always there: a list without items is ` + "`[]`, and a text is `\"\"`" + ` when there is none. Nothing is null.
  An answer leaves out other fields that are empty. Later versions may add fields, and do not rename or redefine one.
- Quantities are written as in Kubernetes (` + "`500m`, `1Gi`), times as `2026-03-02T08:00:00Z`, durations as `1m30s`" + `.
- ` + "`pod` is `NAMESPACE/NAME`; `namespace` and `name`" + ` are the same name in parts. ` + "`node` and `plugin`" + ` are names.
- Names of plugins, codes, reasons and messages are kube-scheduler's own, byte for byte.

| kind, with its schema | command | what it says | a whole answer |
| --- | --- | --- | --- |
`

// What every command prints as JSON has the form of its schema. docs/json.md has each kind, with a file that has a whole answer, or
// a part of one; -rewrite writes it.
func TestJSON(t *testing.T) {
	testkit.Sequential(t)
	asked := maps.Clone(commands)
	delete(asked, "place-map") // a picture is for terminals
	asked["place-pack"] = []string{"place", "--pack", "-f", shipped}
	asked["place-against"] = []string{"place", "-f", shipped, "--against", tools + "place/testdata/most-allocated.yaml"}
	out, kinds := map[string]string{}, map[string]string{}
	for name, args := range asked {
		code, text, errs := podberth(t, "", append(args, "-o", "json")...)
		require.Less(t, code, 2, "%s: %s", name, errs)
		var head report.Head
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &head), name)
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		require.NoError(t, schemaOf(t, head.Kind).Validate(v), name)
		out[name], kinds[name] = text, head.Kind
	}
	page, examples, described := jsonPage, "", map[string]bool{}
	for _, a := range answers {
		kind := kinds[a.command]
		described[kind] = true
		whole := "[below](#" + strings.ToLower(kind) + ")"
		if a.file == "" {
			examples += fmt.Sprintf("\n### %s\n\n```yaml\n%s```\n", kind, example(t, out[a.command]))
		} else {
			requireKind(t, a.file, kind)
			whole = fmt.Sprintf("[%s](../tools/%s)", filepath.Base(a.file), a.file)
		}
		page += fmt.Sprintf("| [%s](schema/%s.json) | `%s` | %s | %s |\n", kind, kind, a.line, a.says, whole)
	}
	page += "\n## Answers about the shipped cluster\n\nOf a list they have the first item, and of a long text the beginning. What lies deeper is left out.\n" + examples
	testkit.Golden(t, "../../../docs/json.md", page)
	files, err := filepath.Glob(schemas + "/*.json")
	require.NoError(t, err)
	have := map[string]bool{}
	for _, f := range files {
		have[strings.TrimSuffix(filepath.Base(f), ".json")] = true
	}
	require.Equal(t, described, have, "every schema has a row, and every row a schema")
	for name, kind := range kinds {
		require.True(t, described[kind], name)
	}
}

// requireKind checks that a file of tools is an answer of that kind, in the form of its schema.
func requireKind(t *testing.T, file, kind string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../tools", file))
	require.NoError(t, err)
	var head report.Head
	var v any
	require.NoError(t, json.Unmarshal(text, &head), file)
	require.NoError(t, json.Unmarshal(text, &v))
	require.Equal(t, kind, head.Kind, file)
	require.NoError(t, schemaOf(t, kind).Validate(v), file)
}

func schemaOf(t *testing.T, kind string) *jsonschema.Resolved {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(schemas, kind+".json"))
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

// example returns a part of an answer in YAML, in the order of its fields.
func example(t *testing.T, answer string) string {
	t.Helper()
	var n yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(answer), &n))
	shorten(&n, 0)
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	require.NoError(t, e.Encode(&n))
	require.NoError(t, e.Close())
	return b.String()
}

// shorten leaves the first item of lists, the beginning of texts, and what lies three levels deep.
func shorten(n *yaml.Node, depth int) {
	const deepest, longest = 3, 60
	n.Style = 0
	switch n.Kind {
	case yaml.SequenceNode:
		n.Content = n.Content[:min(1, len(n.Content))]
	case yaml.ScalarNode:
		if text := []rune(n.Value); len(text) > longest {
			n.Value = string(text[:longest]) + "…"
		}
	case yaml.MappingNode:
		depth++
		var kept []*yaml.Node
		for pair := range slices.Chunk(n.Content, 2) {
			if pair[1].Kind == yaml.ScalarNode || depth < deepest {
				kept = append(kept, pair...)
			}
		}
		n.Content = kept
	}
	for _, c := range n.Content {
		shorten(c, depth)
	}
}
