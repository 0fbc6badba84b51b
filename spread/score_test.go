package spread

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

const (
	host     = v1.LabelHostname
	zoneKey  = v1.LabelTopologyZone
	spreadH  = "a{kubernetes.io/hostname=a,topology.kubernetes.io/zone=z1} b{kubernetes.io/hostname=b,topology.kubernetes.io/zone=z1} "
	spreadXY = "x{kubernetes.io/hostname=x,topology.kubernetes.io/zone=z2} y{kubernetes.io/hostname=y,topology.kubernetes.io/zone=z2}"
)

func abxy() *fake { return clusterOf(spreadH + spreadXY) }

func withQ() *fake { return abxy().addNode(nodeOf("q", "kubernetes.io/hostname=q")) }

// service returns owners with one service that selects labels.
func service(labels string) Owners {
	return &workloads{ServiceList: []*v1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "svc"}, Spec: v1.ServiceSpec{Selector: testkit.Pairs(labels)}}}}
}

func replicaSet(name, labels string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: testkit.Pairs(labels)}}}
}

func ownedBy(p *v1.Pod, apiVersion, kind, name string, controller bool) *v1.Pod {
	p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, Controller: &controller})
	return p
}

// pass scores feasible slots.
func pass(s *softState, feasible []int) (raw, score []int64) {
	s.Weigh(slotsOf(feasible), nil)
	for _, i := range feasible {
		raw = append(raw, s.Raw(i))
	}
	score = append(score, raw...)
	s.normalizeAll(feasible, score)
	return raw, score
}

func slotsOf(list []int) []int32 {
	out := make([]int32, len(list))
	for j, i := range list {
		out[j] = int32(i)
	}
	return out
}

func ints(n ...int64) []int64 { return n }

func TestScore(t *testing.T) {
	const pods = "a*2 b y*4"
	h := func(skew int32) v1.TopologySpreadConstraint { return by(host, skew, soft) }
	z := func(skew int32, change ...func(*v1.TopologySpreadConstraint)) v1.TopologySpreadConstraint {
		return by(zoneKey, skew, soft, change...)
	}
	foo := func(c ...v1.TopologySpreadConstraint) *v1.Pod { return constrained("foo=bar", c...) }
	byRS := Options{Owners: &workloads{ReplicaSetList: []*appsv1.ReplicaSet{replicaSet("rs", "foo=bar")}}}
	owned := ownedBy(foo(), "apps/v1", "ReplicaSet", "rs", true)
	list := Options{Owners: byRS.Owners, Defaults: Defaults{Type: ListDefaulting, Constraints: systemConstraints}}
	threeZones := func() *fake {
		return clusterOf("a{topology.kubernetes.io/zone=1} b{topology.kubernetes.io/zone=2} c{topology.kubernetes.io/zone=3}")
	}
	type test struct {
		name, why  string
		cluster    *fake
		pod        *v1.Pod
		options    Options
		infeasible string
		raw, score []int64 // nil: not tested
	}
	tests := []test{
		{"S-30", "hostname: ln 6 a pod", abxy().run(pods, "foo=bar"), foo(h(1)), Options{}, "", ints(4, 2, 0, 7), ints(42, 71, 100, 0)},
		{"S-31", "zone: ln 4 a pod, counts 3 and 4", abxy().run(pods, "foo=bar"), foo(z(1)), Options{}, "", ints(4, 4, 6, 6), ints(100, 100, 66, 66)},
		{"S-32", "one float sum, rounded once", abxy().run(pods, "foo=bar"), foo(z(1), h(1)), Options{}, "", ints(8, 6, 6, 13), ints(84, 100, 100, 46)},
		{"S-33", "maxSkew 5 adds 4 everywhere", abxy().run(pods, "foo=bar"), foo(h(5)), Options{}, "", ints(8, 6, 4, 11), ints(63, 81, 100, 36)},
		{"S-34 skew 1", "all raw scores 0 are 100", abxy(), foo(h(1)), Options{}, "", ints(0, 0, 0, 0), ints(100, 100, 100, 100)},
		{"S-34 skew 3", "equal raw scores are 100", abxy(), foo(h(3)), Options{}, "", ints(2, 2, 2, 2), ints(100, 100, 100, 100)},
		{"S-35", "system defaults through the ReplicaSet's selector", abxy().run(pods, "foo=bar"), owned, byRS, "", ints(14, 12, 12, 19), ints(89, 100, 100, 63)},
		{"S-36", "zoneA 2 pods, zoneB 1", threePods(), foo(by("zone", 1, soft)), Options{}, "", ints(3, 3, 1, 1), ints(33, 33, 100, 100)},
		{"S-37", "skews 2 and 3", abxy().run("a b*2 y", "foo=bar"), foo(z(2), h(3)), Options{}, "", ints(9, 11, 4, 6), ints(54, 36, 100, 81)},
		{"S-38", "three zones of one node: ln 5", threeZones().run("a*10 b*11 c", "foo=bar"), foo(z(1)), Options{}, "", ints(16, 18, 2), ints(22, 11, 100)},
		{"S-39", "q lacks the zone and is ignored", withQ().run("a q", "foo=bar"), foo(z(1), h(1)), Options{}, "", ints(3, 1, 0, 0, 0), ints(0, 66, 100, 100, 0)},
		{"S-40", "all nodes ignored", clusterOf("a{} b{}").run("a", "foo=bar"), foo(z(1)), Options{}, "", ints(0, 0), ints(0, 0)},
		{"S-41", "system defaults do not ignore q", withQ().run("a q*2", "foo=bar"), owned, byRS, "", ints(10, 8, 6, 6, 6), ints(60, 80, 100, 100, 100)},
		{"S-42", "the same constraints as a list do", withQ().run("a q*2", "foo=bar"), owned, list, "", nil, ints(66, 88, 100, 100, 0)},
		{"S-43 Ignore", "pods on an infeasible node count in its domain", taintedA(abxy()).run("a*3 x", "foo=bar"), foo(z(1)), Options{}, "a", ints(4, 1, 1), ints(25, 100, 100)},
		{"S-43 Honor", "not if its taint excludes it", taintedA(abxy()).run("a*3 x", "foo=bar"), foo(z(1, honourTaints)), Options{}, "a", ints(0, 1, 1), ints(100, 0, 0)},
		{"S-44", "hostname counts by node, not by value", clusterOf("a{kubernetes.io/hostname=s} b{kubernetes.io/hostname=s} c{kubernetes.io/hostname=c}").run("a*2", "foo=bar"), foo(h(1)), Options{}, "", ints(3, 0, 0), ints(0, 100, 100)},
		{"S-45", "a has no hostname label and is not ignored", clusterOf("a{topology.kubernetes.io/zone=z1} b{kubernetes.io/hostname=b,topology.kubernetes.io/zone=z2}").run("a*2 b", "foo=bar"), owned, byRS, "", nil, ints(100, 77)},
		{"S-61", "a service's selector gives the same as S-35", abxy().run(pods, "foo=bar"), foo(), Options{Owners: service("foo=bar")}, "", ints(14, 12, 12, 19), ints(89, 100, 100, 63)},
		{"nil selector", "counts nothing", abxy().run(pods, "foo=bar"), foo(z(2, noSelector)), Options{}, "", ints(1, 1, 1, 1), ints(100, 100, 100, 100)},
		{"empty selector", "counts nothing", abxy().run(pods, "foo=bar"), foo(z(2, emptySelector)), Options{}, "", ints(1, 1, 1, 1), ints(100, 100, 100, 100)},
		{"minDomains", "has no effect on the score", abxy().run(pods, "foo=bar"), foo(z(1, minDomains(9))), Options{}, "", ints(4, 4, 6, 6), ints(100, 100, 66, 66)},
		{"self", "the pod itself is not used", abxy().run(pods, "foo=bar"), constrained("", z(1)), Options{}, "", ints(4, 4, 6, 6), ints(100, 100, 66, 66)},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		var feasible []int
		for _, i := range tc.cluster.all() {
			if tc.cluster.nodes[i].Name != tc.infeasible {
				feasible = append(feasible, i)
			}
		}
		for kind, c := range map[string]Cluster{"plain": tc.cluster, "indexed": index(tc.cluster, 0), "spare": index(tc.cluster, 2)} {
			raw, score := pass(mustSoft(t, tc.pod, tc.options).count(c), feasible)
			if tc.raw != nil {
				assert.Equal(t, tc.raw, raw, "%s: raw", kind)
			}
			assert.Equal(t, tc.score, score, "%s: score", kind)
		}
		score, err := Scores(tc.pod, tc.cluster, feasible, tc.options)
		require.NoError(t, err)
		assert.Equal(t, tc.score, score, "Scores")
	})
}

func taintedA(f *fake) *fake {
	f.nodes[0].Spec.Taints = testkit.Node("x").Taint("k=v:NoSchedule").Obj().Spec.Taints
	return f
}

func TestSkippedScore(t *testing.T) {
	f := abxy()
	assert.True(t, mustSoft(t, constrained("foo=bar"), Options{}).count(f).skips(), "S-60: the pod has no service and no owner")
	assert.True(t, mustSoft(t, constrained("foo=bar", by("zone", 1, hard)), Options{Owners: service("foo=bar")}).count(f).skips(), "only hard constraints")
	s := mustSoft(t, constrained("foo=bar", by("zone", 1, soft)), Options{}).count(&fake{})
	assert.True(t, s.skips(), "no nodes")
	raw := ints(3, 4)
	s.normalizeAll([]int{0, 1}, raw)
	assert.Equal(t, ints(3, 4), raw, "skipped scores are not normalised")
	score, err := Scores(constrained("foo=bar"), f, f.all(), Options{})
	require.NoError(t, err)
	assert.Equal(t, ints(0, 0, 0, 0), score)
}

func TestNormalize(t *testing.T) {
	assert.Equal(t, int64(100), new(softState).Normalize(5, 5, 9))
	assert.Equal(t, int64(55), new(softState).Normalize(9, 5, 9), "the worst node gets 100*lo/hi")
	assert.Equal(t, int64(0), new(softState).Normalize(9, 0, 9))
	assert.Equal(t, int64(100), new(softState).Normalize(0, 0, 0))
	assert.Equal(t, int64(100), new(softState).Normalize(-3, -3, -1), "the largest starts at 0")
}

// TestLackingNodeIsTheEmptyDomain: for system defaults a missing label reads as "". A node with an empty label therefore
// shares its domain, and S-41's size 3 becomes 2.
func TestLackingNodeIsTheEmptyDomain(t *testing.T) {
	f := clusterOf("a{topology.kubernetes.io/zone=,kubernetes.io/hostname=a} b{topology.kubernetes.io/zone=z,kubernetes.io/hostname=b} q{kubernetes.io/hostname=q}").run("a q*2", "foo=bar")
	for _, c := range []Cluster{f, index(f, 0), index(f, 2)} {
		s := mustSoft(t, constrained("foo=bar"), Options{Owners: service("foo=bar")}).count(c)
		raw, _ := pass(s, f.all())
		assert.Equal(t, int64(2), s.cols[1].size)
		// a: 1*ln5+2 + 3*ln4+4; b: 2+4; q: 2*ln5+2
		assert.Equal(t, ints(12, 6, 5), raw)
	}
}

// Counts that moved with a pod are those of a fresh count.
func TestSoftStateMoves(t *testing.T) {
	f := withQ().run("a*2 b y", "foo=bar")
	e := mustSoft(t, constrained("foo=bar"), Options{Owners: service("foo=bar")})
	moved := e.count(index(f, 1))
	before, _ := pass(moved, f.all())
	p := podOf("new", "foo=bar")
	moved.apply(e.effect(p), 1, 1)
	f.pods[1] = append(f.pods[1], p)
	after, scores := pass(moved, f.all())
	require.NotEqual(t, before, after)
	raw, fresh := pass(e.count(f), f.all())
	require.Equal(t, raw, after)
	require.Equal(t, fresh, scores)
	moved.Remove(p, 1)
	back, _ := pass(moved, f.all())
	require.Equal(t, before, back)
}
