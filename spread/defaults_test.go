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

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

func TestDerivedSelector(t *testing.T) {
	foo := func() *v1.Pod { return podOf("p", "foo=bar,app=w,pod-template-hash=h") }
	serviceOf := func(namespace string, selector map[string]string) *v1.Service {
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}, Spec: v1.ServiceSpec{Selector: selector}}
	}
	set := func(name string, s *metav1.LabelSelector) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: meta(name), Spec: appsv1.StatefulSetSpec{Selector: s}}
	}
	all := &workloads{
		ReplicaSetList:            []*appsv1.ReplicaSet{replicaSet("rs", "foo=bar"), replicaSet("deploy-h", "app=w,pod-template-hash=h")},
		ReplicationControllerList: []*v1.ReplicationController{{ObjectMeta: meta("rc"), Spec: v1.ReplicationControllerSpec{Selector: testkit.Pairs("foo=bar")}}},
		StatefulSetList: []*appsv1.StatefulSet{set("set", &metav1.LabelSelector{MatchLabels: testkit.Pairs("foo=bar")}), set("nil", nil),
			set("bad", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus"}}}),
			set("empty", &metav1.LabelSelector{})},
	}
	with := func(services ...*v1.Service) *workloads {
		w := *all
		w.ServiceList = services
		return &w
	}
	type test struct {
		name, why string
		pod       *v1.Pod
		owners    Owners
		want      string // "-": no default constraints
	}
	tests := []test{
		{"S-60 nothing", "no service, no owner", foo(), all, "-"},
		{"no owners given", "there is nothing to look in", foo(), nil, "-"},
		{"S-61 service", "its pairs", foo(), with(serviceOf("default", testkit.Pairs("foo=bar"))), "foo=bar"},
		{"two services", "the union of their pairs", foo(), with(serviceOf("default", testkit.Pairs("foo=bar")), serviceOf("default", testkit.Pairs("app=w,foo=bar"))), "app=w,foo=bar"},
		{"service that does not match", "all pairs must match the pod", foo(), with(serviceOf("default", testkit.Pairs("foo=bar,x=y"))), "-"},
		{"S-62 service with {}", "matches and adds nothing", foo(), with(serviceOf("default", map[string]string{})), "-"},
		{"service without selector", "does not match", foo(), with(serviceOf("default", nil)), "-"},
		{"S-62 service elsewhere", "other namespace", foo(), with(serviceOf("other", testkit.Pairs("foo=bar"))), "-"},
		{"S-62 not the controller", "owner without controller=true", ownedBy(foo(), "apps/v1", "ReplicaSet", "rs", false), all, "-"},
		{"S-62 old group", "extensions/v1beta1 adds nothing", ownedBy(foo(), "extensions/v1beta1", "ReplicaSet", "rs", true), all, "-"},
		{"S-62 missing controller", "an owner that does not exist is ignored", ownedBy(foo(), "v1", "ReplicationController", "gone", true), all, "-"},
		{"missing ReplicaSet", "ignored", ownedBy(foo(), "apps/v1", "ReplicaSet", "gone", true), all, "-"},
		{"missing StatefulSet", "ignored", ownedBy(foo(), "apps/v1", "StatefulSet", "gone", true), all, "-"},
		{"S-63 service and ReplicaSet", "both labels", ownedBy(foo(), "apps/v1", "ReplicaSet", "rs", true), with(serviceOf("default", testkit.Pairs("app=w"))), "app=w,foo=bar"},
		{"ReplicationController", "its pairs", ownedBy(foo(), "v1", "ReplicationController", "rc", true), all, "foo=bar"},
		{"StatefulSet", "its requirements", ownedBy(foo(), "apps/v1", "StatefulSet", "set", true), all, "foo=bar"},
		{"nil selector of an owner", "adds nothing", ownedBy(foo(), "apps/v1", "StatefulSet", "nil", true), all, "-"},
		{"invalid selector of an owner", "is ignored", ownedBy(foo(), "apps/v1", "StatefulSet", "bad", true), all, "-"},
		{"empty selector of an owner", "adds nothing", ownedBy(foo(), "apps/v1", "StatefulSet", "empty", true), all, "-"},
		{"ReplicationController of another group", "adds nothing", ownedBy(foo(), "apps/v1", "ReplicationController", "rc", true), all, "-"},
		{"ReplicaSet of another group", "adds nothing", ownedBy(foo(), "v1", "ReplicaSet", "rs", true), all, "-"},
		{"StatefulSet of another group", "adds nothing", ownedBy(foo(), "v1", "StatefulSet", "set", true), all, "-"},
		{"another kind of v1", "adds nothing", ownedBy(foo(), "v1", "Node", "rc", true), all, "-"},
		{"another kind of apps/v1, named as a ReplicaSet", "adds nothing", ownedBy(foo(), "apps/v1", "DaemonSet", "rs", true), all, "-"},
		{"another kind of apps/v1, named as a StatefulSet", "adds nothing", ownedBy(foo(), "apps/v1", "DaemonSet", "set", true), all, "-"},
		{"Job", "other owners add nothing", ownedBy(foo(), "batch/v1", "Job", "rs", true), all, "-"},
		{"Deployment", "acts through its ReplicaSet: by revision", ownedBy(foo(), "apps/v1", "ReplicaSet", "deploy-h", true), all, "app=w,pod-template-hash=h"},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		s := mustSoft(t, tc.pod, Options{Owners: tc.owners})
		if tc.want == "-" {
			assert.True(t, s.Skip())
			return
		}
		require.Equal(t, 2, len(s.constraints))
		assert.True(t, s.Defaulted())
		assert.Equal(t, tc.want, s.selectors.describe(0))
		assert.Equal(t, []string{host, zoneKey}, s.Keys(nil))
		assert.True(t, mustHard(t, tc.pod, Options{Owners: tc.owners}).Skip(), "the built-in constraints are soft")
	})
}

// TestS63: only pods with the labels of both the service and the ReplicaSet count.
func TestS63(t *testing.T) {
	w := &workloads{ReplicaSetList: []*appsv1.ReplicaSet{replicaSet("rs", "foo=bar")},
		ServiceList: []*v1.Service{{ObjectMeta: meta("s"), Spec: v1.ServiceSpec{Selector: testkit.Pairs("app=w")}}}}
	f := abxy().run("a*2", "foo=bar").run("b", "app=w,foo=bar").run("x*3", "app=w")
	s := mustSoft(t, ownedBy(podOf("p", "app=w,foo=bar"), "apps/v1", "ReplicaSet", "rs", true), Options{Owners: w}).count(f)
	assert.Equal(t, []int32{0, 1, 0, 0}, s.cols[0].counts)
}

// TestS64: a hard default constraint from a list.
func TestS64(t *testing.T) {
	c := by(zoneKey, 1, hard, noSelector, matchKeys("rev"))
	o := Options{Owners: &workloads{ReplicaSetList: []*appsv1.ReplicaSet{replicaSet("rs", "foo=bar")}}, Defaults: Defaults{ListDefaulting, []v1.TopologySpreadConstraint{c}}}
	f := withQ().run("a*2", "foo=bar,rev=1")
	pod := ownedBy(podOf("p", "foo=bar,rev=2"), "apps/v1", "ReplicaSet", "rs", true)
	pass, skew, missing := verdicts(f, mustHard(t, pod, o).count(f).Check)
	assert.Equal(t, [3]string{"x y", "a b", "q"}, [3]string{pass, skew, missing}, "matchLabelKeys of a default constraint have no effect")
	assert.True(t, mustSoft(t, pod, o).Skip(), "no constraint of the list is soft")
}

func TestSystemConstraints(t *testing.T) {
	want := []v1.TopologySpreadConstraint{
		{MaxSkew: 3, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: v1.ScheduleAnyway},
		{MaxSkew: 5, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: v1.ScheduleAnyway},
	}
	assert.Equal(t, want, systemConstraints)
}

// TestDisabledDefaults: defaultingType List with an empty list means no defaults (documentation, "Built-in default
// constraints").
func TestDisabledDefaults(t *testing.T) {
	o := Options{Owners: service("foo=bar"), Defaults: Defaults{Type: ListDefaulting}}
	assert.True(t, mustSoft(t, podOf("p", "foo=bar"), o).Skip())
	assert.True(t, mustHard(t, podOf("p", "foo=bar"), o).Skip())
	assert.False(t, mustSoft(t, podOf("p", "foo=bar"), o).Defaulted())
	assert.False(t, mustHard(t, podOf("p", "foo=bar"), Options{Owners: service("foo=bar")}).Defaulted(), "no built-in constraint is hard")
}
