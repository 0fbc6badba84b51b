package packing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/packing"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

func app(name string, priority int32, cpu string) testkit.PodBuilder {
	return testkit.Pod(name).Labels("app=" + name).Priority(priority).Request("cpu=" + cpu)
}

// owned returns the pod as a pod of a DaemonSet.
func owned(p *v1.Pod) *v1.Pod {
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: &yes}}
	return p
}

// shown is what a plan does: "web n1>n2" moves, "web n1>" evicts, "web >n1" places.
func shown(p packing.Plan) (out []string) {
	for _, a := range p.Actions {
		out = append(out, fmt.Sprintf("%s %s>%s", a.Pod[len("default/"):], a.From, a.To))
	}
	return out
}

func TestPack(t *testing.T) {
	small := []*v1.Node{node("n1", "a", "cpu=4,memory=8Gi"), node("n2", "b", "cpu=4,memory=8Gi")}
	type test struct {
		name, why string
		w         world
		want      []string
		optimal   bool
		leave     bool
	}
	testkit.Run(t, []test{
		{"a move", "the room is in two pieces", world{nodes: small,
			pods:    []*v1.Pod{app("a", 5, "1").On("n1").Obj(), app("b", 5, "2").On("n2").Obj()},
			pending: []*v1.Pod{app("p", 5, "4").Obj()}}, []string{"b n2>n1", "p >n2"}, true, false},
		{"kube-scheduler is enough", "the pod preempts the only pod of lower priority", world{nodes: small[:1],
			pods: []*v1.Pod{app("a", 1, "4").On("n1").Obj()}, pending: []*v1.Pod{app("p", 5, "4").Obj()}}, nil, true, true},
		{"higher before more", "two small pods of low priority leave for a pod of high priority; the other node is too small for either", world{
			nodes:   []*v1.Node{node("n1", "a", "cpu=4,memory=8Gi")},
			pods:    []*v1.Pod{app("a", 1, "2").On("n1").Obj(), app("b", 1, "2").On("n1").Obj()},
			pending: []*v1.Pod{app("p", 5, "4").Obj()}}, nil, true, true},
		{"more of one tier", "b makes room for two smaller pods of its priority", world{nodes: small[:1],
			pods:    []*v1.Pod{app("b", 5, "4").On("n1").Obj()},
			pending: []*v1.Pod{app("p", 5, "2").Obj(), app("q", 5, "2").Obj()}}, []string{"b n1>", "p >n1", "q >n1"}, true, false},
		{"a budget", "the pod that has to move is protected", world{nodes: small,
			pods:    []*v1.Pod{app("a", 5, "1").On("n1").Obj(), app("b", 5, "2").On("n2").Obj()},
			budgets: []*policyv1.PodDisruptionBudget{budget("a", 0), budget("b", 1)},
			pending: []*v1.Pod{app("p", 5, "4").Obj()}}, []string{"b n2>n1", "p >n2"}, true, false},
		{"nothing may move", "both pods are protected", world{nodes: small,
			pods:    []*v1.Pod{app("a", 5, "1").On("n1").Obj(), app("b", 5, "2").On("n2").Obj()},
			budgets: []*policyv1.PodDisruptionBudget{budget("a", 0), budget("b", 0)},
			pending: []*v1.Pod{app("p", 5, "4").Obj()}}, nil, false, true},
		{"anti-affinity", "a may not go beside b, b may not go beside a", world{nodes: small,
			pods:    []*v1.Pod{app("a", 5, "1").RequireApart(v1.LabelHostname, "app=b").On("n1").Obj(), app("b", 5, "2").On("n2").Obj()},
			pending: []*v1.Pod{app("p", 5, "4").Obj()}}, nil, false, true},
		{"a terminating pod", "the pod stays until it is gone", world{nodes: small,
			pods:    []*v1.Pod{app("a", 5, "1").Terminating().On("n1").Obj(), app("b", 5, "2").On("n2").Obj()},
			pending: []*v1.Pod{app("p", 5, "4").Obj()}}, []string{"b n2>n1", "p >n2"}, true, false},
		{"a DaemonSet", "kube-scheduler preempts the pod of the DaemonSet, which no plan moves or evicts", world{
			nodes:   []*v1.Node{node("n1", "a", "cpu=4,memory=8Gi"), node("n2", "b", "cpu=1,memory=8Gi")},
			pods:    []*v1.Pod{owned(app("d", 1, "3").RequireApart(v1.LabelHostname, "app=x").On("n1").Obj())},
			pending: []*v1.Pod{app("p", 5, "4").RequireApart(v1.LabelHostname, "app=y").Obj()}}, nil, true, true},
		{"no nodes", "nobody has a place", world{pending: []*v1.Pod{app("p", 5, "4").Obj()}}, nil, true, true},
		{"no pods", "nothing to do", world{nodes: small}, nil, true, true},
		{"a request that no node offers", "the bound says so", world{nodes: small,
			pending: []*v1.Pod{testkit.Pod("p").Request("example.com/gpu=1").Obj()}}, nil, true, true},
	}, func(t *testing.T, c test) {
		p := c.w.pack(t, packing.Options{})
		require.Equal(t, c.want, shown(p))
		require.Equal(t, c.optimal, p.Optimal)
		require.Equal(t, c.leave, p.LeaveIt)
	})
}

// kube-scheduler preempts the pod of another node when a budget protects one, and the protected one when there is no other: then its outcome
// is no plan, and a plan without actions says so with an empty list.
func TestBudgetsOfKubeScheduler(t *testing.T) {
	w := world{nodes: []*v1.Node{node("n1", "a", "cpu=4,memory=8Gi"), node("n2", "b", "cpu=4,memory=8Gi")},
		pods:    []*v1.Pod{app("a", 1, "4").On("n1").Obj(), app("b", 1, "4").On("n2").Obj()},
		pending: []*v1.Pod{app("p", 5, "4").Obj()}}
	for _, protected := range []string{"b", "a"} {
		w.budgets = []*policyv1.PodDisruptionBudget{budget(protected, 0)}
		require.False(t, w.pack(t, packing.Options{}).DefaultBreaks, protected)
	}
	w.nodes, w.pods = w.nodes[:1], w.pods[:1]
	p := w.pack(t, packing.Options{})
	require.True(t, p.DefaultBreaks)
	require.False(t, p.LeaveIt)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.Contains(t, string(text), `[]`)
	require.Equal(t, []packing.Action{}, p.Actions)
}

// Stop and Steps end the search, and the plan is then the best so far.
func TestCut(t *testing.T) {
	w := scenario{10, 6, 3, 105}.world(1, false)
	asked := 0
	p := w.pack(t, packing.Options{Stop: func() bool { asked++; return asked > 1 }})
	require.Equal(t, 100, p.Steps)
	require.False(t, p.Optimal)
	require.Equal(t, 50, w.pack(t, packing.Options{Steps: 50}).Steps)
	for _, tier := range p.Tiers {
		require.Equal(t, max(0, tier.Bound-tier.Placed), tier.Gap())
	}
}

// Input that contradicts itself is an error; pods that need no place are ignored.
func TestBadInput(t *testing.T) {
	w := world{nodes: []*v1.Node{node("n1", "a", "cpu=4,memory=8Gi")}, pods: []*v1.Pod{app("a", 5, "1").On("n1").Obj()}}
	p := app("p", 5, "1").Obj()
	type test struct {
		name, why string
		change    func(in *packing.Input, o *packing.Options)
		want      string
	}
	testkit.Run(t, []test{
		{"no snapshot", "there is no cluster", func(in *packing.Input, _ *packing.Options) { in.Snapshot = nil }, "packing: the input has no snapshot"},
		{"nil pod", "nobody to place", func(in *packing.Input, _ *packing.Options) { in.Pending = []*v1.Pod{nil} }, "packing: pending[0]: Required value: must not be nil"},
		{"a pod twice", "names are unique", func(in *packing.Input, _ *packing.Options) { in.Pending = []*v1.Pod{p, p} }, `packing: pending[1]: Duplicate value: "default/p"`},
		{"a pod that runs", "the name is taken", func(in *packing.Input, _ *packing.Options) { in.Pending = []*v1.Pod{app("a", 5, "1").Obj()} }, `packing: pending[0]: Duplicate value: "default/a"`},
		{"negative steps", "0 is the default", func(_ *packing.Input, o *packing.Options) { o.Steps = -1 }, "packing: steps: must not be negative"},
		{"volumes", "they belong to another plan", func(in *packing.Input, _ *packing.Options) {
			in.Profile.Volumes = volumetracker.New(in.Snapshot, volumetracker.Of(in.Snapshot))
		},
			"packing: profile.Volumes: Forbidden: the plan has volumes of its own"},
		{"devices", "they belong to another plan", func(in *packing.Input, _ *packing.Options) {
			in.Profile.Devices = tracker.New(in.Snapshot, tracker.Of(in.Snapshot))
		}, "packing: profile.Devices: Forbidden: the plan has devices of its own"},
		{"a plugin twice", "the profile is not valid", func(in *packing.Input, _ *packing.Options) {
			in.Profile = placement.DefaultProfile()
			in.Profile.Filters = append(in.Profile.Filters, in.Profile.Filters[0])
		}, "Duplicate value"},
		{"pods that need no place", "a bound, a terminating and a finished pod", func(in *packing.Input, _ *packing.Options) {
			done := app("done", 5, "1").Obj()
			done.Status.Phase = v1.PodSucceeded
			in.Pending = []*v1.Pod{app("b", 5, "1").On("n9").Obj(), app("c", 5, "1").Terminating().Obj(), done}
		}, ""},
		{"a profile of the caller", "its filters decide", func(in *packing.Input, _ *packing.Options) { in.Profile = placement.DefaultProfile() }, ""},
	}, func(t *testing.T, c test) {
		in, o := w.input(t), packing.Options{}
		c.change(&in, &o)
		plan, err := packing.Pack(in, o)
		if c.want == "" {
			require.NoError(t, err)
			require.True(t, plan.LeaveIt)
			return
		}
		require.ErrorContains(t, err, c.want)
		require.Equal(t, in.Snapshot == nil, errors.Is(err, cluster.ErrNoSnapshot))
	})
}

// Pack modifies neither the snapshot nor the pods. Pods that Movable does not name stay.
func TestMovable(t *testing.T) {
	w := world{nodes: []*v1.Node{node("n1", "a", "cpu=4,memory=8Gi"), node("n2", "b", "cpu=4,memory=8Gi")},
		pods:    []*v1.Pod{app("a", 5, "1").On("n1").Obj(), app("b", 5, "2").On("n2").Obj()},
		pending: []*v1.Pod{app("p", 5, "4").Obj()}}
	in := w.input(t)
	in.Movable = func(pod *v1.Pod) bool { return pod.Name == "b" }
	version := in.Snapshot.Version()
	testkit.Unchanged(t, func() {
		p, err := packing.Pack(in, packing.Options{})
		require.NoError(t, err)
		require.Equal(t, []string{"b n2>n1", "p >n2"}, shown(p))
	}, append(w.pods, w.pending...)...)
	require.Equal(t, version, in.Snapshot.Version())
	in.Movable = func(*v1.Pod) bool { return false }
	p, err := packing.Pack(in, packing.Options{})
	require.NoError(t, err)
	require.True(t, p.LeaveIt)
	require.Equal(t, []string{"default/p"}, p.Pending)
}
