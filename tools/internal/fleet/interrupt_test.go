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

	"github.com/podberth/podberth/internal/testkit"
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
	type test struct {
		name string
		program
	}
	testkit.Run(t, []test{
		{"place", program{"place", place.Run, nil}},
		{"pack", program{"place", place.Run, []string{"-pack"}}},
		{"why", program{"place", place.Run, []string{"-explain", "batch/job-00000"}}},
		{"how many", program{"place", place.Run, []string{"-how-many", "batch/job-00000"}}},
		{"drain", program{"drain", drain.Run, []string{"-ignore-daemonsets", "-delete-emptydir-data", "-force", "-l", "pool"}}},
		{"check", program{"check", check.Run, nil}},
		{"lint", program{"lint", lint.Run, nil}},
		{"upgrade", program{"upgrade", upgrade.Run, []string{"-from", "1.35", "-to", "1.37"}}},
		{"taints", program{"taints", taints.Run, []string{"-stop-zone", "eu-1a", "-admit"}}},
		{"pressure", program{"pressure", pressure.Run, []string{"-summary", "../../pressure/testdata/memory.json"}}},
		{"failures", program{"failures", failures.Run, append([]string{"-pairs", "10000", "-orders", "1000000"}, forever...)}},
		{"headroom", program{"failures", failures.Run, []string{"-headroom", "-limit", "1000000", "-time", "0"}}},
		{"consolidate", program{"consolidate", consolidate.Run, forever}},
		{"rollout", program{"rollout", rollout.Run, []string{"-ignore-daemonsets", "-delete-emptydir-data", "-force"}}},
	}, func(t *testing.T, p test) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		in := ending{bytes.NewReader(cluster.Bytes()), interrupt}
		if p.program.name == "pressure" {
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
			require.Contains(t, errs.String(), p.program.name+": interrupted\n")
			require.Equal(t, 2, code)
			require.Empty(t, answer.String())
		case <-time.After(time.Minute):
			t.Fatal("the search goes on")
		}
	})
}
