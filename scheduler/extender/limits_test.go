package extender

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/scheduler/httpextender"
)

const small = `{"Pod":{},"NodeNames":["node-1"]}`

// post sends a request to filter and returns status and text of the answer.
func post(t testing.TB, url string, body io.Reader) (int, string) {
	t.Helper()
	response, err := http.Post(url+"/filter", "application/json", body)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func TestBodyLimit(t *testing.T) {
	_, h := start(t, func(o *Options) { o.MaxBody, o.AtOnce, o.MaxNodes = 100, 4, 4 })
	status, _ := post(t, h.URL, strings.NewReader(small))
	require.Equal(t, http.StatusOK, status)
	status, text := post(t, h.URL, strings.NewReader(`{"Pod":{"metadata":{"name":"`+strings.Repeat("x", 200)+`"}}}`))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Equal(t, "request: more than 100 bytes (MaxBody)\n", text)
}

// Requests over the limit get status 429 while other requests are being read. The health check does not count.
func TestRequestsAtOnce(t *testing.T) {
	s, h := start(t, func(o *Options) { o.MaxBody, o.AtOnce, o.MaxNodes = 1<<20, 2, 4 })
	s.slots <- struct{}{}
	s.slots <- struct{}{}
	response, err := http.Post(h.URL+"/filter", "application/json", strings.NewReader(small))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, "more than 2 requests at once (AtOnce)\n", string(text))
	response, err = http.Get(h.URL + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	<-s.slots
	status, _ := post(t, h.URL, strings.NewReader(small))
	require.Equal(t, http.StatusOK, status)
}

// A request that is being read, or evaluated, does not delay another request.
func TestRequestsDoNotBlockEachOther(t *testing.T) {
	s, h := start(t, nil)
	read, write := io.Pipe()
	slow := make(chan int)
	go func() {
		status, _ := post(t, h.URL, read)
		slow <- status
	}()
	_, err := io.WriteString(write, small[:10]) // the server reads the first request
	require.NoError(t, err)
	s.world().shared.mu.RLock() // and evaluates a second
	status, _ := post(t, h.URL, strings.NewReader(small))
	require.Equal(t, http.StatusOK, status)
	s.world().shared.mu.RUnlock()
	_, err = io.WriteString(write, small[10:])
	require.NoError(t, err)
	require.NoError(t, write.Close())
	require.Equal(t, http.StatusOK, <-slow)
}

// A body that does not arrive within the read time-out is a failed request, and its place is free again.
func TestSlowBody(t *testing.T) {
	s, _ := start(t, func(o *Options) { o.MaxBody, o.AtOnce, o.MaxNodes = 1<<20, 1, 4 })
	h := httptest.NewUnstartedServer(s)
	h.Config.ReadTimeout, h.Config.ReadHeaderTimeout = 50*time.Millisecond, time.Minute
	h.Start()
	t.Cleanup(h.Close)
	connection, err := net.Dial("tcp", h.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close()) }()
	_, err = fmt.Fprintf(connection, "POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
	require.NoError(t, err)
	said, err := io.ReadAll(connection) // until the server closes
	require.NoError(t, err)
	require.Contains(t, string(said), "400 Bad Request")
	patient := httptest.NewServer(s)
	t.Cleanup(patient.Close)
	status, _ := post(t, patient.URL, strings.NewReader(small))
	require.Equal(t, http.StatusOK, status)
}

// A verb that panics leaves neither a lock nor a place taken.
func TestPanicUnlocks(t *testing.T) {
	s, h := start(t, func(o *Options) { o.MaxBody, o.AtOnce, o.MaxNodes = 1<<20, 1, 4 })
	for range 3 {
		require.Panics(t, func() {
			answer(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(small)), s, (*world).learn,
				func(*world, *extenderv1.ExtenderArgs) (int, error) { panic("boom") })
		})
	}
	status, _ := post(t, h.URL, strings.NewReader(small))
	require.Equal(t, http.StatusOK, status)
	require.True(t, s.world().shared.mu.TryLock())
}

// The server keeps the latest nodes that the input lacks, up to the limit. It always keeps the nodes of the input.
func TestNodesOfRequestsAreBounded(t *testing.T) {
	s, h := start(t, func(o *Options) { o.MaxBody, o.AtOnce, o.MaxNodes = 1<<20, 4, 6 })
	x := client(t, h.URL, false)
	for k := range 50 {
		_, err := x.Filter(ctx, podAsking("1"), nodesNamed(fmt.Sprintf("new-%d", k), "node-1", "kept"))
		require.NoError(t, err)
	}
	w := s.world()
	require.Len(t, w.shared.learned, 6)
	require.Equal(t, 5+6, len(w.snapshot.Order()))
	for _, name := range append([]string{"kept", "new-49", "new-45"}, all...) {
		require.GreaterOrEqual(t, w.snapshot.Slot(name), 0, name)
	}
	_, err := x.Filter(ctx, podAsking("1"), nodesNamed("1", "2", "3", "4", "5", "6", "7"))
	require.ErrorContains(t, err, "code 400")
	status, text := post(t, h.URL, strings.NewReader(`{"Pod":{},"NodeNames":["1","2","3","4","5","6","7"]}`))
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "7 nodes in a request; the limit is 6 (MaxNodes)\n", text)
}

// All verbs run concurrently while nodes change: run with -race.
func TestVerbsSideBySide(t *testing.T) {
	handler, h := start(t, nil)
	var group sync.WaitGroup
	errs := make(chan error, 400)
	again := input(t, shop)
	for k := range 8 {
		group.Go(func() {
			x, objects := client(t, h.URL, true), client(t, h.URL, false)
			for n := range 10 {
				if k == 0 { // the operator of the server reads the cluster again
					errs <- handler.Set(again, nil)
				}
				changed := nodesNamed("node-1", fmt.Sprintf("more-%d", n))
				changed[0].Labels = map[string]string{"k": fmt.Sprint(k)}
				_, err := objects.Filter(ctx, podAsking("1"), changed)
				errs <- err
				_, err = x.Filter(ctx, podAsking("2"), nodesNamed(all...))
				errs <- err
				_, err = x.Prioritize(ctx, podAsking("1"), nodesNamed("node-4", "node-5"))
				errs <- err
				_, err = x.Preempt(ctx, podAsking("4"), map[string]httpextender.Victims{"node-3": {Pods: []*v1.Pod{{}}}})
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// BenchmarkServer measures a small request of one client while 200 others send small requests, bodies of a byte at a time,
// or bodies of 15 MB.
func BenchmarkServer(b *testing.B) {
	for _, c := range []struct {
		name    string
		clients int
		send    func(url string, ended <-chan struct{})
	}{
		{"alone", 0, nil},
		{"200-clients", 200, func(url string, _ <-chan struct{}) { send(url, strings.NewReader(small)) }},
		{"200-slow-bodies", 200, func(url string, ended <-chan struct{}) {
			send(url, io.MultiReader(strings.NewReader(small[:9]), wait(ended)))
		}},
		{"2-large-bodies", 2, func(url string, _ <-chan struct{}) {
			send(url, io.MultiReader(strings.NewReader(small[:len(small)-1]+`,"x":"`), strings.NewReader(strings.Repeat("x", 15<<20)), strings.NewReader(`"}`)))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			_, server := start(b, nil)
			h := server.URL
			ended := make(chan struct{})
			var others sync.WaitGroup
			for range c.clients {
				others.Go(func() {
					for {
						select {
						case <-ended:
							return
						default:
							c.send(h, ended)
						}
					}
				})
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if status, text := post(b, h, strings.NewReader(small)); status != http.StatusOK {
					b.Fatal(status, text)
				}
				took = append(took, time.Since(began))
			}
			close(ended)
			others.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

// wait is a body that ends when a channel is closed.
type wait <-chan struct{}

func (w wait) Read([]byte) (int, error) { <-w; return 0, io.EOF }

func send(url string, body io.Reader) {
	response, err := http.Post(url+"/filter", "application/json", body)
	if err != nil {
		return // the server has closed the connection
	}
	_, _ = io.Copy(io.Discard, response.Body) // the answer does not matter here
	_ = response.Body.Close()
}
