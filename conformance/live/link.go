// Package live runs scheduler/live and kube-scheduler against a real kube-apiserver, and compares what each does to the
// objects and on the wire.
package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// link is the way to an API server that may stop and come back at another address. It is the transport of clients, and can
// record their requests, answer in the server's place, and cut watches.
type link struct {
	mu      sync.Mutex
	target  http.RoundTripper
	host    string
	down    bool
	fault   func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
	watches map[*watchBody]bool
	late    *delays // nil: nothing is late
}

// connect points the link to a server. user is whom the requests are from; "" is the server's own administrator.
func (l *link) connect(config *rest.Config, user string, groups ...string) error {
	c := rest.CopyConfig(config)
	c.Impersonate.UserName, c.Impersonate.Groups = user, groups
	t, err := rest.TransportFor(c)
	if err != nil {
		return err
	}
	base, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target, l.host = t, base.Host
	return nil
}

// config returns the configuration of a client that goes through the link.
func (l *link) config() *rest.Config {
	return &rest.Config{Host: "https://link", Transport: l, QPS: 5000, Burst: 5000, ContentConfig: rest.ContentConfig{
		ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
	}}
}

// errDown is what a request gets on a link that is down.
var errDown = errors.New("connect: connection refused")

// faults sets what happens to requests; nil sends them.
func (l *link) faults(f func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

// take makes every request fail, and cuts the watches.
func (l *link) take(down bool) {
	l.mu.Lock()
	l.down = down
	l.mu.Unlock()
	if down {
		l.cut()
	}
}

// cut breaks the watches that are open.
func (l *link) cut() {
	l.mu.Lock()
	open := l.watches
	l.watches = nil
	l.mu.Unlock()
	for w := range open {
		_ = w.body.Close() // the watch ends either way
	}
}

// RoundTrip sends a request to the server that the link points to.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	target, host, fault, down := l.target, l.host, l.fault, l.down
	l.mu.Unlock()
	if down {
		return nil, errDown
	}
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = host, host
	send := func() (*http.Response, error) {
		l.late.linger()
		answer, err := target.RoundTrip(r)
		l.late.linger()
		return answer, err
	}
	answer, err := (*http.Response)(nil), error(nil)
	if fault != nil {
		answer, err = fault(r, send)
	} else {
		answer, err = send()
	}
	if err == nil && r.URL.Query().Get("watch") == "true" && answer.StatusCode == http.StatusOK {
		answer.Body = l.watch(r.URL.Path, answer.Body)
	}
	return answer, err
}

// watchBody is the body of a watch.
type watchBody struct {
	l    *link
	path string
	body io.ReadCloser
}

func (l *link) watch(path string, body io.ReadCloser) io.ReadCloser {
	w := &watchBody{l, path, body}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches == nil {
		l.watches = map[*watchBody]bool{}
	}
	l.watches[w] = true
	return w
}

// Read reads the watch.
func (w *watchBody) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.l.late.lag(w.path)
	return n, err
}

// Close ends the watch.
func (w *watchBody) Close() error {
	w.l.mu.Lock()
	delete(w.l.watches, w)
	w.l.mu.Unlock()
	return w.body.Close()
}

// status answers in the API server's place.
func status(r *http.Request, code int, reason, message string, header ...string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
	h := http.Header{"Content-Type": {"application/json"}}
	for k := 0; k+1 < len(header); k += 2 {
		h.Set(header[k], header[k+1])
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body))}
}
