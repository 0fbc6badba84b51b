package daemon

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/live/internal/apitest"
	"github.com/podberth/podberth/examples/live/lead"
	"github.com/podberth/podberth/examples/live/shadow"
	"github.com/podberth/podberth/examples/scheduler"
	"github.com/podberth/podberth/internal/testkit"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

const leasePath = "kube-system/leases/l"

func node(name, cpu string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("9")}}}
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

// configure returns the configuration of a daemon of a server.
func configure(t *testing.T, api *apitest.API, lines ...string) Config {
	t.Helper()
	c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: mine}]\n" + strings.Join(lines, "\n")))
	require.NoError(t, err)
	return Config{REST: &rest.Config{Host: api.Start(t), QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}, Configuration: c, FinishTimeout: patience}
}

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

func nodeOf(api *apitest.API, name string) string {
	var p v1.Pod
	api.Get("default/pods/"+name, &p)
	return p.Spec.NodeName
}

func eventually(t *testing.T, what string, happens func() bool) {
	t.Helper()
	require.Eventually(t, happens, patience, time.Millisecond, what)
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
	c.OnResult = func(r scheduler.Result) { s.results <- r }
	var err error
	s.Daemon, err = New(t.Context(), c)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	t.Cleanup(stop)
	go func() { s.ended <- s.Run(ctx) }()
	return s
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
		api := &apitest.API{}
		api.Put(t, node("n", "2"), pod("old", on("n")), pod("small"))
		c, registry := configure(t, api, x.setting), prometheus.NewRegistry()
		c.Lease, c.Registry, c.Permissions = x.lease, registry, true
		d := start(t, c)
		r := <-d.results
		require.Equal(t, []any{scheduler.Scheduled, "n", "small"}, []any{r.Outcome, r.Node, r.Pod.Name})
		require.Equal(t, "n", nodeOf(api, "small"))
		api.Put(t, pod("late"))
		require.Equal(t, scheduler.Rejected, (<-d.results).Outcome, "the room of the bound pods is known")
		require.NoError(t, d.Ready())
		require.True(t, d.Leading())
		if x.lease != nil {
			require.Equal(t, "me", holder(api))
		}
		eventually(t, "the condition is written", func() bool {
			var late v1.Pod
			return api.Get("default/pods/late", &late) && len(late.Status.Conditions) == 1 && late.Status.Conditions[0].Message == "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
		})
		d.Gauges()
		families, err := registry.Gather()
		require.NoError(t, err)
		names := map[string]bool{}
		for _, f := range families {
			names[f.GetName()] = true
		}
		require.True(t, names["scheduler_pending_pods"] && names["podberth_watch_age_seconds"], "%v", names)

		d.stop()
		require.NoError(t, <-d.ended)
		require.EqualError(t, d.Ready(), "stopping")
		require.Positive(t, api.Asked(http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events"))
		if x.lease != nil {
			require.Empty(t, holder(api))
		}
	})
}

// The events about pods are written in the name of the profile before the daemon has stopped.
func TestEvents(t *testing.T) {
	api, sent := &apitest.API{}, make(chan struct{}, 10)
	api.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events") {
			sent <- struct{}{}
		}
		return false
	}
	api.Put(t, node("n", "1"), pod("small"))
	d := start(t, configure(t, api))
	<-d.results
	d.stop()
	require.NoError(t, <-d.ended)
	require.Len(t, sent, 1)
	var e eventsv1.Event
	require.True(t, api.Find("events", &e))
	require.Equal(t, []string{"Scheduled", "mine", "small"}, []string{e.Reason, e.ReportingController, e.Regarding.Name})
}

// A daemon that sees another holder stops, and leaves the lease.
func TestLeaseLost(t *testing.T) {
	api := &apitest.API{}
	c := configure(t, api)
	c.Lease = lease()
	d := start(t, c)
	eventually(t, "it leads", d.Leading)
	api.Put(t, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "l"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("other"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NowMicro())},
	})
	require.ErrorIs(t, <-d.ended, ErrLeaseLost)
	require.Equal(t, "other", holder(api))
}

// A binding without an answer is cut when the time to finish is over. The lease then stays until it runs out.
func TestCutBinding(t *testing.T) {
	asked := make(chan struct{}, 10)
	api := &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/binding") {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body) // only then the end of the request is seen
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	}}
	api.Put(t, node("n", "1"), pod("p"))
	c := configure(t, api)
	c.Lease, c.FinishTimeout, c.FlushTimeout = lease(), 10*time.Millisecond, 10*time.Millisecond
	d := start(t, c)
	<-asked
	d.stop()
	require.NoError(t, <-d.ended)
	require.Equal(t, "me", holder(api))
}

// A new leader waits for every pod that is bound and that its watch has not shown yet.
func TestCatchUp(t *testing.T) {
	phase := func(phase v1.PodPhase) func(*v1.Pod) { return func(p *v1.Pod) { p.Status.Phase = phase } }
	type test struct {
		name string
		then func(t *testing.T, api *apitest.API, d *Daemon)
	}
	testkit.Run(t, []test{
		{"seen", func(t *testing.T, _ *apitest.API, d *Daemon) { d.Feed.Start(t.Context()) }},
		{"deleted", func(_ *testing.T, api *apitest.API, _ *Daemon) { api.Remove("default/pods/p") }},
		{"replaced", func(t *testing.T, api *apitest.API, _ *Daemon) {
			api.Put(t, pod("p", on("n"), func(p *v1.Pod) { p.UID = "other" }))
		}},
		{"succeeded", func(t *testing.T, api *apitest.API, _ *Daemon) {
			api.Put(t, pod("p", on("n"), func(p *v1.Pod) { p.UID = "u" }, phase(v1.PodSucceeded)))
		}},
		{"failed", func(t *testing.T, api *apitest.API, _ *Daemon) {
			api.Put(t, pod("p", on("n"), func(p *v1.Pod) { p.UID = "u" }, phase(v1.PodFailed)))
		}},
	}, func(t *testing.T, x test) {
		t.Parallel()
		api := &apitest.API{}
		api.Put(t, node("n", "1"), pod("pending"), pod("p", on("n"), func(p *v1.Pod) { p.UID = "u" }), pod("over", on("n"), phase(v1.PodSucceeded)))
		d, err := New(t.Context(), configure(t, api))
		require.NoError(t, err)
		defer d.end()
		ended := make(chan error, 1)
		go func() { ended <- d.catchUp(t.Context()) }()
		path := "/api/v1/namespaces/default/pods/p"
		eventually(t, "the pod is asked for", func() bool { return api.Asked(http.MethodGet, path) > 0 })
		require.Empty(t, ended, "the pod is still there")
		x.then(t, api, d)
		require.NoError(t, <-ended)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, d.catchUp(ctx), "a stop is no failure")
	})
}

// What is wrong with the server, the account or the configuration is said before anything runs.
func TestNewErrors(t *testing.T) {
	refuse := func(resource, verb string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if resource != "" && strings.HasSuffix(r.URL.Path, "/apis/"+resource) {
				apitest.Refuse(w, http.StatusNotFound, "NotFound")
				return true
			}
			if verb != "" && strings.HasSuffix(r.URL.Path, "selfsubjectaccessreviews") {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return false
				}
				r.Body = io.NopCloser(bytes.NewReader(body)) // for the server, unless it is refused
				if strings.Contains(string(body), verb) {
					apitest.Refuse(w, http.StatusForbidden, "Forbidden")
					return true
				}
			}
			return false
		}
	}
	taken := prometheus.NewRegistry()
	_, err := scheduler.NewPrometheusMetrics(taken)
	require.NoError(t, err)
	type test struct {
		name         string
		change       func(*Config)
		answer       func(http.ResponseWriter, *http.Request) bool
		want, shadow string // parts of the errors; "": none
	}
	none := func(*Config) {}
	checked := func(c *Config) { c.Permissions = true }
	testkit.Run(t, []test{
		{"nothing", none, nil, "", ""},
		{"host", func(c *Config) { c.REST.Host = "http://[" }, nil, "host must be a URL", "host must be a URL"},
		{"resource", none, refuse("policy/v1", ""), "does not serve poddisruptionbudgets.policy in version policy/v1", "does not serve poddisruptionbudgets.policy in version policy/v1"},
		{"no devices", none, refuse("resource.k8s.io/v1", ""), "", ""},
		{"writing", checked, refuse("", `"create"`), "asking whether the account may create pods/binding", ""},
		{"reading", checked, refuse("", `"watch"`), "asking whether the account may watch nodes", "asking whether the account may watch nodes"},
		{"not asked", none, refuse("", `"watch"`), "", ""},
		{"metrics", func(c *Config) { c.Registry = taken }, nil, "duplicate metrics collector registration attempted", ""},
	}, func(t *testing.T, x test) {
		c := configure(t, &apitest.API{Answer: x.answer})
		x.change(&c)
		check := func(want string, err error) {
			t.Helper()
			if want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want)
			}
		}
		_, err := New(t.Context(), c)
		check(x.want, err)
		_, err = NewShadow(t.Context(), c, func(shadow.Report) {})
		check(x.shadow, err)
	})
}

// A daemon whose informers cannot read waits, and a stop ends that.
func TestStopBeforeFirstList(t *testing.T) {
	for _, l := range []*lead.Lease{nil, lease()} {
		api := &apitest.API{Held: map[string]chan struct{}{"nodes": make(chan struct{})}}
		c := configure(t, api)
		c.Lease = l
		d := start(t, c)
		eventually(t, "the other lists are in", func() bool { return d.Ready() != nil && d.Ready().Error() == "waiting for the first list of nodes" })
		require.False(t, d.Leading())
		d.stop()
		require.NoError(t, <-d.ended)
		require.Equal(t, "no lease", holder(api))
	}
}

// A shadow reports each pod that another binds, and writes nothing.
func TestShadow(t *testing.T) {
	api := &apitest.API{}
	api.Put(t, node("n", "1"), node("m", "2"), pod("p"))
	reports := make(chan shadow.Report, 10)
	s, err := NewShadow(t.Context(), configure(t, api), func(r shadow.Report) { reports <- r })
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	require.Error(t, s.Ready())
	go func() { ended <- s.Run(ctx) }()
	eventually(t, "the lists are in", func() bool { return s.Ready() == nil })
	api.Put(t, pod("p", on("n"), func(p *v1.Pod) { p.UID = uid(api, "p") }))
	r := <-reports
	require.Equal(t, []string{"default/p", "n", "m"}, []string{r.Pod, r.Node, r.Would})
	require.Empty(t, ended)
	s.Gauges()
	stop()
	require.NoError(t, <-ended)
	require.Zero(t, api.Asked(http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events"))

	held := &apitest.API{Held: map[string]chan struct{}{"nodes": make(chan struct{})}}
	s, err = NewShadow(t.Context(), configure(t, held), func(shadow.Report) {})
	require.NoError(t, err)
	require.NoError(t, s.Run(ctx), "a stop before the first list")
}

func uid(api *apitest.API, name string) types.UID {
	var p v1.Pod
	api.Get("default/pods/"+name, &p)
	return p.UID
}
