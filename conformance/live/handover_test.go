package live

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/lead"
)

// diary is what replicas have asked of the API server, in order: "a asks for p1", "a has bound p1", "a takes the lease".
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// count returns how often a line was written.
func (d *diary) count(line string) (n int) {
	for _, have := range d.all() {
		if have == line {
			n++
		}
	}
	return n
}

// contender is a replica that holds the lease or waits for it.
type contender struct {
	w    *world
	name string
	link *link
	d    *daemon.Daemon
	stop context.CancelFunc
	done chan error

	mu   sync.Mutex
	hold map[string]chan struct{} // a binding of this pod waits for the channel
	gone bool                     // nothing reaches the API server
	late chan struct{}            // a watch of pods waits for the channel
}

// contend starts a replica that writes into the diary. Its lease may be taken by another after duration; finish is how long a stop waits
// for bindings, 0 the default.
func (w *world) contend(name string, book *diary, duration, finish time.Duration) *contender {
	w.t.Helper()
	c := &contender{w: w, name: name, link: &link{}, done: make(chan error, 1), hold: map[string]chan struct{}{}}
	require.NoError(w.t, c.link.connect(w.server.Config, ""))
	c.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		return c.trip(book, r, send)
	})
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	c.d, err = daemon.New(ctx, daemon.Config{
		REST: c.link.config(), Configuration: load(w.t, plainConfig), FinishTimeout: finish,
		Lease: &lead.Lease{Namespace: "default", Name: "scheduler", Identity: name, Duration: duration, RenewDeadline: duration * 2 / 3, RetryPeriod: 100 * time.Millisecond},
	})
	require.NoError(w.t, err)
	c.stop = cancel
	go func() { c.done <- c.d.Run(ctx) }()
	return c
}

// trip sends a request and writes it down. The requests that count are bindings and those about the lease.
func (c *contender) trip(book *diary, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	pod, binds := strings.CutSuffix(r.URL.Path, "/binding")
	pod = pod[strings.LastIndex(pod, "/")+1:]
	lease := strings.HasSuffix(r.URL.Path, "/leases/scheduler") || strings.HasSuffix(r.URL.Path, "/leases")
	pods, watch := r.URL.Path == "/api/v1/pods", r.URL.Query().Get("watch") == "true"
	c.mu.Lock()
	held, gone, late := c.hold[pod], c.gone, c.late
	c.mu.Unlock()
	if pods && watch && late != nil {
		select {
		case <-late:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if binds {
		book.note("%s asks for %s", c.name, pod)
	}
	if binds && held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
			book.note("%s takes back %s", c.name, pod)
			return nil, r.Context().Err()
		}
	}
	if gone {
		return nil, errDown
	}
	answer, err := send()
	switch {
	case err != nil:
	case binds && answer.StatusCode == http.StatusCreated:
		book.note("%s has bound %s", c.name, pod)
	case pods && strings.Contains(r.URL.Query().Get("fieldSelector"), "spec.nodeName!="):
		book.note("%s lists the bound pods", c.name)
	case lease && r.Method == http.MethodGet:
		book.note("%s reads the lease", c.name)
	}
	return answer, err
}

// holds makes bindings of a pod wait, and returns the function that lets them go on.
func (c *contender) holds(pod string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make(chan struct{})
	c.hold[pod] = held
	return sync.OnceFunc(func() { close(held) })
}

// blind cuts the watches, and makes the watch of pods wait until the returned function is called.
func (c *contender) blind() (see func()) {
	c.mu.Lock()
	late := make(chan struct{})
	c.late = late
	c.mu.Unlock()
	c.link.cut()
	return sync.OnceFunc(func() { close(late) })
}

// cutOff lets nothing reach the API server, and ends the watches.
func (c *contender) cutOff() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.link.cut()
}

// leads waits until the replica leads.
func (c *contender) leads() {
	c.w.t.Helper()
	c.w.until(c.name+" leads", c.d.Leading)
}

// holder returns who has the lease.
func (w *world) holder() string {
	w.t.Helper()
	l, err := w.api.CoordinationV1().Leases("default").Get(w.ctx, "scheduler", metav1.GetOptions{})
	require.NoError(w.t, err)
	return ptr.Deref(l.Spec.HolderIdentity, "")
}

// asked waits until a replica has asked the API server for the binding of a pod.
func (c *contender) asked(book *diary, pod string) {
	c.w.t.Helper()
	c.w.until(c.name+" asks for "+pod, func() bool { return book.count(c.name+" asks for "+pod) > 0 })
}

// oldBeforeNew requires that the old leader's last binding came before the new leader's first, and that the new leader has bound a pod.
func oldBeforeNew(t *testing.T, book *diary) {
	t.Helper()
	first, last := -1, -1
	for k, line := range book.all() {
		if strings.HasPrefix(line, "new asks for ") && first < 0 {
			first = k
		}
		if strings.HasPrefix(line, "old asks for ") || strings.HasPrefix(line, "old has bound ") {
			last = k
		}
	}
	require.NotEqual(t, -1, first, "the new leader binds")
	require.Less(t, last, first, strings.Join(book.all(), "\n"))
}

// An old leader stops binding before a new leader starts: when it is told to stop during a binding, also one that hangs, when it loses
// the way to the API server during a binding, and when another takes its lease.
func handOver(w *world) {
	t := w.t
	w.node("n1", "32")
	for _, c := range []struct {
		name     string
		duration time.Duration // of the lease
		finish   time.Duration // of a stop
		run      func(w *world, book *diary, old, new *contender)
	}{
		{"a stop during a binding", time.Minute, 0, func(w *world, book *diary, old, new *contender) {
			release := old.holds("p1")
			defer release()
			w.pod("p1", "1")
			old.asked(book, "p1")
			old.stop()
			w.pod("p2", "1")
			before := book.count("new reads the lease")
			w.until("new asks for the lease again and again", func() bool { return book.count("new reads the lease") > before+3 })
			require.False(w.t, new.d.Leading(), "the old leader is at work")
			require.Equal(w.t, "old", w.holder())
			release()
			require.NoError(w.t, <-old.done)
			new.leads()
			w.bound("p1", "n1")
			w.bound("p2", "n1")
			w.until("the answers are noted", func() bool { return book.count("old has bound p1") == 1 && book.count("new has bound p2") == 1 })
		}},
		{"the watch of the new leader is behind", time.Minute, 0, func(w *world, book *diary, old, new *contender) {
			release := old.holds("p1")
			defer release()
			w.pod("p1", "20")
			old.asked(book, "p1")
			w.pod("p2", "20")
			w.unschedulable("p2", "1 Insufficient cpu")
			w.until("new knows of p2", func() bool { return new.d.Feed.Pod("default", "p2") != nil })
			see := new.blind()
			defer see()
			release()
			w.bound("p1", "n1")
			old.stop()
			require.NoError(w.t, <-old.done)
			w.until("new asks what the old leader has bound", func() bool { return book.count("new lists the bound pods") == 1 })
			require.False(w.t, new.d.Leading(), "new does not know of p1")
			see()
			new.leads()
			w.pod("p3", "1")
			w.bound("p3", "n1")
			require.Zero(w.t, book.count("new asks for p2"), "p1 has its room")
			require.Empty(w.t, w.get("p2").Spec.NodeName)
			w.delete("p2")
		}},
		{"a binding hangs for longer than a stop waits", 10 * time.Second, 100 * time.Millisecond, func(w *world, book *diary, old, new *contender) {
			release := old.holds("p1")
			defer release()
			w.pod("p1", "1")
			old.asked(book, "p1")
			old.stop()
			require.NoError(w.t, <-old.done)
			w.until("the binding is taken back", func() bool { return book.count("old takes back p1") == 1 })
			require.Equal(w.t, "old", w.holder(), "the binding may have reached the API server: the lease runs out by itself")
			new.leads()
			w.bound("p1", "n1")
			w.until("the answer is noted", func() bool { return book.count("new has bound p1") == 1 })
		}},
		{"no way to the API server", 10 * time.Second, 0, func(w *world, book *diary, old, new *contender) {
			release := old.holds("p1")
			defer release()
			w.pod("p1", "1")
			old.asked(book, "p1")
			old.cutOff()
			require.ErrorIs(w.t, <-old.done, daemon.ErrLeaseLost)
			w.until("the binding is taken back", func() bool { return book.count("old takes back p1") == 1 })
			new.leads()
			w.bound("p1", "n1")
			w.until("the answer is noted", func() bool { return book.count("new has bound p1") == 1 })
		}},
		{"another takes the lease", time.Minute, 0, func(w *world, book *diary, old, new *contender) {
			release := old.holds("p1")
			defer release()
			w.pod("p1", "1")
			old.asked(book, "p1")
			w.until("the lease has another holder", func() bool { // the leader renews it at the same time
				l, err := w.api.CoordinationV1().Leases("default").Get(w.ctx, "scheduler", metav1.GetOptions{})
				require.NoError(w.t, err)
				l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = ptr.To("thief"), ptr.To[int32](3)
				_, w.last = w.api.CoordinationV1().Leases("default").Update(w.ctx, l, metav1.UpdateOptions{})
				return w.last == nil
			})
			require.ErrorIs(w.t, <-old.done, daemon.ErrLeaseLost)
			new.leads()
			w.bound("p1", "n1")
			w.until("the answer is noted", func() bool { return book.count("new has bound p1") == 1 })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			book := &diary{}
			old := w.contend("old", book, c.duration, c.finish)
			old.leads()
			w.pod("p0", "1")
			w.bound("p0", "n1")
			new := w.contend("new", book, c.duration, c.finish)
			w.until("new is ready and knows of the lease", func() bool { return new.d.Ready() == nil && book.count("new reads the lease") > 0 })
			c.run(w, book, old, new)
			new.stop()
			require.NoError(t, <-new.done)
			oldBeforeNew(t, book)
			pods, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
			require.NoError(t, err)
			for k := range pods.Items {
				require.Equal(t, v1.ConditionTrue, condition(&pods.Items[k], v1.PodScheduled).Status, pods.Items[k].Name)
			}
			require.Empty(t, w.holder(), "the lease is released")
			now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
			require.NoError(t, w.api.CoreV1().Pods("default").DeleteCollection(w.ctx, now, metav1.ListOptions{}))
			require.NoError(t, w.api.CoordinationV1().Leases("default").Delete(w.ctx, "scheduler", metav1.DeleteOptions{}))
		})
		w.t = t
	}
}
