package write_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/examples/live/write"
)

// A request tells the API server how long it may take, ends by itself, and does not begin when the time is over.
func TestUntil(t *testing.T) {
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the end of the request is seen
		asked <- r.URL.Query().Get("timeout")
		<-r.Context().Done()
	}))
	defer server.Close()
	way := &rest.Config{Host: server.URL}
	way.Wrap(write.Deadlines)
	c := write.New(kubernetes.NewForConfigOrDie(way), &view{pod()}, write.Options{Timeout: time.Hour})
	defer c.Close()
	const left = 200 * time.Millisecond
	end := time.Now().Add(left)
	c.Until(end)
	require.ErrorContains(t, c.Bind(t.Context(), pod(), "n1"), "context deadline exceeded")
	require.False(t, time.Now().Before(end))
	told, err := time.ParseDuration(<-asked)
	require.NoError(t, err)
	require.Positive(t, told)
	require.LessOrEqual(t, told, left)
	require.ErrorContains(t, c.Bind(t.Context(), pod(), "n1"), "context deadline exceeded")
	require.Empty(t, asked, "nothing is asked after the time")
}
