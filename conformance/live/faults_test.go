package live

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
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

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/apiserver"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/lead"
	"github.com/podberth/podberth/scheduler/live/write"
)

// Fault schedules from to to-1 run. A schedule's number is all that decides what happens in it; times decide the rest.
var (
	faultsFrom  = flag.Int("from", 0, "first fault schedule")
	faultsTo    = flag.Int("to", 2, "fault schedule after the last")
	faultsSeed  = flag.Uint64("seed", 1, "seed of the fault schedules")
	faultsCrowd = flag.Int("crowd", 10_000, "pods that come and go at once in schedules 3, 103 and so on")
)

// restartEvery is how often a schedule stops the API server and starts it again, and crowdEvery how often a schedule has a crowd of pods.
const restartEvery, crowdEvery = 5, 100

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
	link   *link
	faulty *faulty
	clock  *jumping
	d      *daemon.Daemon
	end    context.CancelFunc
	done   chan error
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

	meddler  *meddler
	held     hold
	extender *stalling // nil: none
	patient  bool      // the extender may take minutes
	disorder bool
	how      string // what the webhook does
	again    int    // nodes that were made again while bindings waited

	wrongClocks int // replicas whose clock of the lease is wrong

	tide    *tide
	tooLate map[types.UID]bool // pods that the API server bound later than a scheduler waits

	gangs  []*gang // without -groups: none
	shaken bool    // a leader or the API server ended, perhaps between two bindings of a group
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

// configuration returns the document of the schedule's replicas.
func (s *schedule) configuration() string {
	if s.extender == nil {
		return faultsConfig
	}
	limit := "100ms"
	if s.patient {
		limit = "10m"
	}
	return faultsConfig + fmt.Sprintf("extenders: [{urlPrefix: %q, filterVerb: filter, nodeCacheCapable: true, httpTimeout: %s}]\n", s.extender.url, limit)
}

// start starts a replica on a machine of its own. Replicas share a lease, so one of them schedules.
func (s *schedule) start() {
	r := &replica{link: &link{}, clock: &jumping{}}
	require.NoError(s.t, r.link.connect(s.server.Config, ""))
	f := &faulty{rng: rand.New(rand.NewPCG(s.rng.Uint64(), 1)), bindings: s.bindings, held: &s.held, disorder: s.disorder, behind: map[string]bool{}}
	f.share = []float64{0, 0.1, 0.2, 0.2}[s.rng.IntN(4)]
	if s.rng.IntN(3) == 0 {
		f.skew = time.Duration(s.rng.IntN(48)-24) * time.Hour
		s.wrongClocks++
	}
	r.faulty = f
	r.link.faults(f.trip)
	s.replicas = append(s.replicas, r)
	s.launch(r)
	s.note("share of faults %v, clock of the lease wrong by %v", f.share, f.skew)
}

// launch starts the process of a replica.
func (s *schedule) launch(r *replica) {
	c, err := config.Load([]byte(s.configuration()))
	require.NoError(s.t, err)
	ctx, end := context.WithCancel(context.Background())
	r.end, r.done = end, make(chan error, 1)
	name := fmt.Sprintf("replica-%d-%d", s.n, s.started)
	s.started++
	r.d, err = daemon.New(ctx, daemon.Config{
		REST: r.link.config(), Configuration: c, Clock: r.clock, Groups: s.groupGates(),
		Lease: &lead.Lease{Namespace: s.space, Name: "scheduler", Identity: name, Duration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 200 * time.Millisecond},
		Write: write.Options{Timeout: requestTime, DeleteBackoff: 50 * time.Millisecond, DeleteBackoffLimit: time.Second},
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
			s.shaken = true
			s.launch(r)
		default:
		}
	}
}

// kill takes the way to the API server from the first replica and ends it, in the middle of whatever it does.
func (s *schedule) kill() {
	r := s.replicas[0]
	s.replicas = s.replicas[1:]
	s.note("kill a replica")
	s.shaken = true
	r.link.take(true)
	r.end()
	<-r.done // a killed replica may say anything
}

// restart stops the API server and starts it again. The links find its new address.
func (s *schedule) restart() {
	s.note("restart the API server")
	s.shaken = true
	for _, r := range s.replicas {
		r.link.take(true)
	}
	s.server.Stop()
	s.server.Again(s.t)
	s.api = kubernetes.NewForConfigOrDie(s.server.Config)
	s.tide.connect(s.api)
	for _, r := range s.replicas {
		require.NoError(s.t, r.link.connect(s.server.Config, ""))
		r.link.take(false)
	}
}

// calm ends the faults. A watch whose events were late begins again, and the clock of a machine stays as wrong as it is.
func (s *schedule) calm() {
	s.held.open()
	if s.extender != nil {
		s.extender.answer()
	}
	for _, r := range s.replicas {
		calm := &faulty{rng: rand.New(rand.NewPCG(1, 1)), bindings: s.bindings, skew: r.faulty.skew, behind: map[string]bool{}}
		r.link.faults(calm.trip)
		if !s.disorder {
			continue
		}
		r.link.cut()
		r.faulty.mu.Lock()
		for path := range r.faulty.behind {
			calm.behind[path] = true
		}
		r.faulty.mu.Unlock()
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
		if free[p.Spec.NodeName] < 0 && !s.late(p.Spec.NodeName, pods.Items) {
			return "node " + p.Spec.NodeName + " has more than it can take"
		}
	}
	for k := range pods.Items {
		p := &pods.Items[k]
		if n := p.Status.NominatedNodeName; *withGroups && p.Spec.NodeName == "" && n != "" {
			free[n] -= request(p) // a member that fails may keep its nomination, which holds the room
		}
	}
	for k := range pods.Items {
		p := &pods.Items[k]
		if _, member := podgroup.Of(p); p.Spec.NodeName != "" || p.Status.Phase == v1.PodSucceeded || member {
			continue
		}
		for name, room := range free {
			if room >= request(p) && name != elsewhere {
				return p.Name + " waits, and fits on " + name
			}
		}
	}
	return s.wrongGang(pods.Items, free)
}

// A schedule may take looks looks, a pause apart, to come to rest after its faults have ended: 90 s. A look asks the API server, so
// looks are fewer where the machine has too much to do.
const (
	looks = 1800
	pause = 50 * time.Millisecond
)

func (s *schedule) run() {
	for _, name := range s.nodes {
		s.addNode(name)
	}
	if s.how == moves {
		_, err := s.api.CoreV1().Nodes().Create(context.Background(), hostless(), metav1.CreateOptions{})
		require.NoError(s.t, err)
	}
	if s.extender != nil {
		s.note("an extender, with minutes to answer: %v", s.patient)
	}
	s.note("watches in disorder: %v; the webhook %s", s.disorder, s.how)
	s.start()
	if s.rng.IntN(3) > 0 {
		s.start()
	}
	restart, kill := s.n%restartEvery == 1, s.rng.IntN(3) == 0
	steps := 15 + s.rng.IntN(15)
	for k := range steps {
		s.revive()
		s.step()
		if s.n%crowdEvery == 3 && k == steps/2 {
			s.crowd(*faultsCrowd)
		}
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
		ended, err := endDeletions(s.api, s.space)
		if len(ended) > 0 || err != nil {
			s.note("kubelets have deleted %v: %v", ended, err)
		}
		<-time.After(pause)
	}
	if what != "" {
		s.notePods()
		for _, r := range s.replicas {
			s.note("leading: %v, ready: %v", r.d.Leading(), r.d.Ready())
			s.noteView(r.d.Scheduler)
		}
		s.fail("not at rest: %s\n%s", what, left())
	}
	for _, r := range s.replicas {
		r.end()
		if err := <-r.done; err != nil && !errors.Is(err, lead.ErrLost) {
			s.fail("a replica ended with %v", err)
		}
	}
	if what := s.wrong(); what != "" && !strings.Contains(what, " waits, and fits on ") && !strings.Contains(what, " wait, and ") { // the stop may come between a preemption and its binding
		s.fail("after the stop: %s", what)
	}
	if uid := s.bindings.twice(); uid != "" {
		s.fail("pod %s was bound twice", uid)
	}
}

// notePods notes the pods as the API server has them.
func (s *schedule) notePods() {
	pods, err := s.api.CoreV1().Pods(s.space).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		s.note("%v", err)
		return
	}
	for k := range pods.Items {
		p := &pods.Items[k]
		s.note("pod: %s of priority %d with %v on %q, nominated for %q, being deleted: %v, %s", p.Name, *p.Spec.Priority, p.Spec.Containers[0].Resources.Requests.Cpu(),
			p.Spec.NodeName, p.Status.NominatedNodeName, p.DeletionTimestamp != nil, condition(p, v1.PodScheduled).Message)
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
	require.NoError(s.t, s.clear(""))
	s.cleanGangs()
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

// newSchedule chooses the faults of a schedule, and makes its namespace. stop ends what it has beside the API server.
func newSchedule(t *testing.T, w *world, m *meddler, n int) (s *schedule, stop func()) {
	s = &schedule{
		t: t, n: n, rng: rand.New(rand.NewPCG(*faultsSeed, uint64(n))), server: w.server, api: kubernetes.NewForConfigOrDie(w.server.Config), meddler: m,
		space: fmt.Sprintf("f%d", n), began: time.Now(), bindings: &tally{of: map[types.UID]int{}}, nodes: []string{"n1", "n2", "n3"}, tooLate: map[types.UID]bool{},
	}
	stop = func() {}
	s.disorder = s.rng.IntN(3) == 0
	s.how = []string{"", "", marks, moves}[s.rng.IntN(4)]
	if s.rng.IntN(3) == 0 && !*withGroups { // groups have no extenders
		s.extender, stop = newStalling()
		s.patient = s.rng.IntN(2) == 0
	}
	space := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.space}}
	m.meddle(space, s.how)
	_, err := s.api.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{})
	require.NoError(t, err)
	end := stop
	marks, still := startTide(t, s.api, s.space)
	s.tide = marks
	return s, func() { still(); end() }
}

// After any faults, and within a bounded time: every pod that fits is bound, once; no node has more than it can take; no bound
// pod is marked as unschedulable; no goroutine is left.
func TestFaults(t *testing.T) {
	var flags []string
	if *withGroups {
		flags = groupFlags
	}
	w := newWorld(t, flags...)
	w.priorityClass("high", 1000)
	m := startMeddler(t, w.api)
	began, restarts, kinds := time.Now(), 0, map[string]int{}
	for n := *faultsFrom; n < *faultsTo; n++ {
		cpu := used()
		s, stop := newSchedule(t, w, m, n)
		s.run()
		s.clean()
		stop()
		for n := 0; left() != ""; n++ {
			if n == looks {
				s.fail("goroutines are left:\n%s", left())
			}
			<-time.After(pause)
		}
		if n%restartEvery == 1 {
			restarts++
		}
		for kind, has := range map[string]bool{"an extender": s.extender != nil, "watches in disorder": s.disorder, "a webhook": s.how != "", "a crowd": n%crowdEvery == 3} {
			if has {
				kinds[kind]++
			}
		}
		kinds["a node again under its assumed pods"] += s.again
		kinds["a replica with a wrong clock of the lease"] += s.wrongClocks
		kinds["a binding that the API server made too late"] += len(s.tooLate)
		kinds["a group"] += len(s.gangs)
		for _, g := range s.gangs {
			if !g.touched && !s.shaken {
				kinds["a group that must not be bound in part"]++
			}
		}
		if testing.Verbose() {
			t.Logf("schedule %d: %v, CPU %v, %d pods", n, time.Since(s.began).Round(10*time.Millisecond), (used() - cpu).Round(10*time.Millisecond), s.pods)
		}
	}
	t.Logf("%d schedules, %d with a restart of the API server, in %v; %v; the webhook changed %d bindings",
		*faultsTo-*faultsFrom, restarts, time.Since(began).Round(time.Second), kinds, m.bindings())
}
