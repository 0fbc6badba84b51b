package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/podberth/podberth/internal/testkit"

	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// journal is what was logged by all tests.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

var logs journal

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// collectLogs makes klog write to logs too. It is called before anything logs, because klog's logger has no lock.
func collectLogs() {
	if err := logsapi.ValidateAndApply(newOptions().logs, nil); err != nil {
		panic(err)
	}
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.MultiWriter(&logs, os.Stderr)))))
}

// logged returns a function that returns what was logged in between.
func logged() func() string {
	from := len(logs.String())
	return func() string { return logs.String()[from:] }
}

// command runs the command without a port for its server, and returns its exit code and its output.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), append([]string{"--secure-port=0", "--kube-api-content-type=application/json", "--leader-elect=false"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// A command that is stopped has exit code 0, and says in the log when it starts and ends.
func TestStopped(t *testing.T) {
	said := logged()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	kubeconfig := startAPI(t, &apitest.API{Answer: func(http.ResponseWriter, *http.Request) bool {
		stop()
		return false
	}})
	var out, errs bytes.Buffer
	require.Zero(t, Run(ctx, []string{"--kubeconfig", kubeconfig, "--secure-port=0", "--leader-elect=false"}, &out, &errs))
	require.Empty(t, out.String()+errs.String())
	require.Contains(t, said(), `"Starting" version="(devel), decides as Kubernetes v1.37.2"`)
	require.Contains(t, said(), `"Requested to terminate, exiting" err=`)
}

// A command that cannot run has exit code 1, and a line for each reason.
func TestRefused(t *testing.T) {
	kubeconfig := startAPI(t, &apitest.API{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !bytes.Contains(body, []byte(`"resource":"csinodes"`)) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false}}`)
		return true
	}})
	for _, mode := range []string{"--shadow=false", "--shadow"} {
		code, out, errs := command(t, "--kubeconfig", kubeconfig, mode)
		require.Equal(t, 1, code)
		require.Empty(t, out)
		require.Equal(t, "error: the account may not list csinodes.storage.k8s.io\nerror: the account may not watch csinodes.storage.k8s.io\n", errs, mode)
	}
}

// A port that another has is an error, before the API server is asked for anything.
func TestPortInUse(t *testing.T) {
	l := listen(t)
	kubeconfig := startAPI(t, &apitest.API{Answer: func(http.ResponseWriter, *http.Request) bool {
		t.Error("the API server is asked")
		return false
	}})
	code, _, errs := command(t, "--kubeconfig", kubeconfig, "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", l.Addr().(*net.TCPAddr).Port))
	require.Equal(t, 1, code)
	require.True(t, strings.HasPrefix(errs, "error: failed to create listener: "), errs)
}

// The logs of a process are configured once.
func TestLogsChange(t *testing.T) {
	code, _, errs := command(t, "--master=http://127.0.0.1:1", "--logging-format=json")
	require.Equal(t, 2, code)
	require.True(t, strings.HasPrefix(errs, "error: the logging configuration should not be changed after setting it once"), errs)
}

// Two mistakes are two lines.
func TestTwoMistakes(t *testing.T) {
	code, _, errs := command(t, "--secure-port=99999", "--logging-format=none")
	require.Equal(t, 2, code)
	require.Equal(t, 2, strings.Count("\n"+errs, "\nerror: "), errs)
}

// A shell can ask for the rest of a flag.
func TestCompletion(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, Run(t.Context(), []string{"__complete", "--shadow-o"}, &out, &errs))
	require.Contains(t, out.String(), "--shadow-output")
	require.Contains(t, errs.String(), "Completion ended")
}

// An error of a scheduler that was stopped is none, but that the lease was lost is one.
func TestEnded(t *testing.T) {
	live := t.Context()
	over, stop := context.WithCancel(live)
	stop()
	failed, lost := errors.New("failed"), fmt.Errorf("at the end: %w", daemon.ErrLeaseLost)
	type test struct {
		name, why string
		ctx       context.Context
		err, want error
	}
	testkit.Run(t, []test{
		{"failed", "nobody has stopped it", live, failed, failed},
		{"stopped", "what was cut has an error", over, failed, nil},
		{"lost", "another schedules", live, lost, lost},
		{"lost and stopped", "the lease was not released", over, lost, lost},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, ended(c.ctx, c.err), c.why)
	})
}

// The version is the module's, if the build knows it.
func TestVersion(t *testing.T) {
	info := func(v string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: v}} }
	require.Equal(t, "v1.2.3, decides as Kubernetes v1.37.2", version(info("v1.2.3"), true))
	require.Equal(t, "(devel), decides as Kubernetes v1.37.2", version(info(""), true))
	require.Equal(t, "(devel), decides as Kubernetes v1.37.2", version(info("v1.2.3"), false))
}
