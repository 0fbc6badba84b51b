package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/lead"
)

const leasePath = "kube-system/leases/l"

// lease returns a lease that the daemon is to hold.
func lease() *lead.Lease {
	return &lead.Lease{Namespace: "kube-system", Name: "l", Identity: "me", Duration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 20 * time.Millisecond}
}

func holder(api *apitest.API) string {
	var l coordinationv1.Lease
	if !api.Get(leasePath, &l) {
		return "no lease"
	}
	return ptr.Deref(l.Spec.HolderIdentity, "")
}

// give gives the lease to a holder for an hour; "" to nobody.
func give(t *testing.T, api *apitest.API, holder string) {
	t.Helper()
	api.Put(t, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "l"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NowMicro())},
	})
}

// releases reports whether a request writes a lease that nobody holds.
func releases(t *testing.T, r *http.Request) bool {
	text, err := io.ReadAll(r.Body)
	assert.NoError(t, err)
	r.Body = io.NopCloser(bytes.NewReader(text))
	var l coordinationv1.Lease
	assert.NoError(t, json.Unmarshal(text, &l))
	return ptr.Deref(l.Spec.HolderIdentity, "") == ""
}

// A daemon that sees another holder stops at once, whatever is under way, and leaves the lease.
func TestLeaseLost(t *testing.T) {
	type test struct {
		name  string
		stops bool // the daemon is to stop, and waits for a binding, when it loses the lease
		want  error
	}
	testkit.Run(t, []test{
		{"while it schedules", false, ErrLeaseLost},
		{"while it finishes", true, nil},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			asked := make(chan bool, 100)
			api := &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
				if asks(r, http.MethodPost, "/binding") {
					asked <- true
					return hang(r)
				}
				return !x.stops && asks(r, http.MethodPost, "/namespaces/default/events") && hang(r)
			}}
			api.Put(t, node("n", "1"), pod("p"))
			c := configure(t, api)
			c.Lease = lease()
			d := start(t, c)
			<-asked
			api.Put(t, pod("q"))
			require.Equal(t, "q", (<-d.results).Pod.Name)
			if x.stops {
				d.stop()
				synctest.Wait()
				require.Empty(t, d.ended, "the binding is under way")
			}
			began := time.Now()
			give(t, api, "other")
			require.ErrorIs(t, <-d.ended, x.want)
			require.Less(t, time.Since(began), 100*time.Millisecond)
			require.Equal(t, "other", holder(api))
		})
	})
}

// A status patch without an answer is cut before another may take the lease.
func TestPatchIsCutBeforeRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, released := make(chan bool, 1), make(chan string, 1)
		patch := make(chan context.Context, 1)
		api := &apitest.API{}
		api.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.Method == http.MethodPatch:
				patch <- r.Context()
				asked <- true
				return hang(r)
			case asks(r, http.MethodPut, "/leases/l") && releases(t, r):
				select {
				case cut := <-patch:
					assert.Error(t, cut.Err(), "the patch is cut")
					released <- holder(api)
				default: // once more, after a conflict with a renewal
				}
			}
			return false
		}
		api.Put(t, pod("p"))
		c := configure(t, api)
		c.Lease = lease()
		d := start(t, c)
		<-asked
		began := time.Now()
		d.stop()
		require.Equal(t, "me", <-released)
		require.Equal(t, 2*time.Second, time.Since(began), "the time to flush")
		require.NoError(t, <-d.ended)
		require.Empty(t, holder(api))
	})
}

// takeover starts a replica while another holds the lease and binds a pod, which the watch of the replica does not show. The other
// then gives the lease back. open lets the watch go on.
func takeover(t *testing.T, api *apitest.API) (d *started, open func()) {
	t.Helper()
	shown := make(chan struct{})
	answer := api.Answer
	api.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if asks(r, http.MethodGet, "/api/v1/pods") && watches(r) {
			<-shown
		}
		return answer != nil && answer(w, r)
	}
	api.Put(t, node("n", "1"), pod("p", as("p")))
	give(t, api, "other")
	c := configure(t, api)
	c.Lease = lease()
	d = start(t, c)
	synctest.Wait()
	require.NoError(t, d.Ready(), "the informers have their lists")
	api.Put(t, pod("p", as("p"), on("n")))
	give(t, api, "")
	return d, func() { close(shown) }
}

// A new leader decides nothing before it knows what the leader before has bound.
func TestTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged.take()
		api := &apitest.API{}
		d, open := takeover(t, api)
		time.Sleep(3500 * time.Millisecond) // of the bubble
		require.Equal(t, "me", holder(api))
		require.False(t, d.Leading())
		require.Equal(t, 3, api.Asked(http.MethodGet, "/api/v1/namespaces/default/pods/p"), "once a second")
		require.Equal(t, 1, count(logged.take(), `msg="Waiting for the watch of pods, which is behind" pods=1`))
		open()
		synctest.Wait()
		require.True(t, d.Leading())
		d.stop()
		require.NoError(t, <-d.ended)
		require.Zero(t, api.Asked(http.MethodPost, "/api/v1/namespaces/default/pods/p/binding"))
	})
}

// A stop ends the wait of a new leader, which then does not lead.
func TestStopsDuringTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		d, open := takeover(t, api)
		time.Sleep(1500 * time.Millisecond) // of the bubble
		d.stop()
		began := time.Now()
		require.NoError(t, <-d.ended)
		require.Zero(t, time.Since(began))
		require.False(t, d.Leading())
		require.Empty(t, holder(api))
		open()
	})
}

// A new leader that may not list the pods does not schedule.
func TestTakeoverRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{Answer: func(w http.ResponseWriter, r *http.Request) bool {
			if asks(r, http.MethodGet, "/api/v1/pods") && r.URL.Query().Get("fieldSelector") == "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed" {
				apitest.Refuse(w, http.StatusForbidden, "Forbidden")
				return true
			}
			return false
		}}
		d, open := takeover(t, api)
		require.Error(t, <-d.ended)
		require.False(t, d.Leading())
		open()
	})
}
