package fleet

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"testing"

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

// searching is the context of a search. It ends when the search has asked for the end so often as left says, once that is set.
type searching struct {
	context.Context
	interrupt func()
	left      atomic.Int32 // 0: it does not end by itself
}

func (s *searching) Err() error {
	if s.left.Load() > 0 && s.left.Add(-1) == 0 {
		s.interrupt()
	}
	return s.Context.Err()
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
		live, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		ctx := &searching{Context: live, interrupt: interrupt}
		in := ending{bytes.NewReader(cluster.Bytes()), interrupt}
		if p.program.name == "pressure" {
			in.Reader = bytes.NewReader(oneNode)
		}
		if slices.Contains(p.args, "-time") {
			in.read = func() { ctx.left.Store(100) }
		}
		var answer, errs bytes.Buffer
		require.Equal(t, 2, p.run(ctx, append([]string{"-f", "-", "-o", "json"}, p.args...), in, &answer, &errs))
		require.Contains(t, errs.String(), p.program.name+": interrupted\n")
		require.Empty(t, answer.String())
	})
}
