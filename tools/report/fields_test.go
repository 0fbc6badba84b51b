package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUndocumented(t *testing.T) {
	page := "# Fields\n\n## Other\n| `pods[].node` | elsewhere |\n\n## Plan\n\n| field | meaning |\n| --- | --- |\n| `kind` | it |\n| `pods[]` | all |\n| `pods[].name` | its name |\n| `free.*` | by resource |\n\n## More\n| `blocked[]` | |\n"
	data := []byte(`{"kind": "Plan", "pods": [{"name": "a", "node": "n1"}, {"name": "b"}], "free": {"cpu": "1"}, "blocked": []}`)
	missing, err := Undocumented(page, data)
	require.NoError(t, err)
	require.Equal(t, []string{"blocked[]", "pods[].node"}, missing)
	_, err = Undocumented(page, []byte(`{"kind": "None"}`))
	require.EqualError(t, err, `no section "## None"`)
	_, err = Undocumented(page, []byte("no JSON"))
	require.Error(t, err)
	_, err = Undocumented(page, []byte(`{"kind": 3}`))
	require.Error(t, err)
}

// Fields of objects are fields too. A kind is the whole title of its section.
func TestUndocumentedFields(t *testing.T) {
	page := "# Plan\n\n## PlanOfWaves\n| `kind` | other |\n| `h` | other |\n\nA Plan\n\n## Plan\n| `kind` | it |\n| `a` | an object |\n"
	missing, err := Undocumented(page, []byte(`{"kind": "Plan", "a": {"c": 1, "b": {"d": 2}}, "g": 1, "f": 2, "e": [], "h": 3}`))
	require.NoError(t, err)
	require.Equal(t, []string{"a.b", "a.b.d", "a.c", "e[]", "f", "g", "h"}, missing)
}
