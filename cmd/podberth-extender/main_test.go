package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, main) }

func TestStreams(t *testing.T) { testkit.Streams(t, programName, "-f", "-") }

// The process reads its input again on HUP and ends without an error on TERM.
func TestSignals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	require.NoError(t, os.WriteFile(file, []byte(shop), 0o600))
	c := testkit.Process(t, "-f", file, "-listen", "127.0.0.1:0")
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(stderr)
	said := func(begin string) {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), begin) {
				return
			}
		}
		require.Fail(t, "no line begins with "+begin)
	}
	said("listening on http://127.0.0.1:")
	require.NoError(t, os.WriteFile(file, []byte("not a dump: ["), 0o600))
	require.NoError(t, c.Process.Signal(syscall.SIGHUP))
	said("podberth-extender: not read again: " + file + ": document 1: ")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.False(t, lines.Scan(), lines.Text())
	require.NoError(t, c.Wait())
}
