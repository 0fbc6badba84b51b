package diagnose

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A deferred resize of a pod that is not more important is taken back, and kubelets take as many pods more as the owner needs. Both are decided on a
// fork.
func TestHeldRoom(t *testing.T) {
	grows := func(priority int32, reason string) *v1.Pod {
		p := testkit.Pod("grows").On("n1").Priority(priority).Request("cpu=3").Obj()
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: reason}}
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: p.Spec.Containers[0].Name, AllocatedResources: testkit.Resources("cpu=1"), Resources: &v1.ResourceRequirements{Requests: testkit.Resources("cpu=1")}}}
		return p
	}
	web := func(name string) testkit.PodBuilder {
		return testkit.Pod(name).Owner("apps/v1", "ReplicaSet", "web").Request("cpu=1")
	}
	wants := testkit.Pod("p").Priority(5).Request("cpu=2").Obj()
	type test struct {
		name, why string
		pods      []*v1.Pod
		room      string
		pod       *v1.Pod
		pending   []*v1.Pod
		kind      Kind
		do        string
	}
	testkit.Run(t, []test{
		{"deferred", "the scheduler counts what the resize asks for", []*v1.Pod{grows(5, v1.PodReasonDeferred)}, "cpu=4,pods=9", wants, nil, Resize,
			"Pod default/grows: take back its resize, which is deferred (cpu 3 becomes 1 again): then it goes to n1"},
		{"more important", "its wish stays", []*v1.Pod{grows(6, v1.PodReasonDeferred)}, "cpu=4,pods=9", wants, nil, Resize, ""},
		{"infeasible", "the scheduler does not count it", []*v1.Pod{grows(5, v1.PodReasonInfeasible), testkit.Pod("q").On("n1").Request("cpu=2").Obj()}, "cpu=4,pods=9", wants, nil, Resize, ""},
		{"it does not help", "the node is too full without it", []*v1.Pod{grows(5, v1.PodReasonDeferred), testkit.Pod("q").On("n1").Request("cpu=2").Obj()}, "cpu=5,pods=9", testkit.Pod("p").Priority(5).Request("cpu=3").Obj(), nil, Resize, ""},
		{"pods", "one more", []*v1.Pod{testkit.Pod("q").On("n1").Obj()}, "cpu=4,pods=1", wants, nil, MaxPods,
			"raise max-pods of the kubelet of n1 from 1 to 2, if the network has addresses for them: then it goes to n1"},
		{"pods of an owner", "as many as wait", []*v1.Pod{testkit.Pod("q").On("n1").Obj()}, "cpu=4,pods=1", web("web-1").Obj(), []*v1.Pod{web("web-1").Obj(), web("web-2").Obj(), web("web-3").Obj()}, MaxPods,
			"raise max-pods of the kubelet of n1 from 1 to 4, if the network has addresses for them: then 3 of 3 run"},
		{"pods, and cpu for some", "as many as have room", []*v1.Pod{testkit.Pod("q").On("n1").Obj()}, "cpu=2,pods=1", web("web-1").Obj(), []*v1.Pod{web("web-1").Obj(), web("web-2").Obj(), web("web-3").Obj()}, MaxPods,
			"raise max-pods of the kubelet of n1 from 1 to 3, if the network has addresses for them: then 2 of 3 run"},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity(c.room).Obj()}, Pods: c.pods})
		require.NoError(t, err)
		d, err := Relax(Input{Snapshot: s, Pending: c.pending}, c.pod, Options{})
		require.NoError(t, err)
		require.Equal(t, causeFull, d.Cause.Type)
		do := ""
		for _, r := range d.Remedies {
			if r.Changes[0].Kind == c.kind {
				do = r.Text
			}
		}
		require.Equal(t, c.do, do)
		for _, r := range d.Remedies { // the snapshot of the caller stays
			require.NotEmpty(t, r.Changes)
		}
		if was := s.Pod("default", "grows"); was != nil {
			require.True(t, was.Spec.Containers[0].Resources.Requests.Cpu().Equal(resource.MustParse("3")))
		}
	})
}

// Nodes without a pool whose kubelets take as many pods are named together. The list of pods that wait stays the caller's.
func TestMaxPodsOfSeveralNodes(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4,pods=1").Obj(), testkit.Node("n2").Capacity("cpu=4,pods=1").Obj()},
		Pods: []*v1.Pod{testkit.Pod("q").On("n1").Obj(), testkit.Pod("r").On("n2").Obj()}})
	require.NoError(t, err)
	pod, foreign := testkit.Pod("p").Request("cpu=2").Obj(), testkit.Pod("foreign").Obj()
	foreign.Spec.SchedulerName = "volcano"
	pending := []*v1.Pod{foreign, pod}
	d, err := Relax(Input{Snapshot: s, Pending: pending}, pod, Options{})
	require.NoError(t, err)
	require.Equal(t, []*v1.Pod{foreign, pod}, pending)
	var texts []string
	for _, r := range d.Remedies {
		texts = append(texts, r.Text)
	}
	require.Contains(t, strings.Join(texts, "\n"), "raise max-pods of the kubelets of n1 and n2 from 1 to 2")
}
