package history_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// services are owners that know services only.
type services []*v1.Service

func (s services) Services(string) iter.Seq[*v1.Service] {
	return func(yield func(*v1.Service) bool) {
		for _, x := range s {
			if !yield(x) {
				return
			}
		}
	}
}

func (services) ReplicationController(string, string) *v1.ReplicationController { return nil }
func (services) ReplicaSet(string, string) *appsv1.ReplicaSet                   { return nil }
func (services) StatefulSet(string, string) *appsv1.StatefulSet                 { return nil }

func TestSelectorSpread(t *testing.T) {
	const zone, region, beta = v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone
	web := testkit.Pod("p").Labels("foo=bar").Obj()
	all := services{{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "s"}, Spec: v1.ServiceSpec{Selector: map[string]string{"foo": "bar"}}}}
	abxy := []map[string]string{{zone: "1"}, {zone: "1"}, {zone: "2"}, {zone: "2"}}
	type test struct {
		name, why string
		labels    []map[string]string // of the nodes
		pods      []int               // on each node
		score     []int64
	}
	testkit.Run(t, []test{
		{"S-70", "two thirds zone, one third node", abxy, []int{2, 1, 0, 4}, []int64{33, 41, 33, 0}},
		{"S-71", "without zone labels", make([]map[string]string, 4), []int{2, 1, 0, 4}, []int64{50, 75, 100, 0}},
		{"S-72", "no pods", abxy, []int{0, 0, 0, 0}, []int64{100, 100, 100, 100}},
		{"one pod", "its zone and its node have no free share", abxy, []int{1, 0, 0, 0}, []int64{0, 33, 100, 100}},
		{"nodes without a zone", "are no zone together", []map[string]string{{zone: "1"}, {zone: "2"}, nil, nil}, []int{1, 2, 3, 3}, []int64{55, 11, 0, 0}},
		{"beta labels first", "the older zone label wins: both nodes are apart", []map[string]string{{beta: "1", zone: "z"}, {zone: "z"}}, []int{2, 1}, []int64{0, 50}},
		{"region alone", "is a zone too", []map[string]string{{region: "r"}, nil}, []int{2, 1}, []int64{0, 50}},
	}, func(t *testing.T, tc test) {
		var nodes []*v1.Node
		var pods []*v1.Pod
		for i, labels := range tc.labels {
			n := testkit.Node(fmt.Sprint("n", i)).Obj()
			n.Labels = labels
			nodes = append(nodes, n)
			for k := range tc.pods[i] {
				pods = append(pods, testkit.Pod(fmt.Sprint("p", i, k)).Labels("foo=bar").On(n.Name).Obj())
			}
			other := testkit.Pod(fmt.Sprint("other", i)).Labels("foo=baz").On(n.Name).Obj()
			foreign := testkit.Pod(fmt.Sprint("elsewhere/foreign", i)).Labels("foo=bar").On(n.Name).Obj()
			leaving := testkit.Pod(fmt.Sprint("leaving", i)).Labels("foo=bar").On(n.Name).Obj()
			leaving.DeletionTimestamp = &metav1.Time{}
			pods = append(pods, other, foreign, leaving)
		}
		c := testkit.NewCluster(nodes, pods)
		s, err := history.SelectorSpread(all).Score(web, placement.Rows(c))
		require.NoError(t, err)
		var slots []int32
		for i := range nodes {
			slots = append(slots, int32(i))
		}
		s.(placement.Weigher).Weigh(slots, nil)
		for i := range nodes {
			require.Equal(t, tc.score[i], s.Raw(i))
		}
	})
	c := testkit.NewCluster([]*v1.Node{testkit.Node("a").Obj()}, []*v1.Pod{testkit.Pod("b").Labels("foo=bar").On("a").Obj()})
	own := web.DeepCopy()
	own.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: zone, WhenUnsatisfiable: v1.ScheduleAnyway}}
	left, err := history.SelectorSpread(all).Score(own, placement.Rows(c))
	require.NoError(t, err)
	require.Nil(t, left, "a pod with constraints of its own is left out")
	none, err := history.SelectorSpread(nil).Score(web, placement.Rows(c))
	require.NoError(t, err)
	none.(placement.Weigher).Weigh([]int32{0}, nil)
	require.EqualValues(t, 100, none.Raw(0), "nothing selects")
}

// The owners that the caller gives count, in a snapshot too.
func TestSelectorSpreadOwners(t *testing.T) {
	web := testkit.Pod("p").Labels("foo=bar").Obj()
	all := services{{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "s"}, Spec: v1.ServiceSpec{Selector: map[string]string{"foo": "bar"}}}}
	c := rowsOf(t, []string{"cpu=1", "cpu=1"}, testkit.Pod("q").Labels("foo=bar").On("n0").Obj())
	s, err := history.SelectorSpread(all).Score(web, c)
	require.NoError(t, err)
	s.(placement.Weigher).Weigh([]int32{0, 1}, nil)
	require.Equal(t, []int64{0, 100}, []int64{s.Raw(0), s.Raw(1)})
}
