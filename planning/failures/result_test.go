package failures

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// A budget and a workload right after the failure and in the end: one of two pods comes back.
func TestBelow(t *testing.T) {
	w := five("cpu=2")
	w.app("web", "cpu=1", "n1 n1 n2", nil)
	w.app("full", "cpu=2", "n3 n4 n5", nil)
	w.budget("web", "web", 3)
	r := w.run(t, "n1")
	require.Equal(t, []Budget{{Name: "default/web", Minimum: 3, Before: 3, Lost: 1, After: 2}}, r.Budgets)
	require.Equal(t, []Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "web", Replicas: 3, Before: 3, Lost: 1, After: 2}}, r.Workloads)
	require.Equal(t, []Resource{{v1.ResourceCPU, 8000, 8000}, {v1.ResourcePods, 440, 5}}, r.Left)
	require.Equal(t, 1, r.Placed)
	require.Equal(t, 1, r.Stays())
}

// Two of three members of a StatefulSet are on the lost node: the one that is left is no majority.
func TestQuorum(t *testing.T) {
	w := five("cpu=4")
	w.stateful("db", "n3 n3 n1", appsv1.ParallelPodManagement)
	r := w.run(t, "n3")
	require.Equal(t, []Workload{{Kind: "StatefulSet", Namespace: "default", Name: "db", Replicas: 3, Before: 3, Lost: 1, After: 3, Quorum: 2}}, r.Workloads)
	require.True(t, r.Workloads[0].BelowQuorum())
	r = w.run(t, "n1")
	require.False(t, r.Workloads[0].BelowQuorum())
}

// A displaced pod counts for its own workload, which lost no pod by the failure.
func TestDisplacedWorkload(t *testing.T) {
	w := five("cpu=1500m")
	w.class("high", 1000)
	w.app("batch", "cpu=1", "n2 n3 n4 n5", nil)
	w.app("web", "cpu=1", "n1", classed("high"))
	r := w.run(t, "n1")
	require.Equal(t, 1, r.Displaced)
	require.Equal(t, []Workload{
		{Kind: "ReplicaSet", Namespace: "default", Name: "batch", Replicas: 4, Before: 4, Lost: 4, After: 3},
		{Kind: "ReplicaSet", Namespace: "default", Name: "web", Replicas: 1, Before: 1, Lost: 0, After: 1},
	}, r.Workloads)
}

// A Job makes its pods again and a Deployment those of its ReplicaSet; neither makes more than the failure cost.
func TestControllers(t *testing.T) {
	w := five("cpu=4")
	template := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job": "sum"}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
	}
	w.in.Jobs = []*batchv1.Job{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sum"},
		Spec:       batchv1.JobSpec{Parallelism: ptr(int32(3)), Completions: ptr(int32(5)), Template: template},
	}}
	w.pod("Job", "sum", "sum-a", "n1", template)
	w.pod("Job", "sum", "sum-b", "n2", template)
	r := w.app("web-abc", "cpu=1", "n1 n2", nil)
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: ptr(true)}}
	w.in.Deployments = []*appsv1.Deployment{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr(int32(9)), Selector: r.Spec.Selector, Template: r.Spec.Template},
	}}
	require.Equal(t, []string{"sum-a n1 Placed n5", "web-abc-0 n1 Placed n3"}, lines(w.run(t, "n1")))
}

// A terminating pod is gone: its controller has made another one already.
func TestTerminating(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.objects.Pods[0].DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	w.app("old", "cpu=1", "n1 n1 n1", nil).Spec.Replicas = ptr(int32(1)) // scaled down, the pods are not deleted yet
	require.Equal(t, []string{"old-0 n1 Placed n3", "old-1 n1 Gone", "old-2 n1 Gone", "web-0 n1 Gone"}, lines(w.run(t, "n1")))
}

// Pods that waited before the failure compete, and do not count as its consequences.
func TestPending(t *testing.T) {
	w := five("cpu=2")
	w.app("web", "cpu=2", "n1 n2 n3 n4", nil)
	waits := w.pod("", "", "waits", "", v1.PodTemplateSpec{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=2")}}}}})
	large := w.pod("", "", "large", "", v1.PodTemplateSpec{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=9")}}}}})
	w.objects.Pods = w.objects.Pods[:len(w.objects.Pods)-2]
	w.in.Pending = []*v1.Pod{waits, large}
	r := w.run(t, "n1")
	require.Equal(t, []string{"web-0 n1 Pending", "ReplicaSet default/web: default/web-0: resources: NodeResourcesFit 4/4: Insufficient cpu"}, lines(r))
	require.Equal(t, 1, r.Released)
}

// A pod that waited before the failure gets room: a lost pod of its workload counts as back, because the workload has as many pods as before.
// Pods of a StatefulSet do not count for each other.
func TestInstead(t *testing.T) {
	w := five("cpu=2")
	w.app("web", "cpu=2", "n1 n2 n3 n4 n5 n5", nil)
	w.objects.Pods = w.objects.Pods[:5]
	old := w.objects.Pods[0]
	waits := old.DeepCopy()
	waits.Name, waits.UID, waits.Spec.NodeName = "waits", "waits", ""
	w.in.Pending = []*v1.Pod{waits}
	w.objects.Nodes = append(w.objects.Nodes, testkit.Node("spare").Zone("d").Capacity("cpu=2").Obj())
	w.objects.Nodes[5].Spec.Taints = []v1.Taint{{Key: "spare", Effect: v1.TaintEffectNoSchedule}}
	r := w.run(t, "n1")
	require.Equal(t, 1, r.Pending, "no node is free")
	require.Zero(t, r.Released)

	waits.Spec.Tolerations = []v1.Toleration{{Key: "spare", Operator: v1.TolerationOpExists}}
	r = w.run(t, "n1")
	require.Equal(t, []string{"web-0 n1 Placed spare"}, lines(r)[:1])
	require.Equal(t, []int{0, 1, 0}, []int{r.Pending, r.Placed, r.Released})
	require.Equal(t, "default/waits", r.Pods[0].Instead)
	require.Equal(t, 5, r.Workloads[0].After)

	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr(int32(6)), Template: w.objects.ReplicaSets[0].Spec.Template}}
	for _, p := range append(w.objects.Pods, waits) {
		p.OwnerReferences[0].Kind, p.OwnerReferences[0].UID = "StatefulSet", ""
	}
	w.objects.ReplicaSets, w.objects.StatefulSets = nil, []*appsv1.StatefulSet{set}
	r = w.run(t, "n1")
	require.Equal(t, []int{0, 1}, []int{r.Placed, r.Released})
}

// Of two pods that need one node, either comes first: three orders give the same number of pending pods. With a large and a small
// pod the order decides how many stay.
func TestBounds(t *testing.T) {
	w := five("cpu=2")
	w.app("full", "cpu=2", "n2 n3 n4", nil)
	w.app("large", "cpu=2", "n1", nil)
	w.app("small", "cpu=1", "n1 n1", nil)
	w.objects.Nodes[0].Status.Allocatable[v1.ResourceCPU] = testkit.Resources("cpu=4")[v1.ResourceCPU]
	r, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Orders: 20, Seed: 7})
	require.NoError(t, err)
	require.Equal(t, 2, r[0].Pending)
	require.Equal(t, &Bounds{Orders: 21, Fewest: 1, Most: 2}, r[0].Bounds)
}

// The kubelet of n1 falls silent; after 50 seconds (the monitor looks every 5) the node gets its taint, and the pods leave
// after their tolerationSeconds. A pod that tolerates the taint stays.
func TestForecast(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	w.app("quick", "cpu=1", "n1", nil)
	stays := w.pod("DaemonSet", "agent", "agent", "n1", v1.PodTemplateSpec{})
	stays.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	for _, p := range w.objects.Pods[:2] {
		seconds := int64(300)
		if p.Name == "quick-0" {
			seconds = 10
		}
		p.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}}
	}
	r, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Until: time.Hour})
	require.NoError(t, err)
	leaves := map[string]time.Duration{}
	for _, o := range r[0].Pods {
		if o.Leaves != nil {
			leaves[o.Pod.Name] = *o.Leaves
		}
	}
	require.Len(t, leaves, 2)
	require.Equal(t, 290*time.Second, leaves["web-0"]-leaves["quick-0"])
	require.Greater(t, leaves["quick-0"], time.Minute)
}

// The same results whatever was played before and however the scenarios are shared out.
func TestDeterminism(t *testing.T) {
	w := large(40, 6)
	w.class("high", 100)
	w.app("first", "cpu=30", "n1", classed("high"))
	scenarios := func(p *Planner) []Scenario {
		return slices.Concat(p.Nodes(), p.By(zoneKey), p.Pairs(20, 3), p.LargestPairs(10))
	}
	text := func(r []Result) string {
		var b strings.Builder
		for _, x := range r {
			fmt.Fprintln(&b, x.Name, lines(x), x.Budgets, x.Workloads, x.Left)
		}
		return b.String()
	}
	p := w.planner(t)
	all, err := p.Run(scenarios(p), Options{})
	require.NoError(t, err)
	together, err := p.Run(scenarios(p), Options{Parallel: func(n int, run func(int)) {
		var group sync.WaitGroup
		for part := range 4 {
			group.Go(func() {
				for i := n - 1 - part; i >= 0; i -= 4 {
					run(i)
				}
			})
		}
		group.Wait()
	}})
	require.NoError(t, err)
	require.Equal(t, text(all), text(together))
	for i, s := range scenarios(p)[:60:60] {
		if i%7 != 0 {
			continue
		}
		alone, err := w.planner(t).Run([]Scenario{s}, Options{})
		require.NoError(t, err)
		require.Equal(t, text(all[i:i+1]), text(alone))
	}
}

// Scenarios of nodes, values of labels and pairs.
func TestScenarios(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n4 n4 n2", nil)
	delete(w.objects.Nodes[4].Labels, zoneKey)
	p := w.planner(t)
	require.Len(t, p.Nodes(), 5)
	require.Equal(t, []Scenario{{zoneKey + "=a", []string{"n1", "n2"}}, {zoneKey + "=b", []string{"n3", "n4"}}}, p.By(zoneKey))
	require.Empty(t, p.By("none"))
	require.Len(t, p.Pairs(10, 0), 10)
	require.Equal(t, Scenario{"n1+n2", []string{"n1", "n2"}}, p.Pairs(10, 0)[0])
	require.Len(t, p.Pairs(9, 1), 9)
	require.Equal(t, p.Pairs(9, 1), p.Pairs(9, 1))
	require.NotEqual(t, p.Pairs(9, 1), p.Pairs(9, 2))
	require.Equal(t, Scenario{"n4+n2", []string{"n4", "n2"}}, p.LargestPairs(3)[0])
	require.Empty(t, p.LargestPairs(0))
}

// What New and Run refuse.
func TestBadInput(t *testing.T) {
	_, err := New(Input{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
	s, err := cluster.New(five("cpu=4").objects)
	require.NoError(t, err)
	testkit.Run(t, []struct {
		name string
		in   Input
		want string
	}{
		{"volumes", Input{Profile: placement.Profile{Volumes: volumetracker.New(s, volumetracker.Of(s))}}, "failures: profile.Volumes: Forbidden: every scenario has volumes of its own"},
		{"devices", Input{Profile: placement.Profile{Devices: &tracker.Tracker{}}}, "failures: profile.Devices: Forbidden: every scenario has devices of its own"},
		{"profile", Input{Profile: placement.Profile{Filters: []*placement.Plugin{nil}}}, "filters[0]: Required value"},
		{"pending", Input{Pending: make([]*v1.Pod, 1)}, "failures: pending[0]: Required value: must not be nil"},
		{"pending pod with the name of another", Input{Pending: []*v1.Pod{testkit.Pod("a").Obj(), testkit.Pod("a").Obj()}}, `failures: pending[1].metadata.name: Duplicate value: "default/a": pending[0] has the name`},
		{"deployment", Input{Deployments: make([]*appsv1.Deployment, 1)}, "failures: deployments[0]: Required value: must not be nil"},
		{"job", Input{Jobs: make([]*batchv1.Job, 1)}, "failures: jobs[0]: Required value: must not be nil"},
		{"two deployments", Input{Deployments: []*appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}, `Deployment /a: metadata.name: Duplicate value: "a"`},
		{"two jobs", Input{Jobs: []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}, `Job /a: metadata.name: Duplicate value: "a"`},
		{"replicas", Input{Deployments: []*appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: appsv1.DeploymentSpec{Replicas: ptr(int32(-1))}}}}, "Deployment /a: spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
	}, func(t *testing.T, c struct {
		name string
		in   Input
		want string
	}) {
		c.in.Snapshot = s
		_, err := New(c.in)
		require.ErrorContains(t, err, c.want)
	})
	p := five("cpu=4").planner(t)
	_, err = p.Run([]Scenario{{"x", []string{"n9"}}}, Options{})
	require.EqualError(t, err, `scenario "x": nodes: Not found: "n9": no such node in the cluster`)
	_, err = p.Run([]Scenario{{"x", []string{"n1", "n1"}}}, Options{})
	require.EqualError(t, err, `scenario "x": nodes: Duplicate value: "n1"`)
	_, err = p.Run([]Scenario{{"x", []string{"n1"}}}, Options{Until: 1 << 62})
	require.ErrorContains(t, err, `scenario "x": until`)
}

func TestMisuse(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	testkit.Misuse(t, map[string]any{
		"New": New, "Worst": Worst,
		"Planner":  func() *Planner { return w.planner(t) },
		"Result":   func() *Result { return &Result{} },
		"Workload": func() Workload { return Workload{} },
		"Headroom": func() *Headroom { return &Headroom{} },
	}, nil, Search{Limit: 3, Remedies: 1}, Search{Limit: -1, Remedies: -1}, Input{}, Scenario{}, []Scenario{{}, {Name: "n1", Nodes: []string{"n1"}}}, Options{Orders: -1, Until: -1}, Options{Orders: 2, Until: time.Minute})
}
