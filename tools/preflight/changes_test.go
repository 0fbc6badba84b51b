package preflight

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/upgrade"
)

// Preflight names the changes of the new version as program upgrade does: pods that go to another node, and running pods that
// would not be admitted. One of them makes the answer no.
func TestChangesOfTheNewVersion(t *testing.T) {
	args := []string{"-f", "../upgrade/testdata/cluster.yaml", "-from", "1.36", "-to", "1.37"}
	var out, errs bytes.Buffer
	upgrade.Run(t.Context(), append(args, "-o", "json"), nil, &out, &errs)
	var of struct {
		Pods    []struct{ Pod string }
		Running []struct{ Pod, Node string }
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &of), errs.String())
	require.NotEmpty(t, of.Pods)
	code, table, said := before("", args...)
	require.Equal(t, program.No, code, said)
	testkit.Golden(t, "testdata/changes.table", table)
	_, text, _ := before("", append(args, "-o", "json")...)
	var a preflight
	require.NoError(t, json.Unmarshal([]byte(text), &a))
	require.Equal(t, []string{"1.36", "1.37"}, []string{a.From, a.To})
	require.Len(t, a.Pods, len(of.Pods)+len(of.Running))
	for k, p := range of.Pods {
		require.Equal(t, p.Pod, a.Pods[k].Name)
		require.NotEqual(t, a.Pods[k].Was, a.Pods[k].Is)
	}
	for k, p := range of.Running {
		c := a.Pods[len(of.Pods)+k]
		require.Equal(t, []string{p.Pod, "runs on " + p.Node}, []string{c.Name, c.Was})
		require.Contains(t, c.Is, "would not be admitted there: ")
	}
}

// Each kind of finding by itself makes the answer no, and lists without elements are lists.
func TestOnlyOneFinding(t *testing.T) {
	none := preflight{}
	none.sum()
	require.True(t, none.OK)
	for _, a := range []preflight{{Blocked: make([]blocked, 1)}, {Pods: make([]changed, 1)}, {Fields: make([]changed, 1)}, {Kubelets: make([]string, 1)}, {Unasked: 1}} {
		a.OK = true
		a.sum()
		require.False(t, a.OK)
	}
	node := func(name, version string) string {
		return "---\n{apiVersion: v1, kind: Node, metadata: {name: " + name + "}, status: {nodeInfo: {kubeletVersion: " + version + "}, allocatable: {cpu: 4, pods: 10}}}\n"
	}
	_, out, _ := before(node("n2", "v1.33.9")+node("n1", "v1.32.9"), "-f", "-", "-to", "1.37", "-from", "1.36", "-o", "json")
	require.NotContains(t, out, "null")
	var a preflight
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	require.Equal(t, []string{"n1", "n2"}, a.Kubelets)
	require.Equal(t, "1.36", a.From)
}
