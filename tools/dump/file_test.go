package dump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A file with one document, in every form and with every error.
func TestOneDocument(t *testing.T) {
	big := strings.Repeat("x", 2000)
	testkit.Run(t, []struct{ name, text, kind, unknown, wrong string }{
		{"YAML", nodeYAML, "Node", "", ""},
		{"JSON", `{"kind":"Node"}`, "Node", "", ""},
		{"comments around", "# a\n---\n" + nodeYAML + "---\n# b\n", "Node", "", ""},
		{"unknown field", "kind: Node\nspeck: {}\n", "Node", `standard input: unknown field "speck"`, ""},
		{"wrong type", "kind: Node\nspec: {unschedulable: 3}\n", "", "", "standard input: spec.unschedulable: "},
		{"no text", "", "", "", "standard input: is empty"},
		{"no document", "---\n# nothing\n", "", "", "standard input: is empty"},
		{"two documents", nodeYAML + "---\n" + nodeYAML, "", "", "standard input: must hold a single document"},
		{"no YAML", "kind: [", "", "", "standard input: yaml: line 1: did not find expected node content"},
		{"too large", "kind: Node\na: " + big, "", "", "standard input: Too long: one object may have at most 1000 bytes"},
	}, func(t *testing.T, c struct{ name, text, kind, unknown, wrong string }) {
		var n v1.Node
		unknown, err := ReadFile("-", strings.NewReader(c.text), &n, Options{MaxSize: 16000})
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong)
			require.Nil(t, unknown)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.kind, n.Kind)
		require.Equal(t, c.unknown, strings.Join(unknown, "\n"))
	})
	path := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(path, []byte(nodeYAML+nodeYAML), 0o600))
	_, err := ReadFile(path, nil, new(v1.Node), Options{})
	require.ErrorContains(t, err, path+": ")
	_, err = ReadFile(path+".none", nil, new(v1.Node), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Text for another decoder is passed on as it is, unless its aliases would make it too large.
func TestReadText(t *testing.T) {
	alias := "a: &a " + strings.Repeat("x", 300) + "\nb: [*a, *a, *a, *a]\n"
	for text, wrong := range map[string]string{
		nodeYAML:                  "",
		"kind: [":                 "",
		"":                        "",
		alias:                     "standard input: Too long: one object may have at most 1000 bytes",
		strings.Repeat("#", 1000): "",
		strings.Repeat("#", 1001): "standard input: Too long: one object may have at most 1000 bytes",
	} {
		got, err := ReadText("-", strings.NewReader(text), Options{MaxSize: 16000})
		if wrong != "" {
			require.ErrorContains(t, err, wrong)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
	_, err := ReadText(filepath.Join(t.TempDir(), "none"), nil, Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}
