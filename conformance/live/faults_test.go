package live

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/apiserver"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/lead"
	"github.com/podberth/podberth/scheduler/live/write"
)

// Fault schedules from to to-1 run. A schedule's number is all that decides what happens in it; times decide the rest.
var (
	faultsFrom = flag.Int("from", 0, "first fault schedule")
	faultsTo   = flag.Int("to", 2, "fault schedule after the last")
	faultsSeed = flag.Uint64("seed", 1, "seed of the fault schedules")
)

// restartEvery is how often a schedule stops the API server and starts it again.
const restartEvery = 5

// faulty is the API server as one scheduler sees it: a share of its requests fails.
type faulty struct {
	mu       sync.Mutex
	rng      *rand.Rand
	share    float64
	bindings *tally
}

// tally counts the bindings that the API server has answered with 201.
type tally struct {
	mu sync.Mutex
	of map[types.UID]int
}

func (c *tally) add(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[uid]++
}

// twice returns a pod that was bound more than once, "" if there is none.
func (c *tally) twice() types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, n := range c.of {
		if n > 1 {
			return uid
		}
	}
	return ""
}

func (f *faulty) roll() (kind int, hit bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(9), f.rng.Float64() < f.share
}

// errLost is what the client sees of a connection that broke.
var errLost = fmt.Errorf("read: connection reset by peer: %w", io.ErrUnexpectedEOF)

// trip sends a request, or fails in one of nine ways.
func (f *faulty) trip(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/binding") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		plain := send
		send = func() (*http.Response, error) {
			answer, err := plain()
			if err == nil && answer.StatusCode == http.StatusCreated {
				f.bindings.add(bindingUID(body))
			}
			return answer, err
		}
	}
	kind, hit := f.roll()
	watch := r.URL.Query().Get("watch") == "true"
	if !hit || strings.Contains(r.URL.Path, "selfsubjectaccessreviews") {
		return send()
	}
	switch {
	case watch && kind < 3:
		return status(r, http.StatusGone, "Expired", "too old resource version"), nil
	case watch || r.Method == http.MethodGet && (kind == 0 || kind > 4):
		return send() // no server answers a read so
	}
	switch kind {
	case 0:
		return status(r, http.StatusConflict, "Conflict", "the object has been modified"), nil
	case 1:
		return status(r, http.StatusTooManyRequests, "TooManyRequests", "slow down"), nil
	case 2:
		return status(r, http.StatusTooManyRequests, "TooManyRequests", "slow down", "Retry-After", "0"), nil
	case 3:
		return status(r, http.StatusInternalServerError, "InternalError", "etcdserver: request timed out"), nil
	case 4:
		return nil, errLost // before it reached the server
	case 5, 6: // after the server has done it
		answer, err := send()
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close()
		if kind == 5 {
			return nil, errLost
		}
		return status(r, http.StatusGatewayTimeout, "Timeout", "the server was unable to return a response in the time allotted"), nil
	}
	select { // slow
	case <-time.After(time.Duration(kind) * 10 * time.Millisecond):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return send()
}

// bindingUID finds the UID in the body of a binding, which is JSON or protobuf: the only text of 36 characters with dashes.
func bindingUID(body []byte) types.UID {
	for k := 0; k+36 <= len(body); k++ {
		s := body[k : k+36]
		if s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
			return types.UID(s)
		}
	}
	return ""
}

// jumping is a clock that somebody sets.
type jumping struct {
	mu  sync.Mutex
	off time.Duration
}

func (c *jumping) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Round(0).Add(c.off)
}
func (c *jumping) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (c *jumping) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}

// replica is a scheduler of a schedule.
type replica struct {
	link  *link
	clock *jumping
	d     *daemon.Daemon
	end   context.CancelFunc
	done  chan error
}

// schedule is one run with faults.
type schedule struct {
	t        *testing.T
	n        int
	rng      *rand.Rand
	server   *apiserver.Server
	api      kubernetes.Interface
	space    string
	bindings *tally
	replicas []*replica
	started  int // replicas until now
	pods     int
	nodes    []string
	log      []string
	began    time.Time
}

func (s *schedule) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%7.3f s ", time.Since(s.began).Seconds())+fmt.Sprintf(format, args...))
}

const faultsConfig = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
`

// start starts a replica on a machine of its own. Replicas share a lease, so one of them schedules.
func (s *schedule) start() {
	r := &replica{link: &link{}, clock: &jumping{}}
	require.NoError(s.t, r.link.connect(s.server.Config, ""))
	f := &faulty{rng: rand.New(rand.NewPCG(s.rng.Uint64(), 1)), share: 0.2, bindings: s.bindings}
	f.share = []float64{0, 0.1, 0.2, 0.2}[s.rng.IntN(4)]
	r.link.faults(f.trip)
	s.replicas = append(s.replicas, r)
	s.launch(r)
	s.note("share of faults %v", f.share)
}

// launch starts the process of a replica.
func (s *schedule) launch(r *replica) {
	c, err := config.Load([]byte(faultsConfig))
	require.NoError(s.t, err)
	ctx, end := context.WithCancel(context.Background())
	r.end, r.done = end, make(chan error, 1)
	name := fmt.Sprintf("replica-%d-%d", s.n, s.started)
	s.started++
	r.d, err = daemon.New(ctx, daemon.Config{
		REST: r.link.config(), Configuration: c, Clock: r.clock,
		Lease: &lead.Lease{Namespace: s.space, Name: "scheduler", Identity: name, Duration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 200 * time.Millisecond},
		Write: write.Options{Timeout: 2 * time.Second, DeleteBackoff: 50 * time.Millisecond, DeleteBackoffLimit: time.Second},
	})
	require.NoError(s.t, err)
	d := r.d
	go func(done chan<- error) { done <- d.Run(ctx) }(r.done)
	s.note("start %s", name)
}

// revive starts the replicas again that have lost the lease, as a kubelet does with a process that has ended.
func (s *schedule) revive() {
	for _, r := range s.replicas {
		select {
		case err := <-r.done:
			if !errors.Is(err, lead.ErrLost) {
				s.fail("a replica ended with %v", err)
			}
			s.note("the lease is lost")
			s.launch(r)
		default:
		}
	}
}

// step does one thing to the cluster or to the schedulers.
func (s *schedule) step() {
	ctx := context.Background()
	switch k := s.rng.IntN(20); {
	case k < 9: // pods
		for range 1 + s.rng.IntN(4) {
			s.create(fmt.Sprintf("p%d", s.pods))
			s.pods++
		}
	case k < 11 && s.pods > 0: // delete, and half of the time replace
		name := fmt.Sprintf("p%d", s.rng.IntN(s.pods))
		err := s.api.CoreV1().Pods(s.space).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		s.note("delete %s: %v", name, err)
		if s.rng.IntN(2) == 0 {
			s.create(name)
		}
	case k < 13: // a node goes, and comes back under its name or not
		name := s.nodes[s.rng.IntN(len(s.nodes))]
		err := s.api.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		s.note("delete node %s: %v", name, err)
		s.addNode(name)
	case k < 15:
		s.note("cut watches")
		for _, r := range s.replicas {
			r.link.cut()
		}
	case k < 16:
		r := s.replicas[s.rng.IntN(len(s.replicas))]
		d := time.Duration(s.rng.IntN(3600)) * time.Second // a process's clock never goes back
		s.note("clock jumps by %v", d)
		r.clock.jump(d)
	case k < 17: // an end of a pod
		if s.pods > 0 {
			name := fmt.Sprintf("p%d", s.rng.IntN(s.pods))
			_, err := s.api.CoreV1().Pods(s.space).Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
			s.note("finish %s: %v", name, err)
		}
	default:
		wait := time.Duration(s.rng.IntN(120)) * time.Millisecond
		s.note("wait %v", wait)
		<-time.After(wait)
	}
}

func (s *schedule) create(name string) {
	p := newPod(name, []string{"250m", "500m", "1", "1500m"}[s.rng.IntN(4)])
	p.Namespace = s.space
	if s.rng.IntN(4) == 0 {
		p.Spec.PriorityClassName = "high"
	}
	_, err := s.api.CoreV1().Pods(s.space).Create(context.Background(), p, metav1.CreateOptions{})
	s.note("create %s: %v", name, err)
}

func (s *schedule) addNode(name string) {
	n := newNode(name, "2")
	_, err := s.api.CoreV1().Nodes().Create(context.Background(), n, metav1.CreateOptions{})
	s.note("create node %s: %v", name, err)
}

// kill takes the way to the API server from the first replica and ends it, in the middle of whatever it does.
func (s *schedule) kill() {
	r := s.replicas[0]
	s.replicas = s.replicas[1:]
	s.note("kill a replica")
	r.link.take(true)
	r.end()
	<-r.done // a killed replica may say anything
}

// restart stops the API server and starts it again. The links find its new address.
func (s *schedule) restart() {
	s.note("restart the API server")
	for _, r := range s.replicas {
		r.link.take(true)
	}
	s.server.Stop()
	s.server.Again(s.t)
	s.api = kubernetes.NewForConfigOrDie(s.server.Config)
	for _, r := range s.replicas {
		require.NoError(s.t, r.link.connect(s.server.Config, ""))
		r.link.take(false)
	}
}

// calm ends the faults.
func (s *schedule) calm() {
	for _, r := range s.replicas {
		r.link.faults((&faulty{rng: rand.New(rand.NewPCG(1, 1)), bindings: s.bindings}).trip)
	}
}

// wrong returns the first thing that a cluster at rest must not show, and "" when there is none.
func (s *schedule) wrong() string {
	ctx := context.Background()
	nodes, err := s.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	pods, err := s.api.CoreV1().Pods(s.space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	free := map[string]int64{}
	for _, n := range nodes.Items {
		free[n.Name] = n.Status.Allocatable.Cpu().MilliValue()
	}
	request := func(p *v1.Pod) int64 { return p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() }
	for k := range pods.Items {
		p := &pods.Items[k]
		if p.Spec.NodeName == "" || p.Status.Phase == v1.PodSucceeded {
			continue
		}
		if condition(p, v1.PodScheduled).Status != v1.ConditionTrue {
			return p.Name + " is bound, and its condition says otherwise: " + condition(p, v1.PodScheduled).Message
		}
		if _, ok := free[p.Spec.NodeName]; !ok {
			continue // the node is gone
		}
		free[p.Spec.NodeName] -= request(p)
		if free[p.Spec.NodeName] < 0 {
			return "node " + p.Spec.NodeName + " has more than it can take"
		}
	}
	for k := range pods.Items {
		p := &pods.Items[k]
		if p.Spec.NodeName != "" || p.Status.Phase == v1.PodSucceeded {
			continue
		}
		for name, room := range free {
			if room >= request(p) {
				return p.Name + " waits, and fits on " + name
			}
		}
	}
	return ""
}

// A schedule may take looks looks, a pause apart, to come to rest after its faults have ended: 90 s. A look asks the API server, so
// looks are fewer where the machine has too much to do.
const (
	looks = 1800
	pause = 50 * time.Millisecond
)

func (s *schedule) run() {
	s.addNode(s.nodes[0])
	for _, name := range s.nodes[1:] {
		s.addNode(name)
	}
	s.start()
	if s.rng.IntN(3) > 0 {
		s.start()
	}
	restart, kill := s.n%restartEvery == 1, s.rng.IntN(3) == 0
	steps := 15 + s.rng.IntN(15)
	for k := range steps {
		s.revive()
		s.step()
		if kill && k == steps/3 {
			s.start()
			s.kill()
		}
		if restart && k == steps/2 {
			s.restart()
		}
	}
	s.calm()
	n, what := 0, s.wrong()
	for ; what != "" && n < looks; n, what = n+1, s.wrong() {
		s.revive()
		<-time.After(pause)
	}
	if what != "" {
		for _, r := range s.replicas {
			s.note("leading: %v, ready: %v", r.d.Leading(), r.d.Ready())
			s.noteView(r.d.Scheduler)
		}
		s.fail("not at rest: %s", what)
	}
	for _, r := range s.replicas {
		r.end()
		if err := <-r.done; err != nil && !errors.Is(err, lead.ErrLost) {
			s.fail("a replica ended with %v", err)
		}
	}
	if what := s.wrong(); what != "" && !strings.Contains(what, " waits, and fits on ") { // the stop may come between a preemption and its binding
		s.fail("after the stop: %s", what)
	}
	if uid := s.bindings.twice(); uid != "" {
		s.fail("pod %s was bound twice", uid)
	}
}

// noteView notes what a scheduler knows: the pods of the nodes, and where the pods that wait are in the queue.
func (s *schedule) noteView(known *scheduler.Scheduler) {
	known.View(func(c *cluster.Snapshot) {
		for i := range c.Len() {
			for p := range c.Pods(i) {
				s.note("view: %s has %s", c.Node(i).Name, p.Name)
			}
		}
	})
	pods, err := s.api.CoreV1().Pods(s.space).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		s.note("%v", err)
		return
	}
	known.Queue().Read(func(q *queue.Queue) {
		for k := range pods.Items {
			if x := q.Explain(&pods.Items[k], time.Now()); x.Found {
				s.note("queue: %v", x)
			}
		}
	})
}

func (s *schedule) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("schedule %d (-seed %d -from %d -to %d): %s\n%s", s.n, *faultsSeed, s.n, s.n+1, fmt.Sprintf(format, args...), strings.Join(s.log, "\n"))
}

// clean removes what a schedule leaves.
func (s *schedule) clean() {
	ctx := context.Background()
	require.NoError(s.t, s.api.CoreV1().Pods(s.space).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{}))
	require.NoError(s.t, s.api.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// left returns the goroutines of the schedulers that still run.
func left() string {
	buffer := make([]byte, 4<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	var out []string
	for _, g := range strings.Split(string(buffer), "\n\n") {
		if strings.Contains(g, "podberth/scheduler/live/") || strings.Contains(g, "podberth/scheduler") {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}

// used returns the CPU time of the process until now: API server, schedulers and test.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // it is only printed
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// After any faults, and within a bounded time: every pod that fits is bound, once; no node has more than it can take; no bound
// pod is marked as unschedulable; no goroutine is left.
func TestFaults(t *testing.T) {
	w := newWorld(t)
	w.priorityClass("high", 1000)
	began, restarts := time.Now(), 0
	for n := *faultsFrom; n < *faultsTo; n++ {
		start, cpu, space := time.Now(), used(), fmt.Sprintf("f%d", n)
		_, err := kubernetes.NewForConfigOrDie(w.server.Config).CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{})
		require.NoError(t, err)
		s := &schedule{
			t: t, n: n, rng: rand.New(rand.NewPCG(*faultsSeed, uint64(n))), server: w.server, api: kubernetes.NewForConfigOrDie(w.server.Config),
			space: space, began: start, bindings: &tally{of: map[types.UID]int{}}, nodes: []string{"n1", "n2", "n3"},
		}
		s.run()
		s.clean()
		for n := 0; left() != ""; n++ {
			if n == looks {
				s.fail("goroutines are left:\n%s", left())
			}
			<-time.After(pause)
		}
		if n%restartEvery == 1 {
			restarts++
		}
		if testing.Verbose() {
			t.Logf("schedule %d: %v, CPU %v, %d pods", n, time.Since(start).Round(10*time.Millisecond), (used() - cpu).Round(10*time.Millisecond), s.pods)
		}
	}
	t.Logf("%d schedules, %d with a restart of the API server, in %v", *faultsTo-*faultsFrom, restarts, time.Since(began).Round(time.Second))
}
