package source

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/cmd/internal/command"
)

// Every server that never ends an answer, never answers, sends more than it may or sends the client elsewhere is an error.
func TestHostileServers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server gets %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	list := []byte(`{"metadata":{"continue":"same"},"items":[]}`)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := z.Write(bytes.Repeat([]byte(" "), 1<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.Less(t, bomb.Len(), 2000)
	for name, c := range map[string]struct {
		serve    http.HandlerFunc
		patience time.Duration
		err      string
	}{
		"equal tokens": {func(w http.ResponseWriter, _ *http.Request) { w.Write(list) }, time.Minute, "gives the continue token of an earlier page again"},
		"no answer":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, time.Millisecond, "no answer for 1ms"},
		"no end": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, 50 * time.Millisecond, "no answer for 50ms"},
		"too much": {func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte(" "), 1<<20)) }, time.Minute, "more than --max-size allows"},
		"too much when unpacked": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		}, time.Minute, "more than --max-size allows"},
		"another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		}, time.Minute, "credentials are sent to no other server"},
		"another scheme": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://"+r.Host+r.URL.Path, http.StatusFound)
		}, time.Minute, "credentials are sent to no other server"},
		"round and round": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, time.Minute, "redirects ten times"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			made, err := newClient(&rest.Config{Host: server.URL, BearerToken: "secret"})
			require.NoError(t, err)
			made.patience = c.patience
			made.left.Store(100_000)
			_, _, err = made.read(t.Context(), command.Need{}, false, io.Discard)
			require.ErrorContains(t, err, c.err)
		})
	}
}
