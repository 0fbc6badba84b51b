package command

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// bubbled is a command that runs in a bubble of synctest. It has no port: the test asks the handler of its server. Nothing in the
// bubble uses the network, so that time goes on when everybody waits.
type bubbled struct {
	t       *testing.T
	handler http.Handler
	ended   chan error
	stop    context.CancelFunc
}

// bubble runs the command against a server, until the test ends.
func bubble(t *testing.T, api *apitest.API, stdout io.Writer, args ...string) *bubbled {
	t.Helper()
	o := parsed(t, append([]string{"--master=http://api", "--secure-port=0", "--kube-api-content-type=application/json"}, args...)...)
	p, err := o.prepare()
	require.NoError(t, err)
	p.daemon.REST = &rest.Config{Host: p.daemon.REST.Host, Transport: api.Direct(), QPS: -1, ContentConfig: p.daemon.REST.ContentConfig}
	s := o.serverOf(p)
	ctx, stop := context.WithCancel(t.Context())
	b := &bubbled{t: t, handler: s.handler(), ended: make(chan error, 1), stop: stop}
	go func() { b.ended <- o.start(ctx, p, s, stdout) }()
	t.Cleanup(func() { require.NoError(t, b.end()) })
	return b
}

// end stops the command and returns its error.
func (b *bubbled) end() error {
	b.stop()
	err := <-b.ended
	b.ended <- err // for the next who asks
	return err
}

// ask returns the answer when all have done what they can do now.
func (b *bubbled) ask(path string) (code int, body string) {
	b.t.Helper()
	synctest.Wait()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}
