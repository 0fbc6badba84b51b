package daemon

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// A shadow reports each pod that another binds, says what is wrong with objects, and writes nothing.
func TestShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged.take()
		api := &apitest.API{}
		api.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
			require.Equal(t, http.MethodGet, r.Method)
			return false
		}
		api.Put(t, node("n", "1"), node("m", "2"), &v1.Node{}, pod("p", as("p")))
		reports := make(chan shadow.Report, 10)
		s, err := NewShadow(t.Context(), configure(t, api), func(r shadow.Report) { reports <- r })
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		require.Error(t, s.Ready())
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		require.NoError(t, s.Ready())
		require.Contains(t, logged.take(), `level=ERROR msg="Object refused" err="nodes.metadata.name: Required value: a node needs a name"`)
		api.Put(t, pod("p", on("n"), as("p")))
		r := <-reports
		require.Equal(t, []string{"default/p", "n", "m"}, []string{r.Pod, r.Node, r.Would})
		require.Empty(t, ended)
		s.Gauges()
		stop()
		require.NoError(t, <-ended)
	})
}

// A shadow that cannot read waits, says why, and a stop ends that.
func TestShadowCannotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged.take()
		api := &apitest.API{Answer: refusesNodes}
		s, err := NewShadow(t.Context(), configure(t, api), func(shadow.Report) {})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		require.ErrorContains(t, s.Ready(), "waiting for the first list of nodes (")
		require.Regexp(t, `level=ERROR msg="Watching failed" err=.* resource=nodes\n`, logged.take())
		stop()
		require.NoError(t, <-ended)
	})
}
