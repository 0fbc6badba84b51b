package scheduler

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// These tests call each two methods of a value that goroutines share from two goroutines at once. Nothing but the value's own lock orders
// the two calls, so that the race detector finds a lock that is missing in either.

// pairs calls every two functions of a list beside each other, each pair on a fresh value.
func pairs[T any](fresh func() T, calls ...func(T)) {
	for a := range calls {
		for b := a; b < len(calls); b++ {
			x := fresh()
			var both sync.WaitGroup
			both.Go(func() { calls[a](x) })
			both.Go(func() { calls[b](x) })
			both.Wait()
		}
	}
}

// memberOf returns a pod of a group.
func memberOf(name, group string) *v1.Pod {
	p := assumedOn(name, "n1")
	p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	return p
}

func TestCacheSideBySide(t *testing.T) {
	there, late, other := memberOf("there", "g"), memberOf("late", "g"), memberOf("other", "g")
	now := time.Now()
	pairs(func() *cache {
		c := newCache(time.Second)
		c.groups = newGroups(mustSnapshot(t), nil, podgroup.Gates{})
		_, err := c.set(there)
		require.NoError(t, err)
		require.NoError(t, c.assume(late))
		c.bound(late, now)
		return c
	},
		func(c *cache) { c.full() },
		func(c *cache) {
			s, err := cluster.New(cluster.Objects{})
			assert.NoError(t, err)
			_, _ = c.refresh(s) // the snapshot lacks what is removed
		},
		func(c *cache) { _ = c.assume(other) }, // an error when two do it
		func(c *cache) { assert.NoError(t, c.forget(late)) },
		func(c *cache) { c.bound(late, now) },
		func(c *cache) {
			_, err := c.set(there)
			assert.NoError(t, err)
		},
		func(c *cache) { c.remove(there) },
		func(c *cache) { c.has(there) },
		func(c *cache) { c.stays(there) },
		func(c *cache) { c.lastKnown(there) },
		func(c *cache) { c.assumed(late.UID) },
		func(c *cache) { c.overdue(now.Add(time.Hour)) },
		func(c *cache) { c.next() },
		func(c *cache) { c.change(node("n2"), false) },
		func(c *cache) { c.sizes() },
	)
}

func TestStateSideBySide(t *testing.T) {
	key := NewKey[int]("number")
	pairs(NewState,
		func(s *State) { key.Write(s, 1) },
		func(s *State) { _, _ = key.Read(s) }, // ErrNotFound when it comes first
		func(s *State) { key.Delete(s) },
		func(s *State) { s.Clone() },
	)
}

func TestGroupsSideBySide(t *testing.T) {
	p, g := memberOf("p", "g"), &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g"}}
	pairs(func() *groups { return newGroups(mustSnapshot(t), nil, podgroup.Gates{}) },
		func(x *groups) { x.see(p, true) },
		func(x *groups) { x.place(p, true) },
		func(x *groups) { x.count(g) },
		func(x *groups) { x.countPlaced(g) },
	)
}

func TestCallsSideBySide(t *testing.T) {
	pairs(func() *calls {
		c := &calls{}
		c.enter(callee{})
		return c
	},
		func(c *calls) { c.enter(callee{}) },
		func(c *calls) { c.leave(1) },
		func(c *calls) { _ = c.hanging() },
	)
	p := assumedOn("p", "")
	pairs(func() *callTurn { return new(callTurn) },
		func(c *callTurn) { c.take(p) },
		func(c *callTurn) { c.end() },
	)
}

func TestObjectsSideBySide(t *testing.T) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c"}}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "s"}}
	space := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	pairs(func() *namespaces {
		n, err := newNamespaces(mustSnapshot(t))
		require.NoError(t, err)
		return n
	},
		func(n *namespaces) { n.set(space, false) },
		func(n *namespaces) { assert.NoError(t, n.setObject(claim, false)) },
		func(n *namespaces) { assert.NoError(t, n.setObject(slice, false)) },
		func(n *namespaces) { n.Namespaces() },
		func(n *namespaces) { n.ruleMatters(nil, &resourcev1beta2.DeviceTaintRule{}) },
		func(n *namespaces) { n.DeviceObjects().Claims.Get("default", "c") },
		func(n *namespaces) { n.DeviceObjects().Claims.In("default") },
		func(n *namespaces) { n.DeviceObjects().Claims.All() },
	)
}

func TestWaitingRoomSideBySide(t *testing.T) {
	p, now := assumedOn("p", "n1"), time.Now()
	pairs(func() *waitingRoom {
		r := newWaitingRoom()
		r.enter(p, map[string]time.Duration{"a": time.Second, "b": time.Minute}, now)
		r.leaving["left"] = true
		return r
	},
		func(r *waitingRoom) { r.enter(p, map[string]time.Duration{"a": time.Second}, now) },
		func(r *waitingRoom) { r.has(p.UID) },
		func(r *waitingRoom) { r.wait(p.UID, func(*Status) {}) },
		func(r *waitingRoom) { r.allow(p.UID, "a") },
		func(r *waitingRoom) { r.reject(p.UID, "a", "") },
		func(r *waitingRoom) { r.preempt(p.UID, "a", "") },
		func(r *waitingRoom) { r.leaves(p.UID) },
		func(r *waitingRoom) { r.left(p.UID) },
		func(r *waitingRoom) { r.next() },
		func(r *waitingRoom) { r.expire(now.Add(time.Hour)) },
		func(r *waitingRoom) { r.list() },
		func(r *waitingRoom) { r.pending(p.UID) },
	)
}

func TestQueueSideBySide(t *testing.T) {
	p, other := assumedOn("p", ""), assumedOn("other", "")
	pairs(func() *Queue {
		q := newTestQueue(t, WallClock{})
		require.NoError(t, q.Add(p))
		return q
	},
		func(q *Queue) { _ = q.Add(other) }, // an error when two do it
		func(q *Queue) { assert.NoError(t, q.Update(p, p)) },
		func(q *Queue) { q.Delete(other) },
		func(q *Queue) { q.TryPop() },
		func(q *Queue) { q.Nominate(p, queue.Nomination{Override: true, Node: "n1"}) },
		func(q *Queue) { q.NominatedFor("n1") },
		func(q *Queue) { q.nominated(p) },
		func(q *Queue) { q.Read(func(in *queue.Queue) { in.Nominations() }) },
		func(q *Queue) { q.Close() },
	)
}

func TestBindingSideBySide(t *testing.T) {
	p, victim := assumedOn("p", "n1"), assumedOn("victim", "n1")
	pairs(func() *Scheduler {
		s := newRig(t, Options{Clock: WallClock{}, Go: func(task func()) { task() }}, three(), victim).s
		s.enterBinding(context.Background(), p)
		return s
	},
		func(s *Scheduler) { s.enterBinding(context.Background(), assumedOn("other", "n1")) },
		func(s *Scheduler) { s.leaveBinding(p, false) },
		func(s *Scheduler) { s.cancel(p) },
		func(s *Scheduler) { s.roomBack(assumedOn("other", "n1")) },
		func(s *Scheduler) { s.onlyLastLeft(p, victim) },
		func(s *Scheduler) { (&defaultPreemption{adapterBase: adapterBase{h: &Handle{s: s}}}).PreEnqueue(p) },
		func(s *Scheduler) {
			s.beginPreemption(context.Background(), preemptor{pod: p}, &Nomination{Node: "n1", Victims: []*v1.Pod{victim}})
		},
		func(s *Scheduler) {
			dynamicResources{podFilter{nodeFilter{adapterBase: adapterBase{h: &Handle{s: s}}}}}.release(p)
		},
		func(s *Scheduler) {
			volumeBinding{podFilter: podFilter{nodeFilter{adapterBase: adapterBase{h: &Handle{s: s}}}}}.release(p)
		},
	)
}

// noMetrics are metrics that nobody reads.
type noMetrics struct{}

func (noMetrics) Add(string, float64, ...string)     {}
func (noMetrics) Set(string, float64, ...string)     {}
func (noMetrics) Observe(string, float64, ...string) {}

// A look at the cluster, the metrics and a scheduling cycle come one after the other.
func TestCyclesSideBySide(t *testing.T) {
	late := node("late")
	pairs(func() *Scheduler {
		r := newRig(t, Options{Clock: WallClock{}, Metrics: noMetrics{}, Go: func(func()) {}}, three())
		r.add(pod("p"))
		return r.s
	},
		func(s *Scheduler) {
			s.View(func(c *cluster.Snapshot) {
				assert.NoError(t, c.Set(late))
				assert.NoError(t, c.Remove(late))
			})
		},
		func(s *Scheduler) { s.Gauges() },
		func(s *Scheduler) { s.TryScheduleOne(context.Background()) },
	)
}
