package daemon

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// The API server answers a binding with 201, and its write is lost: no event of it comes. The pod is read when its time is over, and bound.
func TestLostBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		var bindings atomic.Int32
		api.Answer = func(w http.ResponseWriter, r *http.Request) bool {
			if !asks(r, http.MethodPost, "/binding") || bindings.Add(1) > 1 {
				return false
			}
			w.WriteHeader(http.StatusCreated)
			_, err := io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
			return err == nil
		}
		api.Put(t, node("n", "1"), pod("p"))
		began := time.Now()
		d := start(t, configure(t, api))
		require.Equal(t, scheduler.Scheduled, (<-d.results).Outcome)
		require.Empty(t, nodeOf(api, "p"), "the write is lost")
		require.Equal(t, scheduler.Scheduled, (<-d.results).Outcome)
		require.Equal(t, "n", nodeOf(api, "p"))
		require.EqualValues(t, 2, bindings.Load())
		require.GreaterOrEqual(t, time.Since(began), unseen)
		require.Less(t, time.Since(began), 2*unseen)
		d.stop()
		require.NoError(t, <-d.ended)
	})
}
