package fleet

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/check"
	"github.com/podberth/podberth/tools/consolidate"
	"github.com/podberth/podberth/tools/drain"
	"github.com/podberth/podberth/tools/failures"
	"github.com/podberth/podberth/tools/lint"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/pressure"
	"github.com/podberth/podberth/tools/rollout"
	"github.com/podberth/podberth/tools/taints"
	"github.com/podberth/podberth/tools/upgrade"
)

// ending calls a function when everything was read.
type ending struct {
	io.Reader
	read func()
}

func (e ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.EOF {
		e.read()
	}
	return n, err
}

// The end of the context ends every program and what it searches, with one line and nothing on standard output. Searches without a limit,
// which would take hours or days, are ended on their way, everything else when the input is read.
func TestInterrupted(t *testing.T) {
	var cluster bytes.Buffer
	require.NoError(t, Write(&cluster, Options{Nodes: 150, Seed: 2, Full: true}))
	oneNode, err := os.ReadFile("../../pressure/testdata/pods.yaml")
	require.NoError(t, err)
	forever := []string{"-steps", "1000000000", "-time", "0"}
	for _, p := range []program{
		{"place", place.Run, nil},
		{"place", place.Run, append([]string{"-pack"}, forever...)},
		{"place", place.Run, append([]string{"-explain", "batch/job-00000"}, forever...)},
		{"place", place.Run, []string{"-how-many", "batch/job-00000"}},
		{"drain", drain.Run, []string{"-ignore-daemonsets", "-delete-emptydir-data", "-force", "-l", "pool"}},
		{"check", check.Run, nil},
		{"lint", lint.Run, nil},
		{"upgrade", upgrade.Run, []string{"-from", "1.35", "-to", "1.37"}},
		{"taints", taints.Run, []string{"-stop-zone", "eu-1a", "-admit"}},
		{"pressure", pressure.Run, []string{"-summary", "../../pressure/testdata/memory.json"}},
		{"failures", failures.Run, append([]string{"-pairs", "10000", "-orders", "1000000"}, forever...)},
		{"failures", failures.Run, []string{"-headroom", "-limit", "1000000", "-time", "0"}},
		{"consolidate", consolidate.Run, forever},
		{"rollout", rollout.Run, append([]string{"-ignore-daemonsets", "-delete-emptydir-data", "-force"}, forever...)},
	} {
		t.Run(p.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			in := ending{bytes.NewReader(cluster.Bytes()), interrupt}
			if p.name == "pressure" {
				in.Reader = bytes.NewReader(oneNode)
			}
			if slices.Contains(p.args, "-time") {
				in.read = func() { time.AfterFunc(50*time.Millisecond, interrupt) }
			}
			var answer, errs bytes.Buffer
			ended := make(chan int, 1)
			go func() {
				ended <- p.run(ctx, append([]string{"-f", "-", "-o", "json"}, p.args...), in, &answer, &errs)
			}()
			select {
			case code := <-ended:
				require.Contains(t, errs.String(), p.name+": interrupted\n")
				require.Equal(t, 2, code)
				require.Empty(t, answer.String())
			case <-time.After(time.Minute):
				t.Fatal("the search goes on")
			}
		})
	}
}
