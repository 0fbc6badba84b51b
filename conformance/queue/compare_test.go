package queue_test

import (
	"fmt"
	"slices"
	"sort"
	"time"
	_ "unsafe" // for linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	realqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/queue"
)

// Goroutines of the real queue run its two flushes by its clock. The test calls the flushes at known moments. flushLeftover is with
// the version.

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(*realqueue.PriorityQueue, klog.Logger)

// Advance runs podberth's two flushes. The test also calls each flush alone.

//go:linkname ourFlushBackoff github.com/podberth/podberth/queue.(*Queue).flushBackoff
func ourFlushBackoff(q *queue.Queue, now time.Time)

//go:linkname ourFlushLeftover github.com/podberth/podberth/queue.(*Queue).flushLeftover
func ourFlushLeftover(q *queue.Queue, at, now time.Time)

// compare checks that every pod has the same place and history on both sides.
func (w *world) compare() error {
	places := map[string]queue.Place{}
	flying := []string{}
	var counts [4]int
	for _, s := range w.q.All(w.now()) {
		if s.Place == queue.InFlight {
			flying = append(flying, string(s.Pod.UID))
			continue
		}
		places[string(s.Pod.UID)] = s.Place
	}
	real := map[string]string{}
	for where, list := range map[string][]*v1.Pod{"active": w.real.PodsInActiveQ(), "backoff": w.real.PodsInBackoffQ(), "unschedulable": w.real.UnschedulablePods()} {
		for _, p := range list {
			if old, twice := real[string(p.UID)]; twice {
				return fmt.Errorf("the real queue has %s twice, %s and %s", p.UID, old, where)
			}
			real[string(p.UID)] = where
			entry, ok := w.q.Lookup(p)
			if !ok {
				return fmt.Errorf("%s: real %s, podberth has none", p.UID, where)
			}
			if got := broad(entry.Place()); got != where {
				return fmt.Errorf("%s: real %s, podberth %v", p.UID, where, entry.Place())
			}
			info, ok := lookUp(w.real, p)
			if !ok {
				return fmt.Errorf("%s: the real queue lists but does not know it", p.UID)
			}
			if entry.GatingPlugin != info.GatingPlugin && w.shut["A"+p.Name] && w.shut["B"+p.Name] {
				w.random = true
				return nil
			}
			if (entry.Place() == queue.Gated) != info.Gated() {
				return fmt.Errorf("%s: real gated %v, podberth %v", p.UID, info.Gated(), entry.Place())
			}
			if err := same(entry, info); err != nil {
				return err
			}
		}
	}
	if len(real) != len(places) {
		return fmt.Errorf("real has %v, podberth %v", real, places)
	}
	for _, p := range places {
		counts[slices.Index([]string{"active", "backoff", "unschedulable"}, broad(p))]++
	}
	if !w.closed { // a closed queue forgets the pods in flight, on both sides
		var got []string
		for _, p := range w.real.InFlightPods() {
			got = append(got, string(p.UID))
		}
		sort.Strings(got)
		sort.Strings(flying)
		if !slices.Equal(got, flying) {
			return fmt.Errorf("in flight: real %v, podberth %v", got, flying)
		}
	}
	for _, node := range []string{"n1", "n2"} {
		var a, b []string
		for _, p := range w.real.NominatedPodsForNode(node) {
			a = append(a, describe(p.GetPod()))
		}
		for _, p := range w.q.NominatedFor(node) {
			b = append(b, describe(p))
		}
		if w.mixed { // the real queue nominated several pods in a random order
			slices.Sort(a)
			slices.Sort(b)
		}
		if !slices.Equal(a, b) {
			return fmt.Errorf("nominated to %s: real %v, podberth %v", node, a, b)
		}
		if len(a) > 0 {
			w.Count("nominations seen")
		}
	}
	return nil
}

func describe(p *v1.Pod) string {
	return fmt.Sprintf("%s %d %s", p.UID, len(p.Spec.Containers), p.ResourceVersion)
}

func broad(p queue.Place) string {
	switch p {
	case queue.Active:
		return "active"
	case queue.Backoff, queue.ErrorBackoff:
		return "backoff"
	case queue.Unschedulable, queue.Gated:
		return "unschedulable"
	}
	return p.String()
}

// same compares the histories of a pod.
func same(e *queue.Entry, i *framework.QueuedPodInfo) error {
	initial := e.InitialAttemptTimestamp
	a := fmt.Sprint(i.Pod.UID, i.Pod.ResourceVersion, i.Timestamp, i.Attempts, i.UnschedulableCount, i.ConsecutiveErrorsCount, i.WasFlushedFromUnschedulable,
		i.GatingPlugin, sets.List(i.UnschedulablePlugins.Union(i.PendingPlugins)), sets.List(i.PendingPlugins), i.InitialAttemptTimestamp)
	b := fmt.Sprint(e.Pod.UID, e.Pod.ResourceVersion, e.Timestamp, e.Attempts, e.UnschedulableCount, e.ConsecutiveErrorsCount, e.WasFlushed,
		e.GatingPlugin, sets.List(sets.New(e.Rejecters...).Insert(e.PendingPlugins...)), sets.List(sets.New(e.PendingPlugins...)), nil)
	if i.InitialAttemptTimestamp != nil || !initial.IsZero() {
		b = b[:len(b)-len("<nil>")] + fmt.Sprint(&initial)
	}
	if a != b {
		return fmt.Errorf("%s: history differs\nreal     %s\npodberth %s", i.Pod.UID, a, b)
	}
	if !i.BackoffExpiration.IsZero() && !i.BackoffExpiration.Equal(e.BackoffExpiration) {
		return fmt.Errorf("%s: backoff ends: real %v, podberth %v", i.Pod.UID, i.BackoffExpiration, e.BackoffExpiration)
	}
	return nil
}
