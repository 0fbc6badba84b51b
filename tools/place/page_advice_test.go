package place

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// advised are the causes and remedies in the model of a page.
type advised struct {
	Pods struct {
		Name []string `json:"name"`
	} `json:"pods"`
	Verdicts []struct {
		Cause string   `json:"cause"`
		Help  []string `json:"help"`
	} `json:"verdicts"`
	Of map[int]int `json:"of"`
}

var modelOfPage = regexp.MustCompile(`(?s)<script id="model" type="application/json">(.*?)</script>`)

// The page says of every pod that waits what the command why says of it. Equal pods of an owner share the words about their first: a remedy that
// helps some of them may not help the last one, of which why then does not name it.
func TestPageSaysWhatWhySays(t *testing.T) {
	text, err := os.ReadFile("../../examples/testdata/cluster.yaml")
	require.NoError(t, err)
	_, out, errs := simulate(t, string(text), "-f", "-", "-o", "html")
	found := modelOfPage.FindStringSubmatch(out)
	require.Len(t, found, 2, errs)
	var page advised
	require.NoError(t, json.Unmarshal([]byte(found[1]), &page))
	pods, equal, remedies := 0, 0, 0
	first := map[string]bool{}
	for k, name := range page.Pods.Name {
		v, ok := page.Of[k]
		if !ok || page.Verdicts[v].Cause == "" {
			continue
		}
		e := explained(t, string(text), name)
		require.NotNil(t, e.Cause, name)
		require.Equal(t, e.Cause.Text, page.Verdicts[v].Cause, name)
		said := strings.Join(page.Verdicts[v].Help, "\n")
		pods, remedies = pods+1, remedies+len(e.Help)
		words := e.Namespace + said
		if first[words] {
			require.Subset(t, page.Verdicts[v].Help, e.Help, name)
			equal++
			continue
		}
		first[words] = true
		require.Equal(t, strings.Join(e.Help, "\n"), said, name)
	}
	t.Log(pods, equal, remedies)
	require.Greater(t, pods-equal, 5)
	require.Greater(t, equal, 0)
	require.Greater(t, remedies, 10)
}
