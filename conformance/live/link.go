// Package live runs examples/live and kube-scheduler v1.36.3 against a real kube-apiserver, and compares what each does to the
// objects and on the wire.
package live

import (
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// link is the way to an API server that may stop and come back at another address. It is the transport of clients.
type link struct {
	mu     sync.Mutex
	target http.RoundTripper
	host   string
	fault  func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
}

// connect points the link to a server. user is whom the requests are from; "" is the server's own administrator.
func (l *link) connect(config *rest.Config, user string) error {
	c := rest.CopyConfig(config)
	c.Impersonate.UserName = user
	t, err := rest.TransportFor(c)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	base, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return err
	}
	l.target, l.host = t, base.Host
	return nil
}

// config returns the configuration of a client that goes through the link.
func (l *link) config() *rest.Config {
	return &rest.Config{Host: "https://link", Transport: l, QPS: 5000, Burst: 5000, ContentConfig: rest.ContentConfig{
		ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
	}}
}

// RoundTrip sends a request to the server that the link points to.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	target, host, fault := l.target, l.host, l.fault
	l.mu.Unlock()
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = host, host
	send := func() (*http.Response, error) { return target.RoundTrip(r) }
	if fault != nil {
		return fault(r, send)
	}
	return send()
}
