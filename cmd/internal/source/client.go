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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// client sends GET requests to an API server.
type client struct {
	http *http.Client
	base *url.URL
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
	return &client{h, base}, nil
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
		return nil, fmt.Errorf("cannot reach the API server %s: %w; -f PATH reads a dump in its place", c.base.Host, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
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
