package history_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// Two containers of 600 MiB have the best score: the most was 1000 MiB in all. v1.37 has 1000 MiB for each container: 59.
func TestImages118(t *testing.T) {
	pod := testkit.Pod("p").Obj()
	pod.Spec.Containers = []v1.Container{{Name: "a", Image: "a:1"}, {Name: "b", Image: "b:1"}}
	node := testkit.Node("n1").Image(600<<20, "a:1").Image(600<<20, "b:1").Obj()
	require.Equal(t, []int64{100}, scores118(t, cluster.Objects{Nodes: []*v1.Node{node}}, pod, []int{0})["ImageLocality"])
	require.EqualValues(t, 59, score.CompileImages(pod, 0).On(testkit.NewCluster([]*v1.Node{node}, nil)).Raw(0))
}

// Raw scores of 10 and 20 are 50 and 100, because they are normalized from 0. v1.37 gives 0 and 100.
func TestAffinity118(t *testing.T) {
	node := func(name string) *v1.Node { return testkit.Node(name).Label(v1.LabelHostname, name).Obj() }
	db := func(name, on string) *v1.Pod { return testkit.Pod(name).Labels("app=db").On(on).Obj() }
	pod := testkit.Pod("p").PreferWith(10, v1.LabelHostname, "app=db").Obj()
	o := cluster.Objects{Nodes: []*v1.Node{node("n1"), node("n2")}, Pods: []*v1.Pod{db("a", "n1"), db("b", "n2"), db("c", "n2")}}
	require.Equal(t, []int64{50, 100}, scores118(t, o, pod, []int{0, 1})["InterPodAffinity"])
}

// With scores of 0 to 10, two pods, one and none of three are 3, 6 and 10. A selector that cannot be read is an error.
func TestSoftConstraints118(t *testing.T) {
	node := func(name string) *v1.Node { return testkit.Node(name).Label(v1.LabelHostname, name).Obj() }
	web := func(name, on string) *v1.Pod { return testkit.Pod(name).Labels("app=web").On(on).Obj() }
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n1"), node("n2"), node("n3")}, Pods: []*v1.Pod{web("a", "n1"), web("b", "n1"), web("c", "n2")}})
	require.NoError(t, err)
	plan, err := placement.New(s, history.Profile118(10))
	require.NoError(t, err)
	pod := web("p", "")
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	columns, _, err := plan.Prepare(pod).Scores([]int{0, 1, 2})
	require.NoError(t, err)
	at := slices.IndexFunc(columns, func(c score.Column) bool { return c.Plugin == "PodTopologySpread" })
	require.Equal(t, []int64{3, 6, 10}, columns[at].Scores)

	pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}
	_, _, err = plan.Prepare(pod).Scores([]int{0, 1, 2})
	require.ErrorContains(t, err, "Near")
}
