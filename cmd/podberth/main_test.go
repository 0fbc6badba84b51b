package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

const shipped = "../../examples/testdata/cluster.yaml"

func TestMain(m *testing.M) { testkit.Main(m, main) }

// ask runs the program as a process.
func ask(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := testkit.Process(t, args...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	if err := c.Run(); !errors.As(err, new(*exec.ExitError)) {
		require.NoError(t, err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// commands are the commands that read a dump, each with the arguments that it needs.
var commands = map[string][]string{
	"why": {"shop/web-0"}, "place": nil, "fit": {"shop/web-0"}, "drain": {"n1"}, "evict": {"shop/web-0"}, "pressure": {"n1", "--summary", "none"},
	"taints": {"n1"}, "failures": nil, "consolidate": nil, "rollout": nil, "upgrade": {"--from", "1.35", "--to", "1.36"}, "preflight": {"--from", "1.36", "--to", "1.37"}, "check": nil, "lint": nil, "snapshot": nil,
	"what-if": {"--cordon", "n1"}, "no-pods": {"deployment/shop/web"},
}

// Every command reads standard input. An error goes to standard error as one line that names the program and the command, nothing goes
// to standard output, and the exit code is the program's. Without -f the error says so, whatever else is missing.
func TestStreams(t *testing.T) {
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			code, out, errs := ask(t, "not a document: [", append([]string{name, "-f", "-"}, args...)...)
			require.Equal(t, 2, code)
			require.Empty(t, out)
			if name != "snapshot" { // which asks no tool
				require.True(t, strings.HasPrefix(errs, "podberth "+name+": "), errs)
			}
			require.Contains(t, errs, ": standard input: document 1: ")
			require.Equal(t, 1, strings.Count(errs, "\n"), errs)
			code, out, errs = ask(t, "", append([]string{name}, args...)...)
			require.Equal(t, 2, code)
			require.Empty(t, out)
			require.Equal(t, "podberth: -f: Required value: at least one file, folder or -; see podberth "+name+" --help\n", errs)
		})
	}
	code, out, errs := ask(t, "", "version")
	require.Zero(t, code, errs)
	require.Regexp(t, `^podberth \S+, Kubernetes v1\.37\.2\n$`, out)
	require.Empty(t, errs)
}

// TestStreams has every command.
func TestCommands(t *testing.T) {
	_, help, _ := ask(t, "", "--help")
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name := strings.Fields(line)[0]
		if name != "help" && name != "completion" && name != "version" && name != "mcp" {
			require.Contains(t, commands, name)
		}
	}
}

// The first command of README prints the table of package place, byte for byte.
func TestPlace(t *testing.T) {
	code, out, errs := ask(t, "", "place", "-A", "-f", shipped)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	testkit.Golden(t, "../../tools/place/testdata/cluster.table", out)
}

// An agent asks over standard input and output. Nothing but the protocol goes there, and the program ends with the input.
func TestAgent(t *testing.T) {
	in := []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	for k, call := range []string{`"overview","arguments":{}`, `"why_pod","arguments":{"pod":"data/postgres-3"}`, `"drain","arguments":{"nodes":["general-a1"]}`} {
		in = append(in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s}}`, k+1, call))
	}
	var errs bytes.Buffer
	c := testkit.Process(t, "mcp", "-f", shipped)
	c.Stderr = &errs
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = io.WriteString(stdin, strings.Join(in, "\n")+"\n")
	require.NoError(t, err)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	answered := map[int]bool{}
	for len(answered) < 4 {
		require.True(t, lines.Scan(), errs.String())
		var m struct {
			JSONRPC string
			ID      int
			Result  struct {
				IsError           bool
				StructuredContent map[string]any
			}
			Error any
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m), lines.Text())
		require.Equal(t, "2.0", m.JSONRPC)
		require.Nil(t, m.Error)
		require.False(t, m.Result.IsError, lines.Text())
		if m.ID > 0 {
			require.Equal(t, "v1.37.2", m.Result.StructuredContent["release"])
		}
		answered[m.ID] = true
	}
	require.NoError(t, stdin.Close())
	require.False(t, lines.Scan(), "nothing comes after the answers")
	require.NoError(t, c.Wait())
	require.Empty(t, errs.String())

	for _, args := range [][]string{{"mcp"}, {"mcp", "-f", "-"}, {"mcp", "-f", "none.yaml"}, {"mcp", "-f", shipped, "--answer-size", "1"}, {"mcp", "more", "-f", shipped}} {
		code, out, errs := ask(t, "", args...)
		require.Equal(t, 2, code, errs)
		require.Empty(t, out)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

// A dump may lack what is needed: --strict makes an error of it.
func TestStrict(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop}, spec: {nodeName: n1, containers: [{name: c}]}}"
	code, _, errs := ask(t, pod, "place", "-f", "-")
	require.Zero(t, code, errs)
	code, out, errs := ask(t, pod, "place", "-f", "-", "--strict")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, errs, "podberth place: ")
	require.Contains(t, errs, "no such node in the input")
}

// Completion without a dump has no names, and no error that a shell would show.
func TestCompletion(t *testing.T) {
	_, out, _ := ask(t, "", "__complete", "why", "")
	require.Equal(t, ":1\n", out)
	_, out, _ = ask(t, "", "__complete", "-f", shipped, "drain", "memory-a")
	require.True(t, strings.HasPrefix(out, "memory-a1\n"), out)
}

// The program links no client of an API server.
func TestLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "github.com/podberth/podberth/tools/place")
	for _, p := range packages {
		for _, client := range []string{"k8s.io/client-go", "k8s.io/cli-runtime", "k8s.io/kubectl", "sigs.k8s.io/kustomize", "github.com/podberth/podberth/cmd/internal/source", "github.com/podberth/podberth/scheduler/live"} {
			require.False(t, p == client || strings.HasPrefix(p, client+"/"), p)
		}
	}
}
