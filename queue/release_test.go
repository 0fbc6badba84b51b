package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// inEach runs a test in each release.
func inEach(t *testing.T, name string, f func(t *testing.T, v release.Version)) {
	t.Run(name, func(t *testing.T) {
		for _, v := range release.Versions() {
			t.Run(v.String(), func(t *testing.T) { f(t, v) })
		}
	})
}

func TestReleases(t *testing.T) {
	inEach(t, "L7.1", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v, Profiles: map[string]Profile{defaultScheduler: {Events: DefaultEvents(map[string]Hint{"NodeResourcesFit": neverHelps}, v)}}})
		r.try("NodeResourcesFit", "a")
		moves := r.q.Move(Change{Event: Event{Resource: "Node", Action: UpdateNodeTaint}, Old: &v1.Node{}, New: &v1.Node{}}, r.now)
		require.Equal(t, !v.AtLeast(release.V1_37), len(moves) > 0, "the taints of a node change")
	})
	inEach(t, "L7.2", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		r.shut["x a"] = true
		r.add("a")
		r.shut["x a"] = false
		r.at(6 * time.Minute)
		r.q.Advance(r.now)
		if v.AtLeast(release.V1_37) {
			r.is(Active, "a")
		} else {
			r.is(Gated, "a")
		}
	})
	inEach(t, "L7.2 flushed", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v, FlushGated: true})
		r.try("P", "a")
		r.shut["x a"] = true
		r.at(6 * time.Minute)
		r.q.Advance(r.now)
		r.is(Gated, "a")
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, !v.AtLeast(release.V1_37), e.WasFlushed, "the mark of a pod that its gate kept")
	})
	inEach(t, "L7.2 wildcard", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		r.shut["x a"] = true
		r.add("a")
		r.shut["x a"] = false
		r.q.Move(Change{Event: unschedulableTimeout}, r.now)
		if v.AtLeast(release.V1_37) {
			r.is(Active, "a")
		} else {
			r.is(Gated, "a")
		}
	})
	inEach(t, "L7.3", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v, FlushGated: true})
		r.shut["x a"] = true
		r.add("a")
		asked := 0
		for m := 1; m <= 20; m++ {
			r.at(time.Duration(m) * 30 * time.Second)
			before := r.gates["x a"]
			r.q.Advance(r.now)
			if r.gates["x a"] > before {
				asked++
			}
		}
		if v.AtLeast(release.V1_37) {
			require.Equal(t, 1, asked, "5.5 minutes after it came; the next time is at 11 minutes")
		} else {
			require.Equal(t, 10, asked, "at every flush after 5 minutes")
		}
	})
	inEach(t, "L7.4", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		p := r.pod("a")
		p.Status.NominatedNodeName = "n1"
		r.shut["x a"] = true
		r.add("a")
		require.Len(t, r.q.NominatedFor("n1"), map[bool]int{true: 1}[v.AtLeast(release.V1_37)])
	})
	inEach(t, "L7.5", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		r.try("P", "a")
		r.at(time.Minute)
		e, _ := r.q.PopPod(r.pod("a"), r.now)
		require.NotNil(t, e)
		require.Equal(t, v.AtLeast(release.V1_36), len(e.Rejecters) > 0)
	})
	inEach(t, "L7.6", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		r.add("a")
		r.fail(r.pop())
		r.is(ErrorBackoff, "a")
		r.shut["x a"] = true
		r.q.Activate(r.now, r.pod("a"))
		if v.AtLeast(release.V1_35) {
			r.is(Active, "a")
		} else {
			r.is(Gated, "a")
		}
	})
	inEach(t, "L7.11", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		r.try("P", "a")
		r.update("a", func(p *v1.Pod) { p.UID = "other"; p.Annotations = map[string]string{"a": "b"} })
		e, _ := r.q.Lookup(r.pod("a"))
		require.Equal(t, v.AtLeast(release.V1_37), e.UnschedulableCount == 0)
	})
	inEach(t, "L7.12", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v, Profiles: map[string]Profile{defaultScheduler: {Events: []Registration{{"P", Event{Resource: "Pod", Action: UpdatePodLabel}, nil}}}}})
		added, own := "UnschedulablePodAdd", "UnschedulablePodUpdatePodLabel"
		if v.AtLeast(release.V1_37) {
			added, own = "UnscheduledPodAdd", "TargetPodUpdatePodLabel"
		}
		require.Equal(t, []string{"default/a: nowhere -> active (" + added + ")"}, lines(r.add("a")))
		r.fail(r.pop(), "P")
		require.Equal(t, []string{"default/a: unschedulable -> backoff (" + own + ", P)"}, lines(r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} })))
	})
	inEach(t, "L7.12 unknown", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		list, err := r.q.Update(r.pod("a"), r.pod("a"), r.now)
		require.NoError(t, err)
		require.Equal(t, map[bool]string{false: "UnschedulablePodUpdate", true: "UnscheduledPodAdd"}[v.AtLeast(release.V1_37)], list[0].Reason)
	})
	inEach(t, "L7.12 growth", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v, Profiles: map[string]Profile{defaultScheduler: {Events: []Registration{{"P", Event{Resource: "Pod", Action: Update}, nil}}}}})
		r.try("P", "a")
		list := r.update("a", func(p *v1.Pod) {
			p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=64")}}}
		})
		require.Equal(t, map[bool]string{false: "UnschedulablePodUpdate", true: "TargetPodUpdatePodScaleUp"}[v.AtLeast(release.V1_37)], list[0].Reason)
	})
	inEach(t, "L7.12 kinds", func(t *testing.T, v release.Version) {
		for kind, others := range map[string]bool{targetPod: false, unscheduledPod: true} {
			o := Options{Release: v, Profiles: map[string]Profile{defaultScheduler: {Events: []Registration{{"P", Event{Resource: kind, Action: All}, nil}}}}}
			if !v.AtLeast(release.V1_37) {
				_, err := New(o)
				require.ErrorContains(t, err, kind)
				continue
			}
			r := newRig(t, o)
			r.try("P", "a")
			r.q.Move(Change{Event: Event{Resource: unscheduledPod, Action: Add}, New: r.pod("b")}, r.now)
			if others {
				r.is(Backoff, "a")
				continue
			}
			r.is(Unschedulable, "a")
			r.update("a", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} })
			r.is(Backoff, "a")
		}
	})
	inEach(t, "L7.16", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v, Profiles: map[string]Profile{defaultScheduler: {Events: DefaultEvents(nil, v)}}})
		r.try("DynamicResources", "a")
		moves := r.q.Move(Change{Event: Event{Resource: resourceClaim, Action: Delete}, Old: &v1.Node{}}, r.now)
		require.Equal(t, v.AtLeast(release.V1_37), len(moves) > 0, "a claim is deleted")
	})
	inEach(t, "L7.17", func(t *testing.T, v release.Version) {
		for _, plugin := range []string{"TaintToleration", "PodTopologySpread"} {
			hints := map[string]Hint{plugin: sameUpdatedPod}
			r := newRig(t, Options{Release: v, Profiles: map[string]Profile{defaultScheduler: {Events: DefaultEvents(hints, v)}}})
			r.add("a")
			r.add("b")
			a, b := r.held[r.pop()], r.held[r.pop()]
			r.update(b.Pod.Name, func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: "k"}} })
			_, err := r.q.Return(a, Failure{Rejecters: []string{plugin}}, r.now)
			require.NoError(t, err)
			if v.AtLeast(release.V1_37) {
				r.is(Backoff, a.Pod.Name)
			} else {
				r.is(Unschedulable, a.Pod.Name)
			}
		}
	})
	inEach(t, "default events", func(t *testing.T, v release.Version) {
		got := map[string]bool{}
		for _, r := range DefaultEvents(nil, v) {
			got[r.Plugin+" "+r.Event.Resource] = true
		}
		require.Equal(t, v.AtLeast(release.V1_36), got["NodeResourcesFit "+deviceClass], "L3.3")
		require.Equal(t, v.AtLeast(release.V1_36), got["NodeDeclaredFeatures Node"], "L2.2")
		require.Equal(t, !v.AtLeast(release.V1_37), got["NodePorts Pod"], "L7.12")
		require.Equal(t, v.AtLeast(release.V1_37), got["NodePorts AssignedPod"], "L7.12")
	})
	inEach(t, "L9.4", func(t *testing.T, v release.Version) {
		r := newRig(t, Options{Release: v})
		r.add("a")
		e := r.held[r.pop()]
		other := r.pod("a").DeepCopy()
		other.UID = "other"
		_, err := r.q.Return(e, Failure{Pod: other, Rejecters: []string{"P"}}, r.now)
		require.Equal(t, v.AtLeast(release.V1_36), err != nil)
		require.Nil(t, r.q.flightOf(e.Pod))
	})
}
