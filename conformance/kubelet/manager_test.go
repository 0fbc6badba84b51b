package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/clock"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/pressure"
)

func init() { klog.SetLogger(logr.Discard()) }

// TestDays runs the eviction manager of the kubelet with its own loop, in a bubble of fake time, over random observations. It
// compares every cycle: conditions, event, what is reclaimed, and the evicted pod with its grace period, message and
// annotations.
func TestDays(t *testing.T) {
	trial.Run(t, 2000, 3000, func(s *trial.Source) (err error) {
		synctest.Test(t, func(*testing.T) { err = day(s) })
		return err
	}, "evicted for memory", "evicted for ephemeral-storage", "evicted for inodes", "evicted for pids", "nobody to evict", "relieved", "local storage", "layout single", "layout imagefs", "layout split", "layout inconsistent",
		"unknown layout", "soft", "admitted", "refused", "another threshold", "condition without a threshold met")
}

// cycle is one round of the kubelet's loop: what it sees, and what it does.
type cycle struct {
	at         time.Time
	see        pressure.Observation // at first
	after      pressure.NodeStats   // when it looks again, after reclaiming
	looks      int
	layoutErr  error
	killErr    error
	layersErr  error
	killed     []kill
	reclaimed  []string
	event      string // of the node
	summary    *statsapi.Summary
	podEvents  []string
	annotation map[string]string
}

type kill struct {
	pod    *v1.Pod
	grace  int64
	status v1.PodStatus
}

// node is the world of a kubelet. The manager's goroutine calls it. Between cycles the test looks at what the manager did.
type node struct {
	*trial.Source
	lock      sync.Mutex
	dedicated bool
	split     bool
	layout    pressure.Layout
	now       *cycle
	done      bool
	more      func() bool // cycles
	detected  bool        // the layout, in an earlier cycle
	last      pressure.NodeStats
	pods      []*v1.Pod
	uids      int
	// script makes the cycles in place of chance when it is not nil. await lets the manager sleep until the next cycle.
	script func(now time.Time) *cycle
	await  func()
	// policyGrace is the grace period of a pod that a threshold evicts.
	policyGrace func(pressure.Threshold, *v1.Pod) int64
}

func day(s *trial.Source) error {
	n := &node{Source: s, more: s.More, dedicated: s.Once(2)}
	n.split = s.Once(map[bool]int{true: 2, false: 4}[n.dedicated])
	n.layout = "single"
	switch {
	case n.dedicated && n.split:
		n.layout = "split"
	case n.dedicated:
		n.layout = "imagefs"
	case n.split:
		n.layout = "inconsistent"
	}
	config, thresholds, err := n.config()
	if err != nil {
		return err
	}
	if len(thresholds) == 0 { // without a threshold the loop would never end
		config.IgnoreLocalStorage = false
	}
	return n.play(config, thresholds, 10*time.Second, func(policy *pressure.Policy, before, state pressure.State, d pressure.Decision, c *cycle, m eviction.Manager, admit lifecycle.PodAdmitHandler) error {
		if err := n.check(policy, before, state, d, c, m); err != nil {
			return err
		}
		return n.admission(admit, d)
	})
}

// look compares a cycle of the manager with podberth's decision.
type look func(*pressure.Policy, pressure.State, pressure.State, pressure.Decision, *cycle, eviction.Manager, lifecycle.PodAdmitHandler) error

// play runs the manager until there are no more cycles.
func (n *node) play(config pressure.Config, thresholds []evictionapi.Threshold, interval time.Duration, compare look) error {
	policy, err := pressure.Compile(config, pressure.Options{Release: trial.Linked})
	if err != nil {
		return err
	}
	manager, admit := eviction.NewManager(n, eviction.Config{PressureTransitionPeriod: config.EvictionPressureTransitionPeriod,
		MaxPodGracePeriodSeconds: int64(config.EvictionMaxPodGracePeriod), Thresholds: thresholds}, n.kill, imageGC{n}, containerGC{n}, n, &v1.ObjectReference{}, clock.RealClock{}, !config.IgnoreLocalStorage)
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		n.lock.Lock()
		n.done = true
		n.lock.Unlock()
		cancel()
		time.Sleep(time.Minute) // the manager's loop ends at its next cycle
	}()
	time.Sleep(time.Second)
	manager.Start(ctx, n, n.activePods, func(*v1.Pod) bool { return true }, interval)
	state := pressure.State{}
	seen := (*cycle)(nil)
	for {
		synctest.Wait()
		n.lock.Lock()
		c, more := n.now, n.more()
		n.lock.Unlock()
		if c != nil && c != seen {
			seen = c
			var d pressure.Decision
			before := state
			state, d = policy.Observe(state, c.see, c.at)
			if err := compare(policy, before, state, d, c, manager, admit); err != nil {
				return fmt.Errorf("at %v: %w", c.at.Sub(start), err)
			}
		}
		if !more {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
}

var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble

// begin starts a cycle unless one has begun at this moment. It ends the manager's goroutine when the day is over.
func (n *node) begin() *cycle {
	if n.done {
		runtime.Goexit() // callers unlock by defer
	}
	now := time.Now()
	if n.now != nil && n.now.at.Equal(now) {
		return n.now
	}
	if n.script != nil {
		n.now = n.script(now)
		return n.now
	}
	c := &cycle{at: now}
	n.Note("%v:", now.Sub(start))
	if n.now != nil {
		for _, k := range n.now.killed {
			n.pods = slices.DeleteFunc(n.pods, func(p *v1.Pod) bool { return p.UID == k.pod.UID && n.now.killErr == nil })
		}
	}
	n.change()
	stats := n.stats(n.last)
	if !n.detected { // until the layout is known, thresholds that users set on containerfs take effect (a quirk)
		stats.ContainerFs = nil
	}
	if n.Once(12) {
		c.layoutErr = errors.New("no layout yet")
	}
	if n.Once(12) {
		c.killErr = errors.New("it would not die")
	}
	c.see = pressure.Observation{Signals: pressure.Measure(stats), Layout: n.layout, Pods: slices.Clone(n.pods)}
	if c.layoutErr != nil {
		c.see.Layout = ""
	}
	c.summary, c.see.Stats = n.summarize(stats)
	n.last = stats
	n.detected = n.detected || c.layoutErr == nil
	c.after = n.stats(stats)
	n.Note("  signals %v", c.see.Signals)
	n.now = c
	return c
}

func (n *node) wait() {
	if n.await != nil {
		n.await()
	}
}

func (n *node) activePods() []*v1.Pod {
	n.wait()
	n.lock.Lock()
	defer n.lock.Unlock()
	var out []*v1.Pod
	for _, p := range n.begin().see.Pods {
		if p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed || p.DeletionTimestamp != nil {
			out = append(out, p)
		}
	}
	return out
}

// Get returns the summary. The second call of a cycle comes after reclaiming.
func (n *node) Get(context.Context, bool) (*statsapi.Summary, error) {
	n.wait()
	n.lock.Lock()
	defer n.lock.Unlock()
	c := n.begin()
	c.looks++
	if c.looks == 1 {
		return c.summary, nil
	}
	n.last = c.after
	second := *c.summary
	second.Node = nodeStats(c.after)
	return &second, nil
}

func (n *node) GetCPUAndMemoryStats(ctx context.Context) (*statsapi.Summary, error) {
	return n.Get(ctx, false)
}

func (n *node) HasDedicatedImageFs(context.Context) (bool, error) {
	n.wait()
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.dedicated, n.begin().layoutErr
}

func (n *node) HasDedicatedContainerFs(context.Context) (bool, error) {
	n.wait()
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.split, n.begin().layersErr
}

func (n *node) kill(pod *v1.Pod, _ bool, grace *int64, status func(*v1.PodStatus)) error {
	n.lock.Lock()
	defer n.lock.Unlock()
	c := n.begin()
	k := kill{pod: pod, grace: 1}
	if grace != nil {
		k.grace = max(1, *grace) // the container runtime raises it
	}
	status(&k.status)
	c.killed = append(c.killed, k)
	return c.killErr
}

type imageGC struct{ n *node }

func (g imageGC) DeleteUnusedImages(context.Context) error { return g.n.reclaim("imageGC") }

type containerGC struct{ n *node }

func (g containerGC) DeleteAllUnusedContainers(context.Context) error {
	return g.n.reclaim("containerGC")
}

func (n *node) reclaim(what string) error {
	n.lock.Lock()
	defer n.lock.Unlock()
	c := n.begin()
	c.reclaimed = append(c.reclaimed, what)
	return c.killErr // the manager only logs this error
}

func (n *node) Event(o kruntime.Object, kind, reason, message string) {
	n.AnnotatedEventf(o, nil, kind, reason, "%s", message)
}

func (n *node) Eventf(o kruntime.Object, kind, reason, format string, args ...any) {
	n.AnnotatedEventf(o, nil, kind, reason, format, args...)
}

func (n *node) AnnotatedEventf(o kruntime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	n.lock.Lock()
	defer n.lock.Unlock()
	c := n.begin()
	if _, ok := o.(*v1.Pod); ok {
		c.podEvents = append(c.podEvents, kind+" "+reason+" "+fmt.Sprintf(format, args...))
		c.annotation = annotations
		return
	}
	c.event += kind + " " + reason + " " + fmt.Sprintf(format, args...)
}

// admission asks both sides whether the node admits a new pod.
func (n *node) admission(h lifecycle.PodAdmitHandler, d pressure.Decision) error {
	n.lock.Lock()
	defer n.lock.Unlock()
	pod := n.pod()
	want := admits(h, pod)
	ok, message := pressure.Admit(pod, d.Conditions)
	if want.Admit != ok || !ok && (want.Reason != pressure.Reason || len(d.Conditions) == 1 && want.Message != message || len(want.Message) != len(message)) {
		return fmt.Errorf("admission with %v: real %+v, podberth %v %q", d.Conditions, want, ok, message)
	}
	n.Count(map[bool]string{true: "admitted", false: "refused"}[ok])
	return nil
}
