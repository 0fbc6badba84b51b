package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/internal/testkit"
)

const (
	root = "../.."
	bad  = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeSelector: {disk: ssd}, containers: [{name: c}]}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}\n"
	good = "{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, resources: {requests: {cpu: 1m, memory: 1Mi}}}]}}\n"
)

// step is the only step of action.yml.
type step struct {
	Run string            `json:"run"`
	Env map[string]string `json:"env"`
}

func theStep(t *testing.T) step {
	t.Helper()
	var action struct {
		Inputs map[string]any `json:"inputs"`
		Runs   struct {
			Steps []step `json:"steps"`
		} `json:"runs"`
	}
	text, err := os.ReadFile(root + "/action.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &action))
	require.Len(t, action.Runs.Steps, 1)
	require.Len(t, action.Inputs, len(action.Runs.Steps[0].Env))
	for name, value := range action.Runs.Steps[0].Env {
		input := strings.ToLower(name)
		require.Contains(t, action.Inputs, input)
		require.Equal(t, "${{ inputs."+input+" }}", value)
	}
	return action.Runs.Steps[0]
}

// act runs the step as a runner does, with the test binary as the program.
func act(t *testing.T, folder string, inputs map[string]string) (code int, stdout, stderr string) {
	t.Helper()
	action, err := filepath.Abs(root)
	require.NoError(t, err)
	s := theStep(t)
	return shell(t, folder, append(environment(s, inputs), "GITHUB_ACTION_PATH="+action), "-c", s.Run)
}

func environment(s step, inputs map[string]string) (out []string) {
	for name := range s.Env {
		out = append(out, name+"="+inputs[strings.ToLower(name)])
	}
	return out
}

func shell(t *testing.T, folder string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self := testkit.Process(t)
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), "sh", args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = folder, append(append(self.Env, "PODBERTH="+self.Path), env...), &out, &errs
	if err := c.Run(); !errors.As(err, new(*exec.ExitError)) {
		require.NoError(t, err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// The action lints the files of its lines, writes SARIF, and leaves out what a baseline has. Its exit codes are those of lint.
func TestAction(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/bad pod.yaml", []byte(bad), 0o600))
	require.NoError(t, os.WriteFile(dir+"/good.yaml", []byte(good), 0o600))
	code, out, errs := act(t, dir, map[string]string{"files": "good.yaml\nbad pod.yaml\n", "sarif": "out.sarif"})
	require.Equal(t, 1, code, errs)
	require.Contains(t, out, "error: Pod default/a: ")
	sarif, err := os.ReadFile(dir + "/out.sarif")
	require.NoError(t, err)
	require.Regexp(t, regexp.MustCompile(`"uri": "bad%20pod.yaml"[^}]*}[^}]*"startLine": 1,`), string(sarif))

	code, known, errs := ask(t, "", "lint", "-A", "-f", dir+"/bad pod.yaml", "-o", "json")
	require.Equal(t, 1, code, errs)
	require.NoError(t, os.WriteFile(dir+"/known.json", []byte(known), 0o600))
	code, out, errs = act(t, dir, map[string]string{"files": "bad pod.yaml", "baseline": "known.json"})
	require.Zero(t, code, out+errs)
	require.Regexp(t, `[1-9]\d* known, 0 of the baseline gone\n$`, out)

	code, _, errs = act(t, dir, map[string]string{"files": "good.yaml", "cluster": "bad pod.yaml"})
	require.Zero(t, code, errs)
	for _, inputs := range []map[string]string{{}, {"files": "none.yaml", "sarif": "none.sarif"}, {"files": "$(touch touched)"}, {"files": "good.yaml", "baseline": "none.json"}} {
		code, out, errs = act(t, dir, inputs)
		require.Equal(t, 2, code, inputs)
		require.Empty(t, out)
		require.NotEmpty(t, errs)
	}
	require.NoFileExists(t, dir+"/none.sarif")
	require.NoFileExists(t, dir+"/touched")
}

// The hook is the script with the files as arguments. Without PODBERTH the script builds the program.
func TestHook(t *testing.T) {
	var hooks []struct{ Entry, Language string }
	text, err := os.ReadFile(root + "/.pre-commit-hooks.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &hooks))
	require.Len(t, hooks, 1)
	require.Equal(t, "script", hooks[0].Language)
	script, err := filepath.Abs(filepath.Join(root, hooks[0].Entry))
	require.NoError(t, err)
	info, err := os.Stat(script)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o111, "can be run")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/bad pod.yaml", []byte(bad), 0o600))
	for _, program := range []string{"", "PODBERTH="} {
		code, out, errs := shell(t, dir, []string{program}, script, "bad pod.yaml")
		require.Equal(t, 1, code, errs)
		require.Contains(t, out, "error: Pod default/a: ")
	}
}
