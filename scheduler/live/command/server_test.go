package command

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func newServer(t *testing.T) *server {
	t.Helper()
	c, err := newOptions().load()
	require.NoError(t, err)
	return &server{configuration: c, registry: prometheus.NewRegistry()}
}

// listen returns a listener at a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() }) // the server may have closed it
	return l
}

// closing is a listener that tells when it is closed.
type closing struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

func (c *closing) Close() error {
	defer c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// standIn takes the scheduler's place.
type standIn struct {
	ready  func() error
	gauges atomic.Int32
}

func (s *standIn) Ready() error { return s.ready() }
func (s *standIn) Gauges()      { s.gauges.Add(1) }

// An answer about health is kube-scheduler's: "ok", or a line for each check when one fails or somebody asks for more.
func TestHealthAnswers(t *testing.T) {
	good := check{"good", ping}
	bad := check{"bad", func(*http.Request) error { return errors.New("out of order") }}
	type test struct {
		name, why, query string
		checks           []check
		code             int
		body             string
	}
	testkit.Run(t, []test{
		{"good", "all checks pass", "", []check{good, good}, 200, "ok"},
		{"good, verbose", "the question has verbose", "?verbose", []check{good, {"other", ping}}, 200, "[+]good ok\n[+]other ok\nreadyz check passed\n"},
		{"bad", "a failure says why without being asked", "", []check{bad, good}, 500, "[-]bad failed: out of order\n[+]good ok\nreadyz check failed\n"},
		{"bad, verbose", "a failure says the same to all", "?verbose=1", []check{good, bad}, 500, "[+]good ok\n[-]bad failed: out of order\nreadyz check failed\n"},
	}, func(t *testing.T, c test) {
		w := httptest.NewRecorder()
		health("/readyz", c.checks)(w, httptest.NewRequest(http.MethodGet, "/readyz"+c.query, nil))
		require.Equal(t, c.code, w.Code)
		require.Equal(t, c.body, w.Body.String(), c.why)
		require.Equal(t, http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"}}, w.Result().Header)
	})
}

// Metrics can be read before there is a scheduler. Later, its gauges are brought up to date first.
func TestMetricsOfScheduler(t *testing.T) {
	s := newServer(t)
	h := s.handler()
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, http.StatusOK, w.Code, path)
		return w
	}
	require.Contains(t, ask("/metrics").Body.String(), "go_goroutines")
	x := &standIn{}
	s.watch(x)
	ask("/metrics")
	require.EqualValues(t, 1, x.gauges.Load())
	s.configuration.Document.TypeMeta = metav1.TypeMeta{}
	document := s.configuration.Document.DeepCopy()
	require.Equal(t, "application/json", ask("/configz").Header().Get("Content-Type"))
	require.Equal(t, document, s.configuration.Document, "an answer writes nothing into it")
}

// The server says what it waits for before there is a scheduler, survives a panic and logs it, forbids caches to keep answers, and stops when the
// last request has its answer.
func TestServe(t *testing.T) {
	said := logged()
	o, s := parsed(t), newServer(t)
	listener := &closing{Listener: listen(t), closed: make(chan struct{})}
	o.serving.Listener = listener
	stop, err := o.serve(s)
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate is made by the process
	ask := func() (code int, body string, header http.Header) {
		answer, err := (&http.Client{Transport: transport}).Get("https://" + o.serving.Listener.Addr().String() + "/readyz")
		if err != nil {
			return 0, err.Error(), nil
		}
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		if err != nil {
			return 0, err.Error(), nil
		}
		return answer.StatusCode, string(data), answer.Header
	}
	code, body, header := ask()
	require.Equal(t, http.StatusInternalServerError, code)
	require.Equal(t, "[-]sched-handler-sync failed: asking the API server what it serves and what the account may do\nreadyz check failed\n", body)
	require.Equal(t, "no-cache, private", header.Get("Cache-Control"))

	s.watch(&standIn{ready: func() error { panic("out of order") }})
	ask() // the server breaks the connection
	require.Contains(t, said(), `"apiserver panic'd" method="GET" URI="/readyz"`)

	asked, answer := make(chan struct{}), make(chan struct{})
	s.watch(&standIn{ready: func() error { close(asked); <-answer; return nil }})
	answered := make(chan string)
	go func() {
		_, body, _ := ask()
		answered <- body
	}()
	<-asked
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	<-listener.closed
	select {
	case <-stopped:
		require.FailNow(t, "a request is under way")
	default:
	}
	close(answer)
	require.Equal(t, "ok", <-answered)
	transport.CloseIdleConnections()
	<-stopped
}
