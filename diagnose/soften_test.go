package diagnose

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// The anti-affinity of a StatefulSet becomes a preference. Two kinds of its pods are then deleted once: those in the domain that has the fewest of
// them, and those that wait. A Deployment would make its old pods again, and pods below a partition stay old.
func TestSoften(t *testing.T) {
	type test struct {
		name, why, kind string
		on              string // the node of each running pod
		partition       int32
		want            string // pods to delete
	}
	testkit.Run(t, []test{
		{"one node", "the one domain", "StatefulSet", "n1", 0, "db-0, db-1 and db-2"},
		{"two zones", "the zone of the last pod", "StatefulSet", "n1 n2", 0, "db-1, db-2 and db-3"},
		{"two pods of a zone", "the zone with one pod", "StatefulSet", "n1 n2 n3", 0, "db-0, db-3 and db-4"},
		{"Deployment", "its old ReplicaSet makes the pod again", "ReplicaSet", "n1", 0, ""},
		{"partition", "the controller makes the old pod again", "StatefulSet", "n1", 1, ""},
	}, func(t *testing.T, c test) {
		var o cluster.Objects
		for name, z := range map[string]string{"n1": "a", "n2": "b", "n3": "b"} {
			o.Nodes = append(o.Nodes, testkit.Node(name).Zone(z).Capacity("cpu=9,pods=9").Obj())
		}
		if c.name == "one node" || c.partition > 0 || c.kind == "ReplicaSet" {
			o.Nodes = []*v1.Node{testkit.Node("n1").Zone("a").Capacity("cpu=9,pods=9").Obj()}
		}
		member := func(k int) testkit.PodBuilder {
			return testkit.Pod("db-"+decimal(int64(k))).Labels("app=db").RequireApart(zone, "app=db").Request("cpu=1").Owner("apps/v1", c.kind, "db")
		}
		on := strings.Fields(c.on)
		for k, node := range on {
			o.Pods = append(o.Pods, member(k).On(node).Obj())
		}
		if c.kind == "StatefulSet" {
			o.StatefulSets = append(o.StatefulSets, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: appsv1.StatefulSetSpec{
				Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}}, Spec: member(0).Obj().Spec}, PodManagementPolicy: appsv1.ParallelPodManagement, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &c.partition}},
			}})
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		waits := []*v1.Pod{member(len(on)).Obj(), member(len(on) + 1).Obj()}
		d, err := Relax(Input{Snapshot: s, Pending: waits}, waits[0], Options{Cost: only(Prefer)})
		require.NoError(t, err)
		require.Equal(t, causeAntiAffinity, d.Cause.Type)
		var have string
		for _, r := range d.Remedies {
			if r.Changes[0].Kind == Prefer {
				have = r.Changes[0].To
				require.Equal(t, len(on)+2, r.Run)
				require.Contains(t, r.Also, "two may share a zone")
				require.Contains(t, r.Text, "make the anti-affinity by "+zone+" a preference; delete "+c.want+" once")
			}
		}
		require.Equal(t, c.want, have, "%v %v", d.Advice(), d.Dropped)
	})
}

// Where too few domains are left for minDomains, nodeTaintsPolicy Honor alone helps nobody: minDomains goes down with it.
func TestHonorNeedsMinDomains(t *testing.T) {
	o := cluster.Objects{Nodes: []*v1.Node{
		testkit.Node("a").Zone("a").Capacity("cpu=9,pods=9").Obj(), testkit.Node("b").Zone("b").Capacity("cpu=9,pods=9").Obj(),
		testkit.Node("c").Zone("c").Capacity("cpu=9,pods=9").Taint("team=x:NoSchedule").Obj(),
	}}
	member := func(name string) testkit.PodBuilder {
		p := testkit.Pod(name).Labels("app=w").Spread(1, zone, v1.DoNotSchedule, "app=w")
		three := int32(3)
		p.Obj().Spec.TopologySpreadConstraints[0].MinDomains = &three
		return p
	}
	o.Pods = []*v1.Pod{member("w-0").On("a").Obj(), member("w-1").On("b").Obj()}
	d := relax(t, o, member("w-2").Obj(), Options{Cost: only(HonorTaints, LowerMinDomains)})
	require.Equal(t, causeEmptyDomain, d.Cause.Type)
	require.Len(t, d.Relaxations, 1)
	require.Equal(t, []Kind{HonorTaints, LowerMinDomains}, []Kind{d.Relaxations[0].Changes[0].Kind, d.Relaxations[0].Changes[1].Kind})
	require.Equal(t, "2", d.Relaxations[0].Changes[1].To)
}
