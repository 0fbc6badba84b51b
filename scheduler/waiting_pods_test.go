package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// Waiting pods are listed by namespace, then by name.
func TestWaitingPodsByName(t *testing.T) {
	r := newWaitingRoom()
	for _, name := range []string{"b/a", "a/b", "a/a", "b/b"} {
		p := testkit.Pod(name).Obj()
		p.UID = types.UID(name)
		r.enter(p, nil, time.Time{})
	}
	var names []string
	for _, p := range r.list() {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	require.Equal(t, []string{"a/a", "a/b", "b/a", "b/b"}, names)
}

// A pod rejected on Permit says which plugin rejected it, and why.
func TestRejectedOnPermit(t *testing.T) {
	_, list := probes(1)
	list[0].answer[Permit], list[0].timeout = NewStatus(Wait), time.Hour
	p, reg := on(list, Permit)
	var h *Handle
	reg["A"] = func(_ any, handle *Handle) (Plugin, error) { h = handle; return list[0], nil }
	r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, three())
	x := pod("p")
	r.add(x).step()
	require.True(t, h.Reject(x.UID, "A", "not today"))
	r.work()
	require.Equal(t, "0/1 nodes are available: 1 not today.", r.last().Message)
	var e *queue.Entry
	r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(x) })
	require.Equal(t, []string{"A"}, e.Rejecters)
}

// A victim that waits on Permit is rejected by DefaultPreemption; since v1.36 with an error, so that it is tried again soon.
func TestStopWaiting(t *testing.T) {
	type test struct {
		name    string
		release release.Version
		code    Code
		message string
	}
	testkit.Run(t, []test{
		{"v1.35", release.V1_35, Unschedulable, "preempted"},
		{"v1.36", release.V1_36, Error, "waiting on permit for pod: preempted"},
	}, func(t *testing.T, c test) {
		s := &Scheduler{waiting: newWaitingRoom(), o: Options{Release: c.release}}
		p := identified([]*v1.Pod{pod("p")})[0]
		require.False(t, s.stopWaiting(p), "it does not wait")
		s.waiting.enter(p, map[string]time.Duration{"A": time.Hour}, time.Time{})
		require.True(t, s.stopWaiting(p))
		var out *Status
		s.waiting.wait(p.UID, func(st *Status) { out = st })
		require.Equal(t, c.code, out.Code())
		require.Equal(t, c.message, out.Message())
		require.Equal(t, nameDefaultPreemption, out.Plugin())
	})
}
