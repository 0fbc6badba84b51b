package rollout

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/tools/program"
)

// kubectl is a program that writes down how it was called: one line for a call, each argument in brackets.
const kubectl = `#!/bin/sh
for word in "$@"; do printf '<%s>' "$word" >> "$RECORD"; done
echo >> "$RECORD"
`

// execute runs a script with the program kubectl in PATH and returns its calls. It fails when the script makes a file.
func execute(t *testing.T, script string) string {
	t.Helper()
	bin, dir, record := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "record")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o755))
	file := filepath.Join(bin, "rollout.sh")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o755))
	for _, args := range [][]string{{"-n", file}, {file}} {
		c := exec.Command("sh", args...)
		c.Dir, c.Env = dir, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "RECORD=" + record}
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, script)
		require.Empty(t, string(out), script)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files, script)
	calls, err := os.ReadFile(record)
	require.NoError(t, err)
	return string(calls)
}

const hostileBudget = "a\ntouch made\n#"

// A budget whose name ends its line gets no command into the script of a dump.
func TestScriptOfHostileDump(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rollout.sh")
	code, _, errs := rolling(`
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: shop, uid: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}, spec: {nodeName: n2, containers: [{name: c, image: i}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: "a\ntouch made\n#", namespace: shop}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}
`, "-f", "-", "-script", file)
	require.Zero(t, code, errs)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), `a\ntouch made\n#`, "the name is in a comment")
	require.Equal(t, `<taint><nodes><--overwrite><--><n1><podberth.io/old=:PreferNoSchedule>
<taint><nodes><--overwrite><--><n2><podberth.io/old=:PreferNoSchedule>
<cordon><--><n1>
<drain><--ignore-daemonsets><--><n1>
<taint><nodes><--><n1><podberth.io/old:PreferNoSchedule->
<uncordon><--><n1>
<taint><nodes><--><n2><podberth.io/old:PreferNoSchedule->
`, execute(t, string(text)))
}

// A script has no node whose name the API server refuses; the plan without a script has.
func TestScriptRefusesNames(t *testing.T) {
	for _, name := range []string{"n2; touch made #", "-h", "N1", "a_b", `a\nb`, "$(touch made)"} {
		dump := `{apiVersion: v1, kind: Node, metadata: {name: "` + name + `"}, status: {allocatable: {cpu: "4", pods: "10"}}}`
		file := filepath.Join(t.TempDir(), "rollout.sh")
		code, out, errs := rolling(dump, "-f", "-", "-script", file)
		require.Equal(t, program.BadInput, code, name)
		require.Empty(t, out)
		require.Contains(t, errs, `rollout: -script: Node "`+name+`": metadata.name: Invalid value: "`+name+`": a lowercase RFC 1123 subdomain must consist of`)
		require.NoFileExists(t, file)
		code, _, errs = rolling(dump, "-f", "-")
		require.Zero(t, code, errs)
	}
	_, err := checkedScript(&planner.Plan{Blocked: []planner.Deadlock{{Nodes: []string{"N1"}}}}, options{grace: -1})
	require.ErrorContains(t, err, `Node "N1": metadata.name`, "a node that is left out")
}

// Whatever the names are, kubectl gets each as one argument that is no flag, and nothing else runs.
func TestScriptQuotesNames(t *testing.T) {
	names := []string{"n2; touch made #", "$(touch made)", "`touch made`", "'; touch made; '", "-h", "a\ntouch made", "a b"}
	p := &planner.Plan{
		Steps: []planner.Step{
			{Action: planner.Surge, Nodes: names}, {Action: planner.Replace, Nodes: names}, {Action: planner.Settle, Nodes: names}, {Action: planner.Retire, Nodes: names},
		},
		Blocked: []planner.Deadlock{{Nodes: []string{"left\ntouch made"}, Kind: "x\ntouch made", Proof: hostileBudget}},
	}
	words := "<--><" + strings.Join(names, "><") + ">"
	require.Equal(t, `<taint><nodes><--overwrite>`+words+`<podberth.io/old=:PreferNoSchedule>
<taint><nodes><--overwrite><--><left
touch made><podberth.io/old=:PreferNoSchedule>
<cordon>`+words+`
<drain>`+words+`
<taint><nodes>`+words+`<podberth.io/old:PreferNoSchedule->
<uncordon>`+words+`
<cordon>`+words+`
<drain>`+words+`
<delete><node>`+words+`
<taint><nodes><--><left
touch made><podberth.io/old:PreferNoSchedule->
`, execute(t, script(p, options{grace: -1})))
}
