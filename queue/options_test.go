package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// A kind of an event is one of the package or plural.version.group, and its action a mask of the thirteen bits.
func TestRegisteredKinds(t *testing.T) {
	errs := func(e Event) string {
		list := Options{Profiles: map[string]Profile{"p": {Events: []Registration{{"P", e, nil}}}}}.validate(nil)
		if len(list) == 0 {
			return ""
		}
		require.Len(t, list, 1)
		return list[0].Error()
	}
	const kind, action = "profiles[p].events[0].event.resource: ", "profiles[p].events[0].event.action: "
	for resource, want := range map[string]string{"Node": "", "*": "", "foos.v1.group": "", "foos.v1.example.com": "",
		"foos.v1": kind + `Invalid value: "foos.v1": must be a resource of this package or plural.version.group (plugin P)`, "": kind + "Required value: a kind, or \"*\" (plugin P)"} {
		require.Equal(t, want, errs(Event{Resource: resource, Action: Add}), resource)
	}
	for mask, want := range map[Action]string{1: "", 8191: "", 0: action + "Invalid value: 0: must be a mask from 1 to 8191 (plugin P)",
		-1: action + "Invalid value: -1: must be a mask from 1 to 8191 (plugin P)", 8192: action + "Invalid value: 8192: must be a mask from 1 to 8191 (plugin P)"} {
		require.Equal(t, want, errs(Event{Resource: "Node", Action: mask}), mask)
	}
}

// The ends of the durations: zero is the default or no backoff, an initial backoff may be as long as the longest.
func TestDurationsOfOptions(t *testing.T) {
	valid := func(o Options) bool { return len(o.validate(nil)) == 0 }
	require.True(t, valid(Options{}))
	require.True(t, valid(Options{InitialBackoff: 1, MaxBackoff: ptr(time.Duration(1)), Leftover: 1, LeftoverPeriod: 1}))
	require.True(t, valid(Options{InitialBackoff: time.Hour, MaxBackoff: new(time.Duration)}))
	require.False(t, valid(Options{InitialBackoff: 2, MaxBackoff: ptr(time.Duration(1))}))
	for _, o := range []Options{{InitialBackoff: -1}, {MaxBackoff: ptr(time.Duration(-1))}, {Leftover: -1}, {LeftoverPeriod: -1}} {
		require.False(t, valid(o), "%+v", o)
	}
}

// Whatever call comes first starts the clock of the leftover flushes.
func TestFirstCallStartsTheClock(t *testing.T) {
	for name, call := range map[string]func(r *rig){
		"Move": func(r *rig) { r.event(nodeAdd) }, "Advance": func(r *rig) { r.q.Advance(r.now) }, "Pop": func(r *rig) { r.pop() },
		"PopPod": func(r *rig) { r.q.PopPod(r.pod("b"), r.now) }, "Activate": func(r *rig) { r.q.Activate(r.now) },
		"Add": func(r *rig) { r.add("b"); r.q.Delete(r.pod("b")) }, "Update": func(r *rig) { r.update("b", func(*v1.Pod) {}); r.q.Delete(r.pod("b")) },
		"Return": func(r *rig) {
			_, err := r.q.Return(&Entry{Pod: r.pod("b")}, Failure{}, r.now)
			require.NoError(r.t, err)
			r.q.Delete(r.pod("b"))
		},
	} {
		r := newRig(t, Options{})
		call(r)
		r.at(10 * time.Second)
		r.try("S", "a")
		next, ok := r.q.Next(r.now)
		require.True(t, ok, name)
		require.Equal(t, noon.Add(5*time.Minute+30*time.Second), next, name)
	}
}

// A hint of v1.37 is asked about the waiting pod that changed; PodTopologySpread's keeps the pod and sees its constraints.
func TestHintsAboutTheTarget(t *testing.T) {
	waiting, changed := testkit.Pod("waiting").Obj(), testkit.Pod("changed").Labels("a=b").Obj()
	var pod *v1.Pod
	var seen any
	hint := func(p *v1.Pod, _, new any) (bool, error) {
		pod, seen = p, new
		return true, errBroken
	}
	ask := func(plugin, kind string, p *v1.Pod, new any) {
		yes, err := hintOf(plugin, Event{Resource: kind, Action: Update}, hint)(p, nil, new)
		require.True(t, yes)
		require.ErrorIs(t, err, errBroken)
	}
	ask("P", assignedPod, waiting, changed)
	require.Same(t, waiting, pod)
	require.Same(t, changed, seen)
	ask("P", targetPod, waiting, changed)
	require.Same(t, changed, pod)
	require.Same(t, changed, seen)
	ask("PodTopologySpread", targetPod, waiting, changed)
	require.Same(t, waiting, pod)
	require.Equal(t, waiting.UID, seen.(*v1.Pod).UID)
	require.Equal(t, changed.Labels, seen.(*v1.Pod).Labels)
	require.NotEqual(t, waiting.UID, changed.UID, "the change itself stays")
	for _, plugin := range []string{"P", "PodTopologySpread"} {
		for _, new := range []any{nil, (*v1.Pod)(nil), &v1.Node{}, waiting} {
			ask(plugin, targetPod, waiting, new)
			require.Same(t, waiting, pod)
			require.Equal(t, new, seen)
		}
		ask(plugin, targetPod, nil, changed)
		require.Nil(t, pod)
	}
	require.Nil(t, hintOf("P", Event{Resource: targetPod}, nil))
}

// Up to v1.28 an update changes nothing for a waiting pod when only fields of bookkeeping differ.
func TestSameSpec(t *testing.T) {
	base := testkit.Pod("a").Labels("a=b").Obj()
	for name, c := range map[string]struct {
		change func(p *v1.Pod)
		want   bool
	}{
		"nothing":          {func(*v1.Pod) {}, true},
		"resource version": {func(p *v1.Pod) { p.ResourceVersion = "2" }, true},
		"generation":       {func(p *v1.Pod) { p.Generation = 2 }, true},
		"managed fields":   {func(p *v1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{{}} }, true},
		"finalizers":       {func(p *v1.Pod) { p.Finalizers = []string{"f"} }, true},
		"status":           {func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }, true},
		"labels":           {func(p *v1.Pod) { p.Labels = nil }, false},
		"annotations":      {func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"spec":             {func(p *v1.Pod) { p.Spec.NodeName = "n" }, false},
	} {
		p := base.DeepCopy()
		c.change(p)
		require.Equal(t, c.want, sameSpec(base, p), name)
	}
}

// Up to v1.28 an assigned pod concerns the waiting pods whose affinity it matches, unless it frees resources; the caller's own check
// counts beside that.
func TestAssignedPodCheck(t *testing.T) {
	q, err := New(Options{Legacy: Legacy{CycleCounter: true}})
	require.NoError(t, err)
	wants := testkit.Pod("wants").Obj()
	wants.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{testkit.Term("zone", "x=y"), testkit.Term("zone", "a=b")}}}
	other := testkit.Pod("other").Obj()
	large, small := testkit.Pod("assigned").Labels("a=b").Request("cpu=2").Obj(), testkit.Pod("assigned").Labels("a=b").Request("cpu=1").Obj()
	only := func(name string) func(*v1.Pod) bool { return func(p *v1.Pod) bool { return p.Name == name } }
	for name, c := range map[string]struct {
		change       Change
		wants, other bool
	}{
		"added":              {Change{Event: Event{assignedPod, Add, ""}, New: small}, true, false},
		"updated":            {Change{Event: assignedPodUpdate, Old: small, New: large}, true, false},
		"old is nil":         {Change{Event: assignedPodUpdate, Old: (*v1.Pod)(nil), New: large}, true, false},
		"scaled down":        {Change{Event: assignedPodUpdate, Old: large, New: small}, true, true},
		"deleted":            {Change{Event: assignedPodDelete, Old: small, New: small}, true, true},
		"not assigned":       {Change{Event: unschedulablePodUpdate, New: small}, true, true},
		"a node":             {Change{Event: Event{assignedPod, Add, ""}, New: &v1.Node{}}, true, true},
		"nil":                {Change{Event: Event{assignedPod, Add, ""}, New: (*v1.Pod)(nil)}, true, true},
		"checked, and wants": {Change{Event: Event{assignedPod, Add, ""}, New: small, PreCheck: only("wants")}, true, false},
		"checked":            {Change{Event: Event{assignedPod, Add, ""}, New: small, PreCheck: only("other")}, false, false},
	} {
		allows := func(p *v1.Pod) bool {
			check := q.assignedPodCheck(c.change)
			return check == nil || check(p)
		}
		require.Equal(t, c.wants, allows(wants), name)
		require.Equal(t, c.other, allows(other), name)
	}
}

// Names of places end with the last place, and unknown numbers have none.
func TestPlaceNames(t *testing.T) {
	require.Equal(t, "pending", Pending.String())
	require.Equal(t, "unknown", (Pending + 1).String())
}

// A wildcard event opens gates in v1.37, where a pod in flight that it is about hears it too.
func TestActivateAPodWithANewerVersion(t *testing.T) {
	for _, v := range release.Versions() {
		r := newRig(t, Options{Release: v})
		r.add("a")
		flying := r.held[r.pop()]
		r.pods["a"] = testkit.Pod("a").Obj()
		r.pods["a"].UID = flying.Pod.UID
		r.q.Activate(r.now, r.pod("a"))
		require.Equal(t, 1, r.q.InFlightEvents()["ForceActivate"], "it is in flight only")
		r.pods["a"].UID = "newer"
		r.add("a")
		r.q.Activate(r.now, r.pod("a"), flying.Pod)
		require.Equal(t, 2, r.q.InFlightEvents()["ForceActivate"], "the newer pod of its name is active already")
	}
}
