package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/tools/anonymise"
)

// The startupTaints of NodePools are read of a cluster whose nodes are of such pools, and of its anonymised dump. Who may not list NodePools gets
// the answer without them, and a warning.
func TestLiveNodePools(t *testing.T) {
	const file = "../../../diagnose/testdata/advice/startup-taints-of-a-node-pool.yaml"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var list struct{ Items []anonymise.Tree }
	require.NoError(t, yaml.Unmarshal(text, &list))
	const pools = "/apis/karpenter.sh/v1/nodepools"
	s, flags := serve(t)
	require.NotContains(t, s.asked, "nodepools")
	paths := map[string]string{"NodePool": pools, "Node": resources["Node"], "Pod": resources["Pod"]}
	for _, path := range paths {
		s.lists[path] = nil
	}
	for _, x := range list.Items {
		path, known := paths[x["kind"].(string)]
		require.True(t, known)
		delete(x, "kind")
		delete(x, "apiVersion")
		s.lists[path] = append(s.lists[path], x)
	}
	const agent = "look at the agent's pod on n1"
	_, want, _ := ask("why", "default/app", "-f", file)
	require.Contains(t, want, agent)
	_, got, _ := ask(slices.Concat([]string{"why", "default/app"}, flags)...)
	require.Equal(t, want, got)
	require.Contains(t, s.asked, "nodepools")

	s.forbidden = []string{"nodepools"}
	_, got, warned := ask(slices.Concat([]string{"why", "default/app"}, flags)...)
	require.NotContains(t, got, agent)
	require.Contains(t, warned, "this user may not list nodepools.karpenter.sh: startupTaints are taken for taints of pools")

	_, renamed, _ := ask("snapshot", "--anonymise", "-f", file)
	path := filepath.Join(t.TempDir(), "renamed.yaml")
	require.NoError(t, os.WriteFile(path, []byte(renamed), 0o600))
	pod := regexp.MustCompile(`"pod": "([^"]+)"`)
	_, placed, _ := ask("place", "-A", "-f", path, "-o", "json")
	_, got, _ = ask("why", pod.FindStringSubmatch(placed)[1], "-f", path)
	require.Contains(t, got, " is still starting, ")
}
