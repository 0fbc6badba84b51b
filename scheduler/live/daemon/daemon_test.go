package daemon

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/lead"
)

func node(name, cpu string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("99")}}}
}

// pod returns a pod of the profile "mine" that asks for a CPU.
func pod(name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{SchedulerName: "mine", Containers: []v1.Container{{
		Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}},
	}}}}
	for _, f := range change {
		f(p)
	}
	return p
}

func on(node string) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.NodeName = node } }

// as sets the UID.
func as(uid string) func(*v1.Pod) { return func(p *v1.Pod) { p.UID = types.UID(uid) } }

// configure returns the configuration of a daemon of a server.
func configure(t testing.TB, api *apitest.API, lines ...string) Config {
	t.Helper()
	c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: mine}]\n" + strings.Join(lines, "\n")))
	require.NoError(t, err)
	return Config{REST: &rest.Config{Host: "http://api", Transport: api.Direct(), QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}, Configuration: c}
}

func nodeOf(api *apitest.API, name string) string {
	var p v1.Pod
	api.Get("default/pods/"+name, &p)
	return p.Spec.NodeName
}

// asks reports whether a request is for a path that ends so.
func asks(r *http.Request, method, end string) bool {
	return r.Method == method && strings.HasSuffix(r.URL.Path, end)
}

// refusesNodes answers a request for nodes: the account may not read them.
func refusesNodes(w http.ResponseWriter, r *http.Request) bool {
	if !asks(r, http.MethodGet, "/nodes") {
		return false
	}
	apitest.Refuse(w, http.StatusForbidden, "Forbidden")
	return true
}

// watches reports whether a request is for what comes after a list.
func watches(r *http.Request) bool {
	return r.URL.Query().Get("watch") == "true" && r.URL.Query().Get("sendInitialEvents") == ""
}

// hang keeps a request until the caller hangs up.
func hang(r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// started is a daemon that runs.
type started struct {
	*Daemon
	results chan scheduler.Result
	ended   chan error
	stop    context.CancelFunc
}

func start(t *testing.T, c Config) *started {
	t.Helper()
	s := &started{results: make(chan scheduler.Result, 100), ended: make(chan error, 1)}
	if c.OnResult == nil {
		c.OnResult = func(r scheduler.Result) { s.results <- r }
	}
	var err error
	s.Daemon, err = New(t.Context(), c)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	t.Cleanup(stop)
	go func() { s.ended <- s.Run(ctx) }()
	return s
}

// outcomes returns the next outcomes by pod.
func (s *started) outcomes(n int) map[string]scheduler.Outcome {
	out := map[string]scheduler.Outcome{}
	for range n {
		r := <-s.results
		out[r.Pod.Name] = r.Outcome
	}
	return out
}

// A daemon binds pods, says why another has no node, measures, stops in order and gives its lease back.
func TestRun(t *testing.T) {
	type test struct {
		name    string
		lease   *lead.Lease
		setting string
	}
	testkit.Run(t, []test{
		{"without a lease", nil, ""},
		{"with a lease", lease(), ""},
		{"with a lease before the informers", lease(), "delayCacheUntilActive: true"},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			api := &apitest.API{}
			timeouts := make(chan string, 1)
			api.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if asks(r, http.MethodPost, "/binding") {
					timeouts <- r.URL.Query().Get("timeout")
				}
				return false
			}
			api.Put(t, node("n", "2"), pod("old", on("n")), pod("small"))
			c, registry := configure(t, api, x.setting), prometheus.NewRegistry()
			c.Lease, c.Registry, c.Permissions = x.lease, registry, true
			d := start(t, c)
			r := <-d.results
			require.Equal(t, []any{scheduler.Scheduled, "n", "small"}, []any{r.Outcome, r.Node, r.Pod.Name})
			require.Equal(t, "n", nodeOf(api, "small"))
			timeout, err := time.ParseDuration(<-timeouts)
			require.NoError(t, err, "the API server is told how long a binding may take")
			if x.lease == nil {
				require.Equal(t, 30*time.Second, timeout)
			} else {
				require.LessOrEqual(t, timeout, x.lease.Duration, "a binding ends before another may take the lease")
			}
			api.Put(t, pod("late"))
			require.Equal(t, scheduler.Rejected, (<-d.results).Outcome, "the room of the bound pods is known")
			require.NoError(t, d.Ready())
			require.True(t, d.Leading())
			if x.lease != nil {
				require.Equal(t, "me", holder(api))
			}
			synctest.Wait()
			var late v1.Pod
			require.True(t, api.Get("default/pods/late", &late))
			require.Len(t, late.Status.Conditions, 1)
			require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", late.Status.Conditions[0].Message)
			names := func() map[string]bool {
				families, err := registry.Gather()
				require.NoError(t, err)
				out := map[string]bool{}
				for _, f := range families {
					out[f.GetName()] = true
				}
				return out
			}
			require.False(t, names()["scheduler_pending_pods"])
			d.Gauges()
			require.True(t, names()["scheduler_pending_pods"] && names()["podberth_watch_age_seconds"], "%v", names())

			began := time.Now()
			d.stop()
			require.NoError(t, <-d.ended)
			require.Less(t, time.Since(began), time.Second, "nothing is under way")
			require.EqualError(t, d.Ready(), "stopping")
			require.Positive(t, api.Asked(http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events"))
			if x.lease != nil {
				require.Empty(t, holder(api))
			}
		})
	})
}

// The events about pods are written in the name of the profile before the daemon has stopped, and so are their conditions.
func TestLastWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
			if asks(r, http.MethodPost, "/events") || r.Method == http.MethodPatch {
				time.Sleep(time.Second) // of the bubble: the server is slow
			}
			return false
		}}
		api.Put(t, node("n", "1"), pod("a", func(p *v1.Pod) { p.Spec.Priority = ptr.To[int32](1) }), pod("b"))
		d := start(t, configure(t, api))
		require.Equal(t, map[string]scheduler.Outcome{"a": scheduler.Scheduled, "b": scheduler.Rejected}, d.outcomes(2))
		d.stop()
		require.NoError(t, <-d.ended)
		var e eventsv1.Event
		require.True(t, api.Find("events", &e))
		require.Equal(t, []string{"Scheduled", "mine", "a"}, []string{e.Reason, e.ReportingController, e.Regarding.Name})
		var b v1.Pod
		require.True(t, api.Get("default/pods/b", &b))
		require.Len(t, b.Status.Conditions, 1)
		require.Equal(t, 2, api.Asked(http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events"))
	})
}

// Sixteen status patches are sent at a time.
func TestPatchesAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		var patches atomic.Int64
		api := &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				patches.Add(1)
				<-open
			}
			return false
		}}
		for k := range 20 {
			api.Put(t, pod(fmt.Sprint("p", k)))
		}
		d := start(t, configure(t, api))
		for range 20 {
			<-d.results
		}
		synctest.Wait()
		require.EqualValues(t, 16, patches.Load())
		close(open)
		synctest.Wait()
		require.EqualValues(t, 20, patches.Load())
		d.stop()
		require.NoError(t, <-d.ended)
	})
}

// Settings reach the scheduler: who chooses among equal nodes, how long a pod waits for its volumes, and which profile is there.
func TestSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		wait := storagev1.VolumeBindingWaitForFirstConsumer
		api.Put(t, node("m", "1"), node("n", "1"), pod("p", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		}), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Provisioner: "nobody", VolumeBindingMode: &wait}, &v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}, Spec: v1.PersistentVolumeClaimSpec{
				StorageClassName: ptr.To("slow"), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		})
		c := configure(t, api)
		var err error
		c.Configuration, err = config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: mine, pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 3}}]}]\n"))
		require.NoError(t, err)
		c.Tie = func(n int) int { return n - 1 }
		began := time.Now()
		d := start(t, c)
		r := <-d.results
		require.Equal(t, scheduler.SchedulingError, r.Outcome)
		require.Contains(t, r.Message, "binding volumes: context deadline exceeded")
		require.Equal(t, 3*time.Second, time.Since(began))
		var claim v1.PersistentVolumeClaim
		require.True(t, api.Get("default/persistentvolumeclaims/c", &claim))
		require.Equal(t, "n", claim.Annotations["volume.kubernetes.io/selected-node"])
		d.stop()
		require.NoError(t, <-d.ended)
	})
}
