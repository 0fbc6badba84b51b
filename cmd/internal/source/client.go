package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// client sends GET requests to an API server.
type client struct {
	http *http.Client
	base *url.URL

	patience time.Duration // how long a request may make no progress
	left     atomic.Int64  // how many bytes of answers are read yet
}

// patience is how long a request may make no progress before it fails. An API server answers the first page of a list within seconds.
const patience = 2 * time.Minute

// maxAnswers is how much is read of a server, unpacked, without --max-size.
const maxAnswers = 4 << 30

// sameServer refuses a redirect to another host or scheme: the request has credentials.
func sameServer(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	if to.URL.Scheme != from.Scheme || to.URL.Host != from.Host {
		return fmt.Errorf("the server redirects to %s://%s; credentials are sent to no other server", to.URL.Scheme, to.URL.Host)
	}
	if len(via) >= 10 {
		return errors.New("the server redirects ten times")
	}
	return nil
}

// newClient returns a client for a server. It connects with the first request.
func newClient(config *rest.Config) (*client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "kubectl-podberth"
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	h.CheckRedirect = sameServer
	c := &client{http: h, base: base, patience: patience}
	c.left.Store(maxAnswers)
	return c, nil
}

// statusError is an answer of the server that is no success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// forbidden reports whether the server refuses because of a missing permission.
func forbidden(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == http.StatusForbidden
}

// unserved reports whether the server does not have what was asked for.
func unserved(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == http.StatusNotFound
}

// get returns what the server has at a path.
func (c *client) get(ctx context.Context, path string, query url.Values, accept string) ([]byte, error) {
	u := *c.base
	u.Path, u.RawQuery = strings.TrimSuffix(u.Path, "/")+path, query.Encode()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	silent := time.AfterFunc(c.patience, func() { end(fmt.Errorf("no answer for %v", c.patience)) })
	defer silent.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	answer, err := c.http.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("cannot reach the API server %s: %w; -f PATH reads a dump in its place", c.base.Host, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(&counted{answer.Body, c, silent})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		var status metav1.Status
		text := answer.Status
		if json.Unmarshal(body, &status) == nil && status.Message != "" {
			text = status.Message
		}
		if answer.StatusCode == http.StatusUnauthorized {
			text += ": the API server does not accept the credentials of this context; log in again"
		}
		return nil, &statusError{answer.StatusCode, text}
	}
	return body, nil
}

// counted is the body of an answer, unpacked. What is read counts against the limit of all answers, and is progress.
type counted struct {
	from   io.Reader
	c      *client
	silent *time.Timer
}

func (b *counted) Read(data []byte) (int, error) {
	n, err := b.from.Read(data)
	if n > 0 {
		b.silent.Reset(b.c.patience)
	}
	if b.c.left.Add(-int64(n)) < 0 {
		return n, errTooMuch
	}
	return n, err
}

var errTooMuch = errors.New("the server sends more than --max-size allows")
