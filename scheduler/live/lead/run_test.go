package lead

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/internal/testkit"

	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// Run takes the lease at an API server, works, and returns work's error. It says in an event who leads.
func TestRun(t *testing.T) {
	type test struct {
		name, why string
		lease     Lease
		timeout   string
		err       error
	}
	testkit.Run(t, []test{
		{"defaults", "a request may take half the renew deadline", Lease{}, "5s", nil},
		{"short", "a request may take a second, however short the deadline is", Lease{Duration: 3 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: time.Second}, "1s", errors.New("failed")},
	}, func(t *testing.T, c test) {
		synctest.Test(t, func(t *testing.T) {
			told, renewed := make(chan string, 10), make(chan time.Time, 10)
			api := &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/events") {
					told <- r.URL.Path
				} else if r.URL.Query().Get("timeout") != c.timeout {
					t.Errorf("%s: %s", c.why, r.URL)
				}
				if !strings.HasSuffix(r.UserAgent(), "/leader-election") {
					t.Errorf("the user agent is %s", r.UserAgent())
				}
				return false
			}}
			l := c.lease
			l.Namespace, l.Name, l.Identity, l.Component = "here", "x", "me", "podberth"
			l.OnRenewed = func(until time.Time) { renewed <- until }
			config := &rest.Config{Host: "http://api", Transport: api.Direct(), ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
			holder := func() string {
				var lease coordinationv1.Lease
				if !api.Get("here/leases/x", &lease) {
					return "no lease"
				}
				return *lease.Spec.HolderIdentity
			}
			var during, where string
			err := l.Run(t.Context(), config, func(context.Context) error {
				during = holder()
				<-renewed
				<-renewed // the first renewal comes at once, and a release beside it may fail
				where = <-told
				return c.err
			})
			require.Equal(t, c.err, err)
			require.Equal(t, "me", during)
			require.Equal(t, map[bool]string{true: "", false: "me"}[err == nil], holder())
			require.Equal(t, "/api/v1/namespaces/here/events", where)
			var event v1.Event
			synctest.Wait()
			require.True(t, api.Find("events", &event))
			require.Equal(t, "podberth: me became leader", event.Source.Component+": "+event.Message)
			stacks := make([]byte, 1<<20)
			require.NotContains(t, string(stacks[:runtime.Stack(stacks, true)]), "k8s.io/client-go/tools/record.", "nothing records events any more")
		})
	})
}

// An address that is none is an error.
func TestNoAddress(t *testing.T) {
	l := &Lease{Namespace: "here", Name: "x", Identity: "me"}
	require.ErrorContains(t, l.Run(t.Context(), &rest.Config{Host: "http://a b"}, nil), "host must be a URL or a host:port pair")
}
