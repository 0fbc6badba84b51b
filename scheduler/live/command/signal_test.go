package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// childVariable makes the test's program the command.
const childVariable = "PODBERTH_COMMAND_KUBECONFIG"

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(childVariable); kubeconfig != "" {
		os.Exit(Run(context.Background(), []string{"--kubeconfig", kubeconfig, "--secure-port=0", "--kube-api-content-type=application/json"}, os.Stdout, os.Stderr))
	}
	collectLogs()
	code := m.Run()
	os.RemoveAll(certificates())
	os.Exit(code)
}

// The first signal begins a stop in order, which here waits for the answer to the release of the lease. The second ends the process.
func TestSecondSignal(t *testing.T) { // B3.14
	leads, releases := make(chan struct{}, 100), make(chan struct{}, 100)
	kubeconfig := startAPI(t, &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body) // the process may have ended
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case r.Method == http.MethodPut && bytes.Contains(body, []byte(`"holderIdentity":""`)):
			releases <- struct{}{}
			<-r.Context().Done()
			return true
		case r.Method == http.MethodPost && r.URL.Path == "/api/v1/namespaces/kube-system/events":
			leads <- struct{}{} // the event says so
		}
		return false
	}})
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), childVariable+"="+kubeconfig)
	var said bytes.Buffer
	c.Stderr = &said
	require.NoError(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	wait := func(what string, happens <-chan struct{}) {
		t.Helper()
		select {
		case <-happens:
		case err := <-ended:
			require.FailNow(t, "the process ends before "+what, "%v\n%s", err, said.String())
		}
	}
	wait("it has the lease", leads)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	wait("it releases the lease", releases)
	require.Empty(t, ended, "the process waits")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	err := <-ended
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v\n%s", err, said.String())
	require.Equal(t, syscall.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal(), said.String())
}
