package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

func assumedOn(name, node string) *v1.Pod {
	p := testkit.Pod("default/" + name).On(node).Request("cpu=1").Obj()
	p.UID = identified([]*v1.Pod{p})[0].UID
	return p
}

func TestCache(t *testing.T) { // W8.2
	fill := func() (*cache, *cluster.Snapshot) { return newCache(0), mustSnapshot(t) }
	pods := func(c *cache, s *cluster.Snapshot, node string) (n int) {
		_, err := c.refresh(s)
		require.NoError(t, err)
		for range s.Pods(s.Slot(node)) {
			n++
		}
		return n
	}
	set := func(c *cache, p *v1.Pod) (left *v1.Pod) {
		left, err := c.set(p)
		require.NoError(t, err)
		return left
	}
	t.Run("assume and forget", func(t *testing.T) {
		c, s := fill()
		p := assumedOn("p", "n1")
		require.NoError(t, c.assume(p))
		require.Equal(t, 1, pods(c, s, "n1"))
		require.EqualError(t, c.assume(p), "pod uid-default-p(default/p) is in the cache, so can't be assumed")
		require.NoError(t, c.forget(p))
		require.Zero(t, pods(c, s, "n1"))
		require.NoError(t, c.forget(p), "unknown is fine")
	})
	t.Run("no UID", func(t *testing.T) {
		c, _ := fill()
		p := testkit.Pod("default/p").On("n1").Obj()
		p.UID = ""
		_, unset := c.set(p)
		for _, err := range []error{c.assume(p), c.forget(p), unset} {
			require.EqualError(t, err, "cannot get cache key for pod with empty UID")
		}
	})
	t.Run("forget another node", func(t *testing.T) {
		c, _ := fill()
		require.NoError(t, c.assume(assumedOn("p", "n1")))
		require.EqualError(t, c.forget(assumedOn("p", "n2")), "pod uid-default-p(default/p) was assumed on n2 but assigned to n1")
	})
	t.Run("forget a confirmed pod", func(t *testing.T) {
		c, s := fill()
		p := assumedOn("p", "n1")
		require.NoError(t, c.assume(p))
		require.Nil(t, set(c, p))
		require.EqualError(t, c.forget(p), "pod uid-default-p(default/p) wasn't assumed so cannot be forgotten")
		require.Equal(t, 1, pods(c, s, "n1"))
	})
	t.Run("confirmed on another node", func(t *testing.T) {
		c, s := fill()
		require.NoError(t, c.assume(assumedOn("p", "n1")))
		require.Equal(t, "n1", set(c, assumedOn("p", "n2")).Spec.NodeName)
		require.Zero(t, pods(c, s, "n1"))
		require.Equal(t, 1, pods(c, s, "n2"))
		require.Nil(t, c.assumed("uid-default-p"))
	})
	t.Run("added, never assumed", func(t *testing.T) {
		c, s := fill()
		require.Nil(t, set(c, assumedOn("p", "n1")))
		require.Equal(t, 1, pods(c, s, "n1"))
		c.remove(assumedOn("p", "n1"))
		require.Zero(t, pods(c, s, "n1"))
	})
	t.Run("the node goes first", func(t *testing.T) {
		c, s := fill()
		p := assumedOn("p", "n1")
		require.NoError(t, c.assume(p))
		_, err := c.refresh(s)
		require.NoError(t, err)
		c.change(s.Node(s.Slot("n1")), true)
		require.NoError(t, c.forget(p))
		nodes, err := c.refresh(s)
		require.NoError(t, err)
		require.True(t, nodes)
		require.Equal(t, 2, len(s.Order()))
	})
	t.Run("pods stay when their node goes", func(t *testing.T) {
		c, s := fill()
		n, p := s.Node(s.Slot("n1")), assumedOn("p", "n1")
		require.Nil(t, set(c, p))
		require.Equal(t, 1, pods(c, s, "n1"))
		c.change(n, true)
		_, err := c.refresh(s)
		require.NoError(t, err)
		require.Equal(t, 2, len(s.Order()))
		c.change(n, false)
		require.Equal(t, 1, pods(c, s, "n1"), "the node came back")
		c.remove(p)
		require.Zero(t, pods(c, s, "n1"))
	})
	t.Run("expiry", func(t *testing.T) { // W8.3
		c, s := newCache(30*time.Second), mustSnapshot(t)
		now := time.Unix(1000, 0)
		p := assumedOn("p", "n1")
		require.NoError(t, c.assume(p))
		_, ok := c.next()
		require.False(t, ok, "not before the binding has finished")
		c.bound(p, now)
		at, ok := c.next()
		require.True(t, ok)
		require.Equal(t, now.Add(30*time.Second), at)
		require.Empty(t, c.overdue(at.Add(-1)))
		require.Len(t, c.overdue(at), 1)
		require.Empty(t, c.overdue(at), "it lives as long again")
		require.Len(t, c.overdue(at.Add(30*time.Second)), 1)
		require.Equal(t, 1, pods(c, s, "n1"))
	})
}

// An assumed pod whose binding is never seen expires if there is a time to live. By default it never expires.
func TestAssumeTTL(t *testing.T) { // W8.3
	for _, ttl := range []time.Duration{0, 30 * time.Second} {
		_, list := probes(1)
		p, reg := on(list, "-", Bind) // the API server binds without an event
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, AssumeTTL: ttl}, three())
		r.add(pod("p")).step()
		require.Equal(t, Scheduled, r.last().Outcome)
		r.clock.advance(time.Hour)
		r.s.Tick()
		if ttl == 0 {
			require.Equal(t, "p", r.on("n1"))
		} else {
			require.Empty(t, r.on("n1"))
			require.Len(t, r.errs, 1)
		}
	}
}

// The room of a pod that expires goes to a pod that waits for it.
func TestExpiryGivesRoom(t *testing.T) {
	_, list := probes(1)
	p, reg := on(list, Bind) // the API server binds without an event
	r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, AssumeTTL: 30 * time.Second}, []*v1.Node{node("n1")})
	large := func(name string) *v1.Pod { return testkit.Pod("default/" + name).Request("cpu=3").Obj() }
	waits := large("waits")
	r.add(large("p")).step()
	r.add(waits).step()
	require.Equal(t, queue.Unschedulable, r.place(waits))
	r.clock.advance(time.Minute)
	r.s.Tick()
	require.NotEqual(t, queue.Unschedulable, r.place(waits))
}

// A change of the cluster is seen by the next cycle and wakes the pods that wait for such a change.
func TestClusterEvents(t *testing.T) {
	t.Run("nodes", func(t *testing.T) {
		r := newRig(t, Options{}, []*v1.Node{node("n1")})
		p := testkit.Pod("default/p").NodeSelector("disk=ssd").Obj()
		r.add(p).step()
		require.Equal(t, queue.Unschedulable, r.place(p))
		n := node("n2")
		n.Labels["disk"] = "ssd"
		r.s.AddNode(n)
		require.Equal(t, queue.Backoff, r.place(p))
		r.step()
		require.Equal(t, "n2", r.last().Node)
		r.s.DeleteNode(n)
		q := testkit.Pod("default/q").NodeSelector("disk=ssd").Obj()
		r.add(q).step()
		require.Equal(t, queue.Unschedulable, r.place(q))
		ssd := node("n1")
		ssd.Labels["disk"] = "ssd"
		r.s.UpdateNode(node("n1"), ssd)
		r.step()
		require.Equal(t, "n1", r.last().Node)
	})
	t.Run("pods", func(t *testing.T) {
		r := newRig(t, Options{}, []*v1.Node{node("n1")})
		full := testkit.Pod("default/full").On("n1").Request("cpu=4").Obj()
		r.add(full)
		p := pod("p")
		r.add(p).step()
		require.Equal(t, queue.Unschedulable, r.place(p))
		done := *full
		done.Status.Phase = v1.PodSucceeded
		r.s.UpdatePod(full, &done)
		require.Equal(t, queue.Backoff, r.place(p), "a finished pod holds nothing")
		r.step()
		require.Equal(t, "n1", r.last().Node)
	})
	t.Run("bound by somebody else", func(t *testing.T) {
		r := newRig(t, Options{}, three())
		p := pod("p")
		r.add(p)
		c := *p
		c.Spec.NodeName = "n3"
		r.s.UpdatePod(p, &c)
		require.False(t, r.step())
		require.Equal(t, "p", r.on("n3"))
	})
	t.Run("a pod of another scheduler", func(t *testing.T) {
		r := newRig(t, Options{}, three())
		p := pod("p")
		p.Spec.SchedulerName, p.Status.NominatedNodeName = "other", "n1"
		r.add(p)
		require.NoError(t, r.change(p, func(old *v1.Pod) *v1.Pod {
			c := *old
			c.Labels, c.Status.NominatedNodeName = map[string]string{"a": "b"}, "n2"
			return &c
		}))
		require.Equal(t, queue.Nowhere, r.place(p))
		require.Empty(t, r.s.queue.NominatedFor("n2"), "it takes no room here")
		require.False(t, r.step())
		require.Empty(t, r.errs)
	})
	t.Run("an event that fails", func(t *testing.T) {
		r := newRig(t, Options{}, three())
		p := testkit.Pod("default/p").On("n1").Obj()
		p.UID = ""
		r.s.AddPod(p)
		require.Len(t, r.errs, 1)
		require.EqualError(t, r.errs[0], "PodAdd: cannot get cache key for pod with empty UID")
	})
	t.Run("an assumed pod is deleted", func(t *testing.T) { // W8.4
		r := newRig(t, Options{}, three())
		p := pod("p")
		r.add(p)
		require.True(t, r.s.TryScheduleOne(ctx))
		require.Equal(t, "p", r.on("n1"))
		require.NoError(t, r.Delete(ctx, p))
		require.Empty(t, r.on("n1"), "forgotten at once")
		r.work()
		require.Equal(t, SchedulingError, r.last().Outcome, "its binding goes on and fails")
		require.Empty(t, r.on("n1"))
		require.Equal(t, queue.Nowhere, r.place(p))
	})
	t.Run("an assumed pod gets a deletion timestamp while it waits", func(t *testing.T) {
		_, list := probes(1)
		list[0].answer[Permit], list[0].timeout = NewStatus(Wait), time.Hour
		r := bare(t, list, Permit)
		p := pod("p")
		r.add(p).step()
		now := metav1.Now()
		require.NoError(t, r.change(p, func(old *v1.Pod) *v1.Pod {
			c := *old
			c.DeletionTimestamp = &now
			return &c
		}))
		r.work()
		require.Contains(t, r.last().Message, "removed")
		require.Empty(t, r.on("n1"))
	})
	t.Run("namespaces reach the hints", func(t *testing.T) {
		r := newRig(t, Options{}, three())
		ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"a": "b"}}}
		r.s.Set(nil, ns)
		have := map[string]string(nil)
		for name, labels := range r.s.namespaces.Namespaces() {
			if name == "team" {
				have = labels
			}
		}
		require.Equal(t, ns.Labels, have)
		r.s.Remove(ns)
		for name := range r.s.namespaces.Namespaces() {
			require.NotEqual(t, "team", name)
		}
	})
	t.Run("claims wake their pods", func(t *testing.T) {
		r := newRig(t, Options{}, three())
		p := pod("p")
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		r.add(p).step()
		require.Equal(t, `0/3 nodes are available: persistentvolumeclaim "c" not found. not found`, r.last().Message)
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
		r.s.Set(nil, claim)
		require.Equal(t, queue.Backoff, r.place(p))
	})
}

// The cache is full with the thousandth change.
func TestCacheIsFull(t *testing.T) {
	c := newCache(0)
	for k := range 1000 {
		require.False(t, c.full(), k)
		c.later(func(*cluster.Snapshot) error { return nil })
	}
	require.True(t, c.full())
}

// A what-if has the node's pods without the removed and with the added. A pod that comes back after it left, or leaves after it came,
// is no change.
func TestNodeInfo(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: three(), Pods: []*v1.Pod{testkit.Pod("default/a").On("n1").Obj(), testkit.Pod("default/b").On("n1").Obj()}})
	require.NoError(t, err)
	n := &NodeInfo{Slot: s.Slot("n1"), snapshot: s}
	names := func() (out string) {
		for p := range n.Pods() {
			out += p.Name
		}
		return out
	}
	a, b, x, y := s.Pod("default", "a"), s.Pod("default", "b"), pod("x"), pod("y")
	require.False(t, n.Changed())
	for _, c := range []struct {
		do      func(*v1.Pod)
		pod     *v1.Pod
		names   string
		changed bool
	}{
		{n.add, x, "abx", true}, {n.remove, x, "ab", false},
		{n.add, x, "abx", true}, {n.add, y, "abxy", true}, {n.remove, y, "abx", true}, {n.remove, a, "bx", true}, {n.remove, x, "b", true},
		{n.remove, b, "", true}, {n.add, b, "b", true}, {n.add, a, "ab", false},
	} {
		c.do(c.pod)
		require.Equal(t, c.names, names())
		require.Equal(t, c.changed, n.Changed())
	}
	n.add(x)
	c := n.clone()
	c.add(y)
	c.remove(a)
	require.Equal(t, "abx", names(), "a clone changes alone")
}

// NodeInfos stay while no node changes, and show a node that was replaced.
func TestNodeListFollows(t *testing.T) {
	s := mustSnapshot(t)
	var l nodeList
	l.follow(s, true)
	before := l.named("n1")
	l.follow(s, false)
	require.Same(t, before, l.named("n1"))
	changed := node("n1")
	changed.Labels = map[string]string{"a": "b"}
	require.NoError(t, s.Set(changed))
	l.follow(s, true)
	require.Equal(t, "b", l.named("n1").Node.Labels["a"])
	require.NoError(t, s.Set(node("n4")))
	l.follow(s, false)
	require.NotNil(t, l.named("n4"), "a node more needs no hint")
}

// A pod on a node that the cluster does not have leaves the cluster when it is forgotten.
func TestForgetsOrphan(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: three()})
	require.NoError(t, err)
	c := newCache(0)
	x := identified([]*v1.Pod{testkit.Pod("default/p").On("gone").Obj(), testkit.Pod("default/q").On("gone").Obj()})
	for _, p := range x {
		require.NoError(t, c.assume(p))
	}
	_, err = c.refresh(s)
	require.NoError(t, err)
	require.Len(t, s.Orphans(), 2)
	require.NoError(t, c.forget(x[0]))
	_, err = c.refresh(s)
	require.NoError(t, err)
	require.Len(t, s.Orphans(), 1)
	require.Equal(t, "q", s.Orphans()[0].Name)
}

// Pods expire in the order of their names, whatever order a map has.
func TestExpiryInOrder(t *testing.T) {
	c, now := newCache(30*time.Second), time.Unix(1000, 0)
	var want []string
	for k := range 30 {
		p := assumedOn(fmt.Sprintf("p%02d", k), "n1")
		require.NoError(t, c.assume(p))
		c.bound(p, now)
		want = append(want, p.Name)
	}
	for _, at := range []time.Time{now.Add(30 * time.Second), now.Add(time.Minute)} {
		var got []string
		for _, p := range c.overdue(at) {
			got = append(got, p.Name)
		}
		require.Equal(t, want, got)
	}
}
