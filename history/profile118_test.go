package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// scores118 returns the scores of all nodes by plugin.
func scores118(t *testing.T, o cluster.Objects, pod *v1.Pod) map[string][]int64 {
	t.Helper()
	s, err := cluster.New(o)
	require.NoError(t, err)
	plan, err := placement.New(s, history.Profile118(score.MaxScore))
	require.NoError(t, err)
	var slots []int
	for i := range o.Nodes {
		slots = append(slots, i)
	}
	columns, _, err := plan.Prepare(pod).Scores(slots)
	require.NoError(t, err)
	got := map[string][]int64{}
	for _, c := range columns {
		got[c.Plugin] = c.Scores
	}
	return got
}

// Two containers of 600 MiB have the best score: the most was 1000 MiB in all. v1.37 has 1000 MiB for each container: 59.
func TestImages118(t *testing.T) {
	pod := testkit.Pod("p").Obj()
	pod.Spec.Containers = []v1.Container{{Name: "a", Image: "a:1"}, {Name: "b", Image: "b:1"}}
	node := testkit.Node("n1").Image(600<<20, "a:1").Image(600<<20, "b:1").Obj()
	require.Equal(t, []int64{100}, scores118(t, cluster.Objects{Nodes: []*v1.Node{node}}, pod)["ImageLocality"])
	require.EqualValues(t, 59, score.CompileImages(pod, 0).On(testkit.NewCluster([]*v1.Node{node}, nil)).Raw(0))
}

// Raw scores of 10 and 20 are 50 and 100, because they are normalized from 0. v1.37 gives 0 and 100.
func TestAffinity118(t *testing.T) {
	node := func(name string) *v1.Node { return testkit.Node(name).Label(v1.LabelHostname, name).Obj() }
	db := func(name, on string) *v1.Pod { return testkit.Pod(name).Labels("app=db").On(on).Obj() }
	pod := testkit.Pod("p").PreferWith(10, v1.LabelHostname, "app=db").Obj()
	o := cluster.Objects{Nodes: []*v1.Node{node("n1"), node("n2")}, Pods: []*v1.Pod{db("a", "n1"), db("b", "n2"), db("c", "n2")}}
	require.Equal(t, []int64{50, 100}, scores118(t, o, pod)["InterPodAffinity"])
}
