package live

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/scheduler/live/daemon"
)

// isBinding reports whether a request binds a pod.
func isBinding(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/binding")
}

// What the process does not prevent, as kube-scheduler does not, how fast it may be, and how long the API server works for it.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(*world){"two schedulers of different names": twoNames, "requests a second": requestLimit, "a binding whose time is over": timeOver} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			t.Cleanup(func() { w.link.faults(nil); w.wipe() })
			run(w)
		})
	}
}

// The API server does not bind a pod when the time is over that the request gives it.
func timeOver(w *world) {
	w.pod("p1", "1", func(p *v1.Pod) { p.Spec.SchedulerName = "other" })
	err := w.api.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("p1").SubResource("binding").Param("timeout", "1ns").
		Body(&v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p1"}, Target: v1.ObjectReference{Kind: "Node", Name: "n1"}}).Do(w.ctx).Error()
	require.True(w.t, apierrors.IsTimeout(err), "%v", err)
	require.Empty(w.t, w.get("p1").Spec.NodeName)
}

// Two schedulers of different names decide at the same time, and the API server takes both bindings: the node has more than it can take.
// Each knows it afterwards.
func twoNames(w *world) {
	w.node("n1", "2")
	var both sync.WaitGroup
	both.Add(2)
	first := map[string]bool{}
	var mu sync.Mutex
	w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if isBinding(r) {
			mu.Lock()
			again := first[r.URL.Path]
			first[r.URL.Path] = true
			mu.Unlock()
			if !again {
				both.Done()
				both.Wait()
			}
		}
		return send()
	})
	w.podberth()
	w.podberth(func(c *daemon.Config) {
		c.Configuration = load(w.t, plainConfig+"profiles: [{schedulerName: second}]\n")
	})
	second := func(p *v1.Pod) { p.Spec.SchedulerName = "second" }
	w.pod("a", "1500m")
	w.pod("b", "1500m", second)
	w.bound("a", "n1")
	w.bound("b", "n1")
	w.pod("c", "100m")
	w.pod("d", "100m", second)
	w.unschedulable("c", "Insufficient cpu")
	w.unschedulable("d", "Insufficient cpu")
}

// With kube-scheduler's default limits, 50 requests a second and 100 at once, 400 pods take 6 s. The informers share the limits.
func requestLimit(w *world) {
	const pods, qps, burst = 400, 50, 100
	for k := range 4 {
		w.node(fmt.Sprintf("n%d", k), "32")
	}
	for k := range pods {
		w.pod(fmt.Sprintf("p%d", k), "100m")
	}
	var mu sync.Mutex
	var began []time.Time
	all := make(chan bool)
	w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if isBinding(r) {
			mu.Lock()
			if began = append(began, time.Now()); len(began) == pods {
				close(all)
			}
			mu.Unlock()
		}
		return send()
	})
	w.podberth(func(c *daemon.Config) { c.REST.QPS, c.REST.Burst = qps, burst })
	<-all
	require.GreaterOrEqual(w.t, began[pods-1].Sub(began[0]), (pods-burst)*time.Second/qps-100*time.Millisecond)
	for k := range pods {
		w.bound(fmt.Sprintf("p%d", k), "")
	}
}
