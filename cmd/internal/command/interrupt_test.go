package command_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cmd/internal/command"
	"github.com/podberth/podberth/internal/testkit"
)

// stuck is an input that interrupts the process when it is read, and gives nothing until the test ends. A read after the end interrupts
// nobody: then no command hears the signal, and the process would end.
type stuck struct{ end chan struct{} }

func (s stuck) Read([]byte) (int, error) {
	select {
	case <-s.end:
		return 0, io.EOF
	default:
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		return 0, err
	}
	<-s.end
	return 0, io.EOF
}

// hung is a cluster that does not answer, and does not hear that nobody waits for it any more.
type hung struct{ stuck }

func (hung) Flags(*pflag.FlagSet)             {}
func (hung) Namespace(string) (string, error) { return "default", nil }
func (h hung) Read(context.Context, command.Need, io.Writer) (io.Reader, []string, error) {
	_, err := h.stuck.Read(nil)
	return nil, nil, err
}
func (hung) Names(context.Context, command.Kind, string) ([]string, error) { return nil, nil }

// Ctrl-C ends every command at once, whether it waits for a dump or for a cluster, and leaves no file behind.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"why": {"why", "a"}, "place": {"place"}, "fit": {"fit", "a"}, "drain": {"drain", "n"}, "evict": {"evict", "a"}, "pressure": {"pressure", "n"},
		"taints": {"taints", "n"}, "failures": {"failures"}, "consolidate": {"consolidate"}, "rollout": {"rollout"}, "upgrade": {"upgrade", "--from", "1.35", "--to", "1.36"},
		"preflight": {"preflight", "--from", "1.36", "--to", "1.37"}, "check": {"check"}, "lint": {"lint"}, "snapshot": {"snapshot", "-o", filepath.Join(dir, "x.yaml")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, of := range []command.Program{{Name: "podberth"}, {Name: "kubectl podberth", Cluster: hung{stuck{make(chan struct{})}}}} {
				in := stuck{make(chan struct{})}
				if of.Cluster == nil {
					args = append(args, "-f", "-")
				} else {
					in = of.Cluster.(hung).stuck
					args = args[:len(args)-2]
				}
				var out, errs bytes.Buffer
				require.Equal(t, 2, of.Run(t.Context(), args, in, &out, &errs))
				require.Equal(t, of.Name+": interrupted\n", errs.String())
				require.Empty(t, out.String())
				close(in.end)
			}
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// No help of a command has words that run together.
func TestWordsOfHelps(t *testing.T) {
	var all bytes.Buffer
	for _, of := range []command.Program{{Name: "podberth"}, kubectl()} {
		for _, name := range []string{"why", "place", "fit", "drain", "evict", "pressure", "taints", "failures", "consolidate", "rollout", "upgrade", "preflight", "check", "lint", "snapshot", "version"} {
			require.Equal(t, 0, of.Run(t.Context(), []string{name, "--help"}, nil, &all, &all))
		}
	}
	require.Empty(t, testkit.JoinedWords(all.String()))
	for _, doubled := range []string{"(default 0s)", "(default 0)", "(default default)", "version (default"} {
		require.NotContains(t, all.String(), doubled, "a default that is none, or is in the text already")
	}
}
