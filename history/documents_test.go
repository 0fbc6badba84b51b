package history_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/score"
)

// article returns the cluster of the scoring article's log: two nodes of 47800m and 66054406144 bytes, what runs there, and an
// image of 75 MiB on both. The pod is of the Deployment nginx and asks for nothing.
func article(t *testing.T) (*cluster.Snapshot, *v1.Pod) {
	node := func(name string) *v1.Node {
		return testkit.Node(name).Capacity("cpu=47800m,memory=66054406144,pods=110").Image(75<<20, "nginx:latest").Obj()
	}
	owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "nginx-deployment-85ff79dd56", UID: "rs", Controller: new(true)}}
	pod := testkit.Pod("nginx-deployment-85ff79dd56-972cg").Labels("app=nginx").Obj()
	pod.OwnerReferences, pod.Spec.Containers = owner, []v1.Container{{Name: "nginx", Image: "nginx"}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: owner[0].Name, UID: "rs"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nginx"}}
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{node("first"), node("second")}, ReplicaSets: []*appsv1.ReplicaSet{set},
		Pods: []*v1.Pod{
			testkit.Pod("a").Request("cpu=7750m,memory=6576668672").On("first").Obj(),
			testkit.Pod("b").Request("cpu=6850m,memory=7417626624").On("second").Obj(),
		},
	})
	require.NoError(t, err)
	return s, pod
}

// The scoring article's log, from the cluster to the totals: v1.18's plugins and weights, and an extender that says 2 and 5. The article
// has no PodTopologySpread, which scores 0 here.
func TestDocumentScoringArticle(t *testing.T) {
	s, pod := article(t)
	plan, err := placement.New(s, history.Profile118(score.MaxScore))
	require.NoError(t, err)
	columns, _, err := plan.Prepare(pod).Scores([]int{0, 1})
	require.NoError(t, err)
	got := map[string][]int64{}
	weights := map[string]int64{}
	for _, c := range columns {
		got[c.Plugin], weights[c.Plugin] = c.Scores, c.Weight
	}
	for name, want := range map[string][]int64{
		"NodeResourcesBalancedAllocation": {93, 97}, "NodeResourcesLeastAllocated": {86, 86}, "DefaultPodTopologySpread": {100, 100},
		"ImageLocality": {5, 5}, "NodePreferAvoidPods": {100, 100}, "TaintToleration": {100, 100},
	} {
		require.Equal(t, want, got[name], name)
	}
	require.EqualValues(t, 10000, weights["NodePreferAvoidPods"])
	extender := score.Column{Plugin: "http://192.168.60.89", Weight: 1, Hosts: []string{"first", "second"}, Scores: []int64{2, 5}}
	totals, err := score.Totals([]string{"first", "second"}, columns, []score.Column{extender})
	require.NoError(t, err)
	require.Equal(t, []int64{1000404, 1000438}, totals)

	d := plan.Decide(pod, placement.Options{})
	require.Equal(t, "second", d.Node)
	require.EqualValues(t, 1000388, d.Total)
}

// The same with scores of 0 to 10, as releases before v1.17 had them: 9 and 8 and 10 and so on.
func TestProfile118ZeroToTen(t *testing.T) {
	s, pod := article(t)
	plan, err := placement.New(s, history.Profile118(10))
	require.NoError(t, err)
	require.NoError(t, s.Set(testkit.Pod("c").Labels("app=nginx").On("first").Obj()))
	d := plan.Decide(pod, placement.Options{})
	require.Equal(t, "second", d.Node)
	require.EqualValues(t, 10000*10+9+8+0+10+10, d.Total, "avoid, balance, least, image, spread, taints")
}

// The queue article's table: only the deletion and the update of a pod and the addition and the update of a node wake a pod that
// NodeResourcesFit rejected. The update of a pod does so with the gate InPlacePodVerticalScaling, which is off in v1.28. An update of
// podB's affinity is the update of a waiting pod and wakes nobody.
func TestDocumentQueueTable(t *testing.T) {
	for _, tc := range []struct {
		gates     []string
		podUpdate queue.Place
	}{{[]string{"InPlacePodVerticalScaling"}, queue.Backoff}, {nil, queue.Unschedulable}} {
		events := history.Events128()
		for name, want := range map[string]queue.Place{
			"AssignedPodDelete": queue.Backoff, "AssignedPodUpdate": tc.podUpdate, "NodeAdd": queue.Backoff, "NodeAllocatableChange": queue.Backoff,
			"NodeLabelChange": queue.Backoff, "NodeTaintChange": queue.Backoff, "NodeConditionChange": queue.Backoff,
			"AssignedPodAdd": queue.Unschedulable, "PvAdd": queue.Unschedulable, "PvUpdate": queue.Unschedulable, "PvcAdd": queue.Unschedulable,
			"PvcUpdate": queue.Unschedulable, "StorageClassAdd": queue.Unschedulable, "CSINodeAdd": queue.Unschedulable, "CSIDriverUpdate": queue.Unschedulable,
		} {
			now := time.Unix(1000, 0)
			q, err := queue.New(queue.Options{Legacy: queue.Legacy{CycleCounter: true}, Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {Events: history.Registrations128(tc.gates...)}}})
			require.NoError(t, err)
			podA := testkit.Pod("podA").Obj()
			_, err = q.Add(podA, now)
			require.NoError(t, err)
			e, _ := q.Pop(now)
			_, err = q.Return(e, queue.Failure{Rejecters: []string{"NodeResourcesFit"}}, now)
			require.NoError(t, err)
			q.Move(queue.Change{Event: events[name], New: testkit.Node("n").Obj()}, now)
			require.Equal(t, want, e.Place(), "%v: %s", tc.gates, name)
		}
	}
}

// The registrations are those that the plugins of the real v1.28.1 make, and a plugin without any gets what the article prints and
// three kinds that it leaves out.
func TestRegistrations128(t *testing.T) {
	rows := func(list []queue.Registration) (out []string) {
		for _, r := range list {
			require.Nil(t, r.Hint)
			out = append(out, fmt.Sprint(r.Plugin, " ", r.Event.Resource, " ", int(r.Event.Action)))
		}
		return out
	}
	recorded := func(file string) (plugins, unregistered []string) {
		data, err := os.ReadFile("testdata/" + file)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			switch row := strings.Join(fields[:3], " "); fields[0] {
			case "#":
			case "*":
				unregistered = append(unregistered, row)
			default:
				require.NotEqual(t, "hint", fields[len(fields)-1], "plugins with hints need more than this table")
				plugins = append(plugins, row)
			}
		}
		require.Len(t, plugins, 35)
		return plugins, unregistered
	}
	plugins, all := recorded("events_v1.28.1.txt")
	require.Equal(t, plugins, rows(history.Registrations128()))
	resized, _ := recorded("events_v1.28.1_resize.txt")
	require.Equal(t, resized, rows(history.Registrations128("InPlacePodVerticalScaling")))
	require.NotEqual(t, plugins, resized)

	article := rows(history.UnregisteredEvents128("*"))
	require.Subset(t, all, article)
	require.Len(t, all, len(article)+3)
}

// v1.24 drops minDomains and the inclusion policies: the document's branch for minDomains is not reached there.
func TestDocumentSpreadGates(t *testing.T) {
	pod := testkit.Pod("p").Labels("foo=bar").Obj()
	honor := v1.NodeInclusionPolicyHonor
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"foo": "bar"}},
		MinDomains: new(int32(3)), NodeTaintsPolicy: &honor, MatchLabelKeys: []string{"rev"},
	}}
	before := pod.DeepCopy()
	zone := func(name string) *v1.Node {
		return testkit.Node(name).Zone(name).Obj()
	}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{zone("a"), zone("b")}, Pods: []*v1.Pod{
		testkit.Pod("x").Labels("foo=bar").On("a").Obj(), testkit.Pod("y").Labels("foo=bar").On("b").Obj(),
	}})
	require.NoError(t, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	require.False(t, plan.Decide(pod, placement.Options{}).Placed(), "2 domains, fewer than 3: the minimum is 0")
	require.True(t, plan.Decide(history.SpreadFields(pod), placement.Options{}).Placed(), "v1.24: the minimum is 1")
	require.False(t, plan.Decide(history.SpreadFields(pod, "MinDomainsInPodTopologySpread"), placement.Options{}).Placed())
	require.Equal(t, before, pod)

	old := history.SpreadFields(pod).Spec.TopologySpreadConstraints[0]
	require.Nil(t, old.NodeTaintsPolicy)
	require.Empty(t, old.MatchLabelKeys)
	require.Same(t, pod, history.SpreadFields(pod, "MinDomainsInPodTopologySpread", "NodeInclusionPolicyInPodTopologySpread", "MatchLabelKeysInPodTopologySpread"))
	plain := testkit.Pod("q").Obj()
	require.Same(t, plain, history.SpreadFields(plain))
	require.Nil(t, history.SpreadFields(nil))
}
