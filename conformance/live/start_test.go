package live

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// At its start podberth reads the resources that kube-scheduler reads, asks for them with the same selectors, in the same way, and writes
// nothing.
func TestReads(t *testing.T) { // B1.7
	w := newWorld(t)
	var reads [2][]string
	var writes []string
	for side, run := range []func(){
		func() {
			d, stop := w.podberth()
			w.until("the first lists", func() bool { return d.Ready() == nil })
			require.NoError(t, stop())
		},
		func() { w.kube()() },
	} {
		var mu sync.Mutex
		w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			q := r.URL.Query()
			if q.Get("watch") == "true" {
				for _, name := range []string{"timeout", "timeoutSeconds", "resourceVersion"} {
					q.Del(name)
				}
				mu.Lock()
				reads[side] = append(reads[side], r.URL.Path+"?"+q.Encode()+" "+r.Header.Get("Accept")+" "+r.UserAgent())
				mu.Unlock()
			} else if r.Method != http.MethodGet && side == 0 {
				mu.Lock()
				writes = append(writes, r.Method+" "+r.URL.Path)
				mu.Unlock()
			}
			return send()
		})
		run()
		slices.Sort(reads[side])
	}
	require.Empty(t, writes)
	require.Equal(t, reads[1], reads[0])
	require.Len(t, reads[0], 19)
	for _, line := range reads[0] {
		require.Contains(t, line, "sendInitialEvents=true", line)
		require.True(t, strings.HasSuffix(line, "/scheduler"), line)
		require.Equal(t, strings.HasPrefix(line, "/api/v1/pods?"), strings.Contains(line, "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"), line)
		require.NotContains(t, line, "labelSelector")
	}
}
