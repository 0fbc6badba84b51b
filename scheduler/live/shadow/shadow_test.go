package shadow

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/scheduler/config"
)

// start returns a shadow of nodes with so many cores, and what it reports.
func start(t testing.TB, cores map[string]string) (s *Shadow, reports *[]Report) {
	t.Helper()
	c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"))
	require.NoError(t, err)
	reports = &[]Report{}
	s, err = New(c, nil, nil, func(r Report) { *reports = append(*reports, r) }, func(err error) { t.Error(err) })
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(cores)) {
		s.AddNode(node(name, cores[name]))
	}
	return s, reports
}

func node(name, cpu string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}, Status: v1.NodeStatus{
		Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")},
	}}
}

func pod(name, cpu string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{SchedulerName: "default-scheduler", Containers: []v1.Container{{
		Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
	}}}}
}

func on(p *v1.Pod, node string) *v1.Pod {
	out := p.DeepCopy()
	out.Spec.NodeName = node
	return out
}

// prefers returns the affinity of a pod that prefers a node.
func prefers(node string) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}},
	}}}}
}

// many returns nodes with 4 cores, the last with 8.
func many(n int) map[string]string {
	out := map[string]string{}
	for k := range n {
		out[fmt.Sprintf("n%03d", k)] = "4"
	}
	out[fmt.Sprintf("n%03d", n-1)] = "8"
	return out
}

// View shows the cluster with what was reported until then, and no change happens while it looks. What is done to a fork stays there.
func TestView(t *testing.T) {
	s, _ := start(t, map[string]string{"n1": "4"})
	s.AddPod(on(pod("a", "1"), "n1"))
	var fork *cluster.Snapshot
	added := make(chan struct{})
	s.View(func(c *cluster.Snapshot) {
		go func() {
			s.AddNode(node("n2", "4"))
			close(added)
		}()
		require.NotNil(t, c.Pod("default", "a"))
		require.Equal(t, []string{"n1"}, names(c))
		fork = c.Fork()
	})
	<-added
	require.Equal(t, []string{"n1"}, names(fork))
	require.NoError(t, fork.Remove(node("n1", "4")))
	s.View(func(c *cluster.Snapshot) { require.Equal(t, []string{"n1", "n2"}, names(c)) })
}

// names returns the names of the nodes, sorted.
func names(c *cluster.Snapshot) (out []string) {
	for i := range c.Len() {
		if n := c.Node(i); n != nil {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Each verdict has its case.
func TestVerdicts(t *testing.T) {
	type test struct {
		name, why string
		cores     map[string]string
		before    func(s *Shadow)
		pod       *v1.Pod
		node      string
		want      Report
	}
	fond := pod("p", "1")
	fond.Spec.Affinity = prefers("n2")
	broken := pod("p", "1")
	broken.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Nope"}},
	}}}
	vague := pod("p", "2")
	vague.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: broken.Spec.TopologySpreadConstraints[0].LabelSelector}}
	foreign := pod("p", "1")
	foreign.Spec.SchedulerName = "other"
	small := []placement.Rejection{{Plugin: "NodeResourcesFit", Code: "UnschedulableAndUnresolvable", Reasons: []string{"Insufficient cpu"}}}
	testkit.Run(t, []test{
		{"same", "one node fits", map[string]string{"n1": "1", "n2": "4"}, nil, pod("p", "2"), "n2", Report{Verdict: Same, Would: "n2"}},
		{"tie", "two equal nodes", map[string]string{"n1": "4", "n2": "4"}, nil, pod("p", "1"), "n2", Report{Verdict: Tie, Would: "n1"}},
		{"score", "the pod prefers the other node", map[string]string{"n1": "4", "n2": "4"}, nil, fond, "n1", Report{Verdict: Score, Would: "n2", Scores: []ScoreDifference{{"NodeAffinity", 0, 200}}}},
		{"rejected", "the node is too small", map[string]string{"n1": "1", "n2": "4"}, nil, pod("p", "2"), "n1", Report{Verdict: Rejected, Would: "n2", Rejections: small}},
		{"unschedulable", "all nodes are too small", map[string]string{"n1": "1", "n2": "1"}, nil, pod("p", "2"), "n1",
			Report{Verdict: Unschedulable, Message: "0/2 nodes are available: 2 Insufficient cpu.", Rejections: small}},
		{"sampled", "v1.36 looks at 100 of 150 nodes", many(150), nil, pod("p", "1"), "n149", Report{
			Verdict: Sampled, Would: "n000", Scores: []ScoreDifference{{"NodeResourcesFit", 92, 86}, {"NodeResourcesBalancedAllocation", 71, 68}},
		}},
		{"unknown", "the node was never reported", map[string]string{"n1": "4"}, nil, pod("p", "1"), "n9", Report{Verdict: Unknown, Would: "n1"}},
		{"no decision", "a selector that cannot be read", map[string]string{"n1": "4"}, nil, broken, "n1", Report{
			Verdict: Failed, Message: `running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod's hard topology spread constraints: "Nope" is not a valid label selector operator`,
		}},
		{"no scores", "one node fits, so that the decision needs no score; the comparison does", map[string]string{"n1": "1", "n2": "4"}, nil, vague, "n1", Report{
			Verdict: Failed, Would: "n2", Message: `running PreScore plugin "PodTopologySpread": calculating preScoreState: obtaining pod's soft topology spread constraints: "Nope" is not a valid label selector operator`,
		}},
		{"another profile", "the first profile judges", map[string]string{"n1": "4"}, nil, foreign, "n1", Report{Verdict: Same, Would: "n1"}},
		{"others wait", "the report counts them", map[string]string{"n1": "4"}, func(s *Shadow) { s.AddPod(pod("a", "1")); s.AddPod(pod("b", "1")) }, pod("p", "1"), "n1", Report{Verdict: Same, Would: "n1", Pending: 2}},
		{"nominated", "a waiting pod of the same priority keeps its room on its node", map[string]string{"n1": "4", "n2": "2"}, func(s *Shadow) {
			p := pod("a", "4")
			p.Status.NominatedNodeName = "n1"
			s.AddPod(p)
		}, pod("p", "2"), "n2", Report{Verdict: Same, Would: "n2", Pending: 1}},
		{"nominated later", "the newest version of the pod that waits counts, on one node only", map[string]string{"n1": "4", "n2": "4"}, func(s *Shadow) {
			p := pod("a", "4")
			s.AddPod(p)
			p = p.DeepCopy()
			p.Status.NominatedNodeName = "n1"
			s.UpdatePod(pod("a", "4"), p)
		}, pod("p", "2"), "n2", Report{Verdict: Same, Would: "n2", Pending: 1}},
		{"who was bound waits no more", "its room is gone, and it is no pending pod", map[string]string{"n1": "4", "n2": "2"}, func(s *Shadow) {
			p := pod("a", "4")
			s.AddPod(p)
			s.UpdatePod(p, on(p, "n1"))
		}, pod("p", "2"), "n2", Report{Verdict: Same, Would: "n2"}},
		{"who is gone waits no more", "the pod was deleted before it had a node", map[string]string{"n1": "4"}, func(s *Shadow) {
			s.AddPod(pod("a", "4"))
			s.DeletePod(pod("a", "4"))
		}, pod("p", "2"), "n1", Report{Verdict: Same, Would: "n1"}},
		{"node that has grown", "the newest version counts", map[string]string{"n1": "1"}, func(s *Shadow) { s.UpdateNode(node("n1", "1"), node("n1", "4")) }, pod("p", "2"), "n1", Report{Verdict: Same, Would: "n1"}},
		{"what is bound counts", "the room is gone", map[string]string{"n1": "4", "n2": "2"}, func(s *Shadow) { s.AddPod(on(pod("a", "4"), "n1")) }, pod("p", "2"), "n2", Report{Verdict: Same, Would: "n2"}},
		{"what is gone does not count", "the room is back", map[string]string{"n1": "4", "n2": "1"}, func(s *Shadow) {
			s.AddPod(on(pod("a", "4"), "n1"))
			s.DeletePod(on(pod("a", "4"), "n1"))
			s.DeleteNode(node("n2", "1"))
		}, pod("p", "2"), "n1", Report{Verdict: Same, Would: "n1"}},
	}, func(t *testing.T, c test) {
		s, reports := start(t, c.cores)
		if c.before != nil {
			c.before(s)
		}
		s.AddPod(c.pod)
		s.UpdatePod(c.pod, on(c.pod, c.node))
		require.NotEmpty(t, *reports)
		got := (*reports)[len(*reports)-1]
		c.want.Pod, c.want.UID, c.want.Scheduler, c.want.Node = "default/p", "p", c.pod.Spec.SchedulerName, c.node
		for k := range got.Rejections {
			got.Rejections[k].Numbers = nil // package filter tests its numbers
		}
		require.Equal(t, c.want, got, c.why)
	})
}

// A pod is judged once: when it gets its node. Later changes, and pods that come with a node, are not judged.
func TestOnce(t *testing.T) {
	s, reports := start(t, map[string]string{"n1": "4"})
	p := pod("p", "1")
	s.AddPod(p)
	s.UpdatePod(p, p)
	s.UpdatePod(p, on(p, "n1"))
	s.UpdatePod(on(p, "n1"), on(p, "n1"))
	s.AddPod(on(pod("static", "1"), "n1"))
	s.DeletePod(pod("gone", "1"))
	require.Len(t, *reports, 1)
}

// FuzzShadow lets another scheduler bind pods anywhere, while nodes and pods come and go. Each binding is reported once, a report of
// the same node is Same and of another is not, and a node that the shadow would take is one of the cluster.
func FuzzShadow(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(testkit.RandomBytes(seed, 100))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 100 {
			t.Skip("longer input has no other steps")
		}
		b := testkit.NewBytes(data)
		s, reports := start(t, nil)
		nodes, pods := map[string]*v1.Node{}, map[string]*v1.Pod{}
		bound := 0
		for b.More() {
			n, p := fmt.Sprintf("n%d", b.Below(4)), fmt.Sprintf("p%d", b.Below(6))
			switch now := pods[p]; {
			case b.OneIn(4) && nodes[n] == nil:
				nodes[n] = node(n, testkit.Pick(b, "0", "1", "4"))
				s.AddNode(nodes[n])
			case b.OneIn(8) && nodes[n] != nil:
				s.DeleteNode(nodes[n])
				delete(nodes, n)
			case now == nil:
				pods[p] = pod(p, testkit.Pick(b, "0", "1", "3"))
				if b.OneIn(4) {
					pods[p].Status.NominatedNodeName = n
				}
				s.AddPod(pods[p])
			case now.Spec.NodeName == "":
				pods[p] = on(now, n)
				s.UpdatePod(now, pods[p])
				bound++
				if len(*reports) != bound {
					t.Fatalf("%d reports of %d bindings", len(*reports), bound)
				}
				r := (*reports)[bound-1]
				if (r.Verdict == Same) != (r.Would == n) || r.Would != "" && nodes[r.Would] == nil || (r.Verdict == Unschedulable || r.Verdict == Failed) != (r.Would == "" && nodes[n] != nil) {
					t.Fatalf("%+v", r)
				}
			default:
				s.DeletePod(now)
				delete(pods, p)
			}
		}
	})
}

// BenchmarkShadow judges a binding in a cluster of 5,000 nodes.
func BenchmarkShadow(b *testing.B) {
	s, reports := start(b, nil)
	for k := range 5000 {
		s.AddNode(node(fmt.Sprintf("n%d", k), "32"))
	}
	p := pod("p", "1")
	for b.Loop() {
		s.AddPod(p)
		s.UpdatePod(p, on(p, "n0"))
		s.DeletePod(on(p, "n0"))
	}
	if r := *reports; len(r) == 0 || r[0].Would == "" {
		b.Fatal("nothing was judged")
	}
}
