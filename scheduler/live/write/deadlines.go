package write

import (
	"context"
	"net/http"
	"time"
)

// Deadlines tells the API server in each request how much time its context has left. The API server then ends the request too, also
// when the way to it is broken. Watches and other requests whose context has no deadline stay as they are.
func Deadlines(next http.RoundTripper) http.RoundTripper { return deadlines{next} }

type deadlines struct{ http.RoundTripper }

// RoundTrip sends a request.
func (d deadlines) RoundTrip(r *http.Request) (*http.Response, error) {
	end, ok := r.Context().Deadline()
	if !ok {
		return d.RoundTripper.RoundTrip(r)
	}
	left := time.Until(end)
	if left <= 0 {
		return nil, context.DeadlineExceeded
	}
	r = r.WithContext(r.Context())
	url := *r.URL
	if url.RawQuery != "" {
		url.RawQuery += "&"
	}
	url.RawQuery += "timeout=" + left.String()
	r.URL = &url
	return d.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper returns what sends the requests.
func (d deadlines) WrappedRoundTripper() http.RoundTripper { return d.RoundTripper }
