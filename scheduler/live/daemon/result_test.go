package daemon

import (
	"bytes"
	"flag"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
)

// logged is the log of the tests. Goroutines of client-go write to it too.
var logged log

type log struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *log) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(data)
}

// take returns what was written since the last call.
func (l *log) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.lines.Reset()
	return l.lines.String()
}

func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil // one of them sleeps until a time after the last error, which is not of the bubble of the test
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.Level(-2)})))
	os.Exit(m.Run())
}

// The end of an attempt is a line of the log: pods that were bound or rejected from level 2 on, failures always.
func TestResult(t *testing.T) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	defer func() { require.NoError(t, flags.Set("v", "0")) }()
	type test struct {
		name    string
		outcome scheduler.Outcome
		always  bool
		want    string
	}
	testkit.Run(t, []test{
		{"scheduled", scheduler.Scheduled, false, `msg="Successfully bound pod to node" pod.name=a-pod pod.namespace=default node=n evaluatedNodes=3 feasibleNodes=2`},
		{"rejected", scheduler.Rejected, false, `msg="Unable to schedule pod; no fit; waiting" pod.name=a-pod pod.namespace=default err=why`},
		{"failed", scheduler.SchedulingError, true, `msg="Error scheduling pod; retrying" err=why pod.name=a-pod pod.namespace=default`},
	}, func(t *testing.T, x test) {
		for _, level := range []string{"1", "2"} {
			require.NoError(t, flags.Set("v", level))
			if r := (scheduler.Result{Pod: pod("a-pod"), Outcome: x.outcome}); level == "1" && x.outcome == scheduler.Scheduled {
				require.Less(t, testing.AllocsPerRun(100, func() { (&Daemon{}).result(r) }), 2.0, "a line that nobody wants is not made")
			}
			logged.take()
			(&Daemon{}).result(scheduler.Result{Pod: pod("a-pod"), Outcome: x.outcome, Node: "n", Message: "why", Evaluated: 3, Feasible: 2})
			if level == "2" || x.always {
				require.Contains(t, logged.take(), x.want)
			} else {
				require.NotContains(t, logged.take(), "a-pod")
			}
		}
	})
}
