package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

func TestBadInput(t *testing.T) {
	_, err := New(Input{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
	deployment := func(name string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	testkit.Run(t, []struct {
		name   string
		change func(w *world)
		want   string
	}{
		{"nil pending pod", func(w *world) { w.in.Pending = []*v1.Pod{nil} }, "rollout: pending[0]: Required value: must not be nil"},
		{"a pending pod twice", func(w *world) {
			w.in.Pending = []*v1.Pod{testkit.Pod("a").Obj(), testkit.Pod("b").Obj(), testkit.Pod("a").Obj()}
		}, `rollout: pending[2].metadata.name: Duplicate value: "default/a": pending[0] has the name; a pod that waits must have a name of its own`},
		{"a pending pod that has the name of a running pod", func(w *world) {
			w.pod("", "", "twice", "n1", template("twice", "cpu=1", nil))
			w.pod("", "", "twice", "", template("twice", "cpu=1", nil))
		}, `rollout: pending[0].metadata.name: Duplicate value: "default/twice": a pod on node n1 has the name; a pod that waits must have a name of its own`},
		{"nil deployment", func(w *world) { w.in.Deployments = []*appsv1.Deployment{nil} }, "rollout: deployments[0]: Required value: must not be nil"},
		{"two deployments", func(w *world) { w.in.Deployments = []*appsv1.Deployment{deployment("x"), deployment("x")} }, `Deployment default/x: metadata.name: Duplicate value: "x"`},
		{"nil job", func(w *world) { w.in.Jobs = []*batchv1.Job{nil} }, "rollout: jobs[0]: Required value: must not be nil"},
		{"two jobs", func(w *world) {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}
			w.in.Jobs = []*batchv1.Job{j, j}
		}, `Job default/x: metadata.name: Duplicate value: "x"`},
		{"nil daemon set", func(w *world) { w.in.DaemonSets = []*appsv1.DaemonSet{nil} }, "rollout: daemonSets[0]: Required value: must not be nil"},
		{"bad replica set", func(w *world) { w.app("web", "cpu=1", "n1", nil).Spec.Replicas = new(int32(-1)) }, "spec.replicas: Invalid value: -1"},
		{"bad daemon set", func(w *world) { w.in.DaemonSets = []*appsv1.DaemonSet{{}} }, "metadata.name: Required value"},
		{"bad profile", func(w *world) { w.in.Profile.Filters = []*placement.Plugin{nil} }, "filters[0]: Required value"},
		{"devices", func(w *world) { w.in.Profile.Devices = &tracker.Tracker{} }, "rollout: profile.Devices: Forbidden"},
		{"volumes", func(w *world) { w.in.Profile.Volumes = &volumetracker.Tracker{} }, "rollout: profile.Volumes: Forbidden"},
	}, func(t *testing.T, c struct {
		name   string
		change func(w *world)
		want   string
	}) {
		w := five("cpu=4")
		c.change(w)
		s, err := cluster.New(w.objects)
		require.NoError(t, err)
		w.in.Snapshot = s
		_, err = New(w.in)
		require.ErrorContains(t, err, c.want)
	})
}

func TestBadOptions(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	p := w.planner(t)
	testkit.Run(t, []struct {
		name string
		o    Options
		want string
	}{
		{"unknown node", Options{Nodes: []string{"n9"}}, `nodes: Not found: "n9": no such node in the cluster`},
		{"a node twice", Options{Nodes: []string{"n1", "n1"}}, `nodes: Duplicate value: "n1"`},
		{"batch", Options{Batch: -1}, "batch: Invalid value: -1: must not be negative"},
		{"surge", Options{Surge: -2}, "surge: Invalid value: -2: must not be negative"},
		{"steps", Options{Steps: -1}, "steps: Invalid value: -1: must not be negative"},
		{"remedies", Options{Remedies: -1}, "remedies: Invalid value: -1: must not be negative"},
		{"timeout", Options{Timeout: -time.Nanosecond}, "timeout: Invalid value: -1ns: must not be negative"},
		{"order", Options{Order: "random"}, `order: Unsupported value: "random": supported values: "fewest-pods", "given"`},
		{"shape", Options{Surge: 1, Shape: &v1.Node{}}, "shape.metadata.name: Required value"},
	}, func(t *testing.T, c struct {
		name string
		o    Options
		want string
	}) {
		_, err := p.Plan(c.o)
		require.EqualError(t, err, c.want)
	})
	plan, err := p.Plan(Options{Nodes: []string{}, Surge: 1})
	require.NoError(t, err)
	require.Empty(t, plan.Steps, "no nodes, no steps")
	empty, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	none, err := New(Input{Snapshot: empty})
	require.NoError(t, err)
	plan, err = none.Plan(Options{Surge: 2})
	require.NoError(t, err)
	require.Empty(t, plan.Steps)
	require.True(t, plan.Complete())
}

// An error in the middle of a plan ends the plan. A panic of a function of the caller goes through.
func TestErrorsEndThePlan(t *testing.T) {
	w := five("cpu=2")
	w.app("web", "cpu=2", "n1 n2 n3 n4 n5", nil)
	w.in.Profile = placement.DefaultProfile()
	w.in.Profile.Sampling = placement.AllNodes()
	meddles := &placement.Plugin{Name: "Meddles", Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
		if s := c.(*cluster.Snapshot); s.Slot("n1-surge-1") >= 0 {
			twin := *pod
			twin.Spec.Containers = nil                // takes no room
			_ = s.Assume(&twin, s.Slot("n1-surge-1")) // fails when the pod is there
		}
		return placement.PreFiltered{Code: filter.Skip}
	}}
	w.in.Profile.Filters = append(slices.Clone(w.in.Profile.Filters), meddles)
	plan, err := w.planner(t).Plan(Options{Nodes: []string{"n1"}, Surge: 1})
	require.ErrorIs(t, err, cluster.ErrPlaced)
	require.Nil(t, plan)

	plan, err = w.planner(t).Plan(Options{Nodes: []string{"n1"}, Remedies: 2})
	require.ErrorIs(t, err, cluster.ErrPlaced, "only surge nodes have room for the pods")
	require.ErrorContains(t, err, `remedy "1 surge node like n1": pods: Duplicate value: "default/web-0-moved-1"`)
	require.Nil(t, plan)

	w = five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	p := w.planner(t)
	require.PanicsWithValue(t, "the caller's own", func() {
		_, _ = p.Plan(Options{Pinned: func(*v1.Pod) string { panic("the caller's own") }})
	})
}

func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"New":     New,
		"Planner": func() *Planner { return five("cpu=4").planner(t) },
		"Plan":    func() *Plan { return &Plan{} },
	}, nil)
}
