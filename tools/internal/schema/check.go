package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/report"
)

// Check tests for each kind, by its name, that docs/schema/KIND.json is the schema of the Go type of which a value is given: golden is
// testkit.Golden, which writes the file with -rewrite. Each of the outputs, and of the answers in testdata/*.json, is of one of the kinds
// and has the form of its schema: no other field, every required field, nothing null. Every field of the schemas is in one of them, or rare
// has it with the reason: as "KIND.field", and below as "TYPE.field", or TYPE for a type of another command.
func Check(t *testing.T, golden func(t *testing.T, file, got string), kinds map[string]any, outputs []string, rare map[string]string) {
	t.Helper()
	schemas, resolved := map[string]*jsonschema.Schema{}, map[string]*jsonschema.Resolved{}
	for kind, answer := range kinds {
		s, err := of(kind, reflect.TypeOf(answer))
		require.NoError(t, err)
		data, err := json.MarshalIndent(s, "", "  ")
		require.NoError(t, err)
		golden(t, filepath.Join(root(), "docs", "schema", kind+".json"), string(data)+"\n")
		resolved[kind], err = s.Resolve(nil)
		require.NoError(t, err)
		schemas[kind] = s
	}
	seen := map[string]bool{}
	for _, out := range append(printed(t), outputs...) {
		var head report.Head
		var v any
		require.NoError(t, json.Unmarshal([]byte(out), &head))
		require.NoError(t, json.Unmarshal([]byte(out), &v))
		require.Contains(t, schemas, head.Kind)
		require.NoError(t, resolved[head.Kind].Validate(v))
		mark(schemas[head.Kind], head.Kind, schemas[head.Kind], v, seen)
	}
	unseen := []string{}
	for kind, s := range schemas {
		unseen = append(unseen, missing(kind, s, seen)...)
		for name, d := range s.Defs {
			unseen = append(unseen, missing(name, d, seen)...)
		}
	}
	for field, why := range rare {
		require.NotEmpty(t, why, field)
		n := len(unseen)
		unseen = slices.DeleteFunc(unseen, func(f string) bool { return f == field || strings.HasPrefix(f, field+".") })
		require.Less(t, len(unseen), n, "%s: every field is in an output, and needs no reason", field)
	}
	slices.Sort(unseen)
	require.Empty(t, slices.Compact(unseen), "fields that no output of the test has, and no reason why")
}

// printed returns the answers in testdata/*.json.
func printed(t *testing.T) []string {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	var out []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var head report.Head
		if json.Unmarshal(data, &head) == nil && head.APIVersion == report.APIVersion {
			out = append(out, string(data))
		}
	}
	return out
}

// missing returns the fields of a struct that were not seen.
func missing(name string, s *jsonschema.Schema, seen map[string]bool) []string {
	var out []string
	for field := range s.Properties {
		if !seen[name+"."+field] {
			out = append(out, name+"."+field)
		}
	}
	return out
}

// mark notes the fields of v, which has the form of s. name is that of its struct.
func mark(whole *jsonschema.Schema, name string, s *jsonschema.Schema, v any, seen map[string]bool) {
	if d, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		name, s = d, whole.Defs[d]
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			mark(whole, name, s.Items, item, seen)
		}
	case map[string]any:
		for field, value := range v {
			below := s.Properties[field]
			if below == nil {
				below = s.AdditionalProperties
			} else {
				seen[name+"."+field] = true
			}
			mark(whole, name, below, value, seen)
		}
	}
}

// root returns the folder of the root module: the first above the folder of the test that has go.work.
func root() string {
	dir := "."
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		dir = filepath.Join(dir, "..")
		if strings.Count(dir, "..") > 20 {
			panic("no go.work above the folder of the test")
		}
	}
}
