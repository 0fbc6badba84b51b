package queue

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// An event touches the pods that wait for it and no others, counted in a queue of 3,000 pods of three profiles: those that
// are looked at, those whose hint is asked, and those whose gate is asked. Who waits for it is worked out pod by pod.
func TestEventsTouchOnlyPodsThatWait(t *testing.T) {
	plugins := []string{"P", "Q", "R", "S", "x", "y"}
	regs := []Registration{
		{"P", Event{"Node", Add | UpdateNodeLabel, ""}, nil}, {"P", Event{"Pod", Delete, ""}, nil},
		{"Q", Event{"Node", UpdateNodeAllocatable, ""}, nil}, {"Q", Event{"storage.k8s.io/CSINode", Update, ""}, nil},
		{"R", Event{"Pod", UpdatePodLabel, ""}, nil}, // S waits for nothing
		{"x", Event{"Node", UpdateNodeAnnotation, ""}, nil}, {"x", Event{"Node", Add, ""}, nil}, {"y", Event{"PersistentVolume", Update, ""}, nil},
	}
	asked, opened := map[string]int{}, map[string]int{}
	for i := range regs {
		plugin := regs[i].Plugin
		regs[i].Hint = func(p *v1.Pod, _, _ any) (bool, error) { asked[plugin+" "+p.Name]++; return false, nil }
	}
	gate := func(name string) Gate {
		return Gate{name, func(p *v1.Pod) GateVerdict {
			opened[p.Name]++
			return GateVerdict{Refuse: p.Labels["gate"] == name}
		}}
	}
	q, err := New(Options{ExactRegistrations: true, Profiles: map[string]Profile{
		"p": {Gates: []Gate{gate("x"), gate("y")}, Events: regs}, "other": {Events: regs[:3]}}})
	require.NoError(t, err)
	rnd := rand.New(rand.NewSource(1))
	rejecters := map[string][]string{}
	for i := range 3000 {
		p := testkit.Pod(fmt.Sprint("pod", i)).Labels("gate=" + []string{"", "", "", "x", "y"}[rnd.Intn(5)]).Obj()
		p.Spec.SchedulerName = []string{"p", "p", "other", "nobody's"}[rnd.Intn(4)]
		_, err := q.Add(p, noon)
		require.NoError(t, err)
		e, _ := q.Pop(noon)
		if e == nil {
			continue // gated
		}
		var by []string
		for _, n := range plugins[:4] {
			if rnd.Intn(3) == 0 {
				by = append(by, n)
			}
		}
		if len(by) == 0 {
			by = []string{"S"}
		}
		rejecters[p.Name] = by
		_, err = q.Return(e, Failure{Rejecters: by}, noon)
		require.NoError(t, err)
	}
	waits := func(name string, e *Entry, arriving Event) bool {
		for _, r := range regs {
			if r.Plugin != name || !r.Event.matches(arriving) {
				continue
			}
			if s := e.Pod.Spec.SchedulerName; s == "p" || s == "other" && (name == "P" || name == "Q" && r.Event.Resource == nodeKind) {
				return true
			}
		}
		return false
	}
	touched := map[string]int{}
	for _, arriving := range []Event{nodeAdd, {"Node", UpdateNodeLabel, ""}, {"Node", UpdateNodeAllocatable, ""}, {"Node", UpdateNodeCondition, ""},
		{"Node", UpdateNodeAnnotation, ""}, assignedPodDelete, {"AssignedPod", UpdatePodLabel, ""}, {"storage.k8s.io/CSINode", Update, ""}, {"PersistentVolume", Update, ""}} {
		want, wantAsked := map[string]bool{}, map[string]int{}
		for _, e := range q.entries {
			interested := e.GatingPlugin != "" && waits(e.GatingPlugin, e, arriving)
			if e.GatingPlugin == "" {
				interested = e.Pod.Spec.SchedulerName == "nobody's" && q.interesting(arriving)
				for _, name := range rejecters[e.Pod.Name] {
					if waits(name, e, arriving) {
						interested = true
						wantAsked[name+" "+e.Pod.Name]++
					}
				}
			} else if interested {
				wantAsked[e.GatingPlugin+" "+e.Pod.Name]++
			}
			if interested {
				want[e.Pod.Name] = true
			}
		}
		clear(asked)
		clear(opened)
		before := q.sweeps
		q.Move(Change{Event: arriving, PreCheck: func(p *v1.Pod) bool { return p.Spec.SchedulerName != "nobody's" }}, noon)
		seen := map[string]bool{}
		for _, e := range q.entries {
			if e.visited > before {
				seen[e.Pod.Name] = true
			}
		}
		require.Equal(t, want, seen, "%v looks at", arriving)
		require.Equal(t, wantAsked, asked, "%v asks the hints of", arriving)
		require.Empty(t, opened, "a gate is asked when a hint wants the pod")
		touched[arriving.String()] = len(seen)
	}
	require.Zero(t, touched["NodeUpdateNodeCondition"])
	require.NotZero(t, touched["NodeUpdateNodeAnnotation"], "gated pods")
	require.Less(t, touched["storage.k8s.io/CSINodeUpdate"], 1500)
	require.Greater(t, touched["storage.k8s.io/CSINodeUpdate"], 500)
}

func TestWaiting(t *testing.T) {
	t.Run("a gate that hears the event is asked when a hint wants the pod", func(t *testing.T) {
		asked := 0
		g := Gate{"g", func(*v1.Pod) GateVerdict { asked++; return GateVerdict{Refuse: true} }}
		helps := false
		r := newRig(t, Options{Profiles: map[string]Profile{defaultScheduler: {Gates: []Gate{g}, Events: []Registration{
			{"g", Event{"Node", Add, ""}, func(*v1.Pod, any, any) (bool, error) { return helps, nil }}}}}})
		r.add("a")
		require.Equal(t, 1, asked)
		r.event(nodeAdd)
		require.Equal(t, 1, asked, "its hint says Skip")
		helps = true
		r.event(nodeAdd)
		require.Equal(t, 2, asked)
	})
	t.Run("an update of an unknown pod asks the gates", func(t *testing.T) {
		r := newRig(t, Options{})
		r.shut["x a"] = true
		require.Equal(t, []string{"default/a: nowhere -> gated (UnscheduledPodAdd, x)"}, lines(r.update("a", func(*v1.Pod) {})))
	})
	t.Run("an update's events in their order until one moves the pod", func(t *testing.T) {
		var asked []string
		note := func(label string, yes bool) Hint {
			return func(*v1.Pod, any, any) (bool, error) { asked = append(asked, label); return yes, nil }
		}
		r := newRig(t, Options{Profiles: map[string]Profile{defaultScheduler: {Events: []Registration{
			{"P", Event{"Pod", UpdatePodToleration, ""}, note("toleration", true)},
			{"P", Event{"Pod", UpdatePodScaleDown, ""}, note("scale-down", true)},
			{"P", Event{"Pod", UpdatePodLabel, ""}, note("label", false)},
		}}}})
		r.pods["a"] = testkit.Pod("a").Request("cpu=2").Obj()
		r.try("P", "a")
		moves := r.update("a", func(p *v1.Pod) {
			p.Labels = map[string]string{"k": "v"}
			p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=1")
			p.Spec.Tolerations = []v1.Toleration{{Key: "k"}}
		})
		require.Equal(t, []string{"default/a: unschedulable -> backoff (TargetPodUpdatePodScaleDown, P)"}, lines(moves))
		require.Equal(t, []string{"label", "scale-down"}, asked)
	})
	t.Run("pods that come and go unassigned wake nobody", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("R", "a") // R hears every update of pods
		r.add("b")
		r.q.Delete(r.pod("b"))
		r.is(Unschedulable, "a")
		require.Empty(t, r.asked)
	})
	t.Run("an activation in flight concerns that pod alone", func(t *testing.T) {
		r := newRig(t, Options{})
		r.add("a", "b")
		r.pop()
		r.pop()
		r.q.Activate(r.now, r.pod("a"))
		r.fail("a", "S")
		r.fail("b", "S")
		r.is(Backoff, "a")
		r.is(Unschedulable, "b")
	})
	t.Run("hints see the queued version and at a return the refreshed one", func(t *testing.T) {
		var seen []*v1.Pod
		var objects []any
		hint := func(p *v1.Pod, old, new any) (bool, error) {
			seen, objects = append(seen, p), append(objects, old, new)
			return false, nil
		}
		r := newRig(t, Options{Profiles: map[string]Profile{defaultScheduler: {Events: []Registration{{"P", Event{"Node", Add | Delete, ""}, hint}}}}})
		r.try("P", "a")
		r.update("a", func(p *v1.Pod) { p.Annotations = map[string]string{"k": "v"} })
		queued, node := r.pod("a"), testkit.Node("n").Obj()
		r.q.Move(Change{Event: nodeAdd, New: node}, r.now)
		r.q.Move(Change{Event: Event{"Node", Delete, ""}, Old: node}, r.now)
		require.Equal(t, []any{nil, node, node, nil}, objects, "an addition has no old object, a deletion no new object")
		r.q.Activate(r.now, queued)
		r.pop()
		r.q.Move(Change{Event: nodeAdd, New: node}, r.now)
		fresh := queued.DeepCopy()
		_, err := r.q.Return(r.held["a"], Failure{Rejecters: []string{"P"}, Pod: fresh}, r.now)
		require.NoError(t, err)
		require.Len(t, seen, 3)
		require.Same(t, queued, seen[0])
		require.Same(t, queued, seen[1])
		require.Same(t, fresh, seen[2])
	})
	t.Run("a plugin that registers nothing is never woken by events", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "a")
		for bit := Add; bit <= UpdatePodGeneratedResourceClaim; bit <<= 1 {
			for _, kind := range []string{"Node", "AssignedPod", "UnschedulablePod", "storage.k8s.io/CSINode", "PersistentVolume"} {
				require.Empty(t, r.event(Event{kind, bit, ""}))
			}
		}
		r.event(unschedulableTimeout)
		r.is(Backoff, "a")
	})
	t.Run("counters take every move request", func(t *testing.T) {
		r := counterRig(t)
		r.add("a")
		r.pop()
		r.event(Event{"resource.k8s.io/ResourceClaim", Add, ""}) // nobody registered it
		r.giveBack("a", "Fit")
		r.is(Backoff, "a")
	})
	t.Run("a flush of nothing concerns nobody", func(t *testing.T) {
		r := newRig(t, Options{})
		r.try("S", "young")
		r.add("a")
		r.pop()
		r.at(time.Minute)
		require.Empty(t, r.q.flushLeftovers(r.now))
		r.fail("a", "S")
		r.is(Unschedulable, "a")
	})
}
