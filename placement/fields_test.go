package placement

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// fieldsCluster has nodes and pods about which every field that a plugin reads can matter.
func fieldsCluster(t *testing.T) *cluster.Snapshot {
	var o cluster.Objects
	for i := range 6 {
		n := testkit.Node(fmt.Sprintf("n%d", i+1)).Zone(string("abc"[i%3])).Label("disk", []string{"ssd", "hdd"}[i%2]).
			Capacity(fmt.Sprintf("cpu=%d,memory=%dGi,example.com/gpu=%d", 4+i, 8+3*i, i%3))
		switch i {
		case 0:
			n = n.Taint("dedicated=db:NoSchedule")
		case 1:
			n = n.Taint("slow=yes:PreferNoSchedule").Image(800<<20, "web:v1")
		case 2:
			n = n.Image(900<<20, "db:v1").Taint("x:NoSchedule")
		case 5:
			n = n.Unschedulable()
		}
		node := n.Obj()
		if i%2 == 0 {
			node.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
		}
		o.Nodes = append(o.Nodes, node)
	}
	o.Pods = append(o.Pods,
		testkit.Pod("web-0").Labels("app=web").Request("cpu=1").On("n2").Obj(),
		testkit.Pod("web-1").Labels("app=web").Request("cpu=500m").On("n4").Obj(),
		testkit.Pod("x/web-2").Labels("app=web").Request("cpu=500m").On("n3").Obj(),
		testkit.Pod("db-0").Labels("app=db").Request("memory=1Gi").On("n5").RequireApart(v1.LabelTopologyZone, "app=x").Obj(),
		testkit.Pod("x/db-1").Labels("app=db").On("n1").PreferWith(50, v1.LabelHostname, "tier=front").Obj(),
	)
	for _, namespace := range []string{"default", "x"} {
		o.Services = append(o.Services, &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}}})
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	return s
}

// fullPod sets the fields that plugins read; barePod leaves them out.
func fullPod() *v1.Pod {
	p := testkit.Pod("p").Labels("app=web,tier=front").Request("cpu=500m,memory=1Gi").Limit("cpu=1").Image("web:v1").
		Tolerate("dedicated", v1.TolerationOpEqual, "db", v1.TaintEffectNoSchedule).NodeSelector("disk=ssd").
		RequireApart(v1.LabelHostname, "app=db").PreferWith(10, v1.LabelTopologyZone, "app=db").
		Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=web").Spread(1, v1.LabelHostname, v1.ScheduleAnyway, "app=web").
		Owner("apps/v1", "ReplicaSet", "web").Obj()
	p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{{
		TopologyKey: v1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}}}},
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 7, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}}}},
	}
	always, honor, one := v1.ContainerRestartPolicyAlways, v1.NodeInclusionPolicyHonor, int32(1)
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "db:v1", RestartPolicy: &always, Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse("100m")}}}}
	p.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("50m")}
	p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy, p.Spec.TopologySpreadConstraints[0].NodeAffinityPolicy = &honor, &honor
	p.Spec.TopologySpreadConstraints[0].MinDomains = &one
	return p
}

func barePod() *v1.Pod { return testkit.Pod("p").Labels("app=web").Request("cpu=500m").Obj() }

// fieldPods are a pod with all of these fields, a pod with none, and pods with one kind of constraint each, about which
// a field decides alone.
func fieldPods() map[string]*v1.Pod {
	full, spread, terms, nodes := fullPod(), barePod(), barePod(), barePod()
	spread.Spec.TopologySpreadConstraints = full.DeepCopy().Spec.TopologySpreadConstraints
	terms.Spec.Affinity = full.DeepCopy().Spec.Affinity
	terms.Spec.Affinity.NodeAffinity, terms.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil, nil
	nodes.Spec.Affinity = &v1.Affinity{NodeAffinity: full.DeepCopy().Spec.Affinity.NodeAffinity}
	nodes.Spec.Tolerations = full.DeepCopy().Spec.Tolerations
	return map[string]*v1.Pod{"full": full, "bare": barePod(), "spread": spread, "terms": terms, "nodes": nodes}
}

// words are what strings become. Among them are names, keys and values that the cluster knows.
var words = []string{"", "x", "n1", "n3", "a", "c", "hdd", "web", "db", "tier", "default", "disk", "slow", "yes", "web:v1", "db:v1",
	v1.LabelHostname, v1.LabelTopologyZone, "NoSchedule", "PreferNoSchedule", "Exists", "DoesNotExist", "NotIn", "DoNotSchedule",
	"ScheduleAnyway", "Honor", "Ignore", "Always", "RestartAllContainers", "ReplicaSet", "apps/v1"}

// alter calls try after every single change of v, which it takes back. Lists and pointers get new elements above the depth
// grow.
func alter(v reflect.Value, path string, grow int, try func(path string)) {
	set := func(to any, what string) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		try(path + what)
		v.Set(old)
	}
	if q, ok := v.Interface().(resource.Quantity); ok {
		for _, text := range []string{"0", "3", "2Gi", "1m"} {
			if to := resource.MustParse(text); to.Cmp(q) != 0 {
				set(to, "="+text)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		for _, w := range words {
			if w != v.String() {
				set(w, "="+w)
			}
		}
	case reflect.Bool:
		set(!v.Bool(), "=flipped")
	case reflect.Int32, reflect.Int64:
		for _, n := range []int64{0, 1, 2, 100, 8080} {
			if n != v.Int() {
				set(n, fmt.Sprint("=", n))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			set(reflect.Zero(v.Type()).Interface(), "=nil")
			alter(v.Elem(), path, grow, try)
			return
		}
		fresh := reflect.New(v.Type().Elem())
		set(fresh.Interface(), "=new")
		v.Set(fresh)
		if depth(path) < grow {
			alter(v.Elem(), path, grow, try)
		}
		v.Set(reflect.Zero(v.Type()))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				alter(v.Field(i), path+"."+f.Name, grow, try)
			}
		}
	case reflect.Slice:
		if v.Len() > 0 {
			set(v.Slice(1, v.Len()).Interface(), "=shorter")
			for i := range v.Len() {
				alter(v.Index(i), fmt.Sprintf("%s[%d]", path, i), grow, try)
			}
		}
		if depth(path) < grow {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			v.Set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.Zero(v.Type().Elem())))
			try(path + "=longer")
			alter(v.Index(v.Len()-1), path+"[new]", grow, try)
			v.Set(old)
		}
	case reflect.Map:
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		for _, k := range old.MapKeys() {
			for _, drop := range []bool{true, false} {
				m := reflect.MakeMap(v.Type())
				for _, other := range old.MapKeys() {
					m.SetMapIndex(other, old.MapIndex(other))
				}
				elem := reflect.New(v.Type().Elem()).Elem()
				elem.Set(old.MapIndex(k))
				v.Set(m)
				if drop {
					m.SetMapIndex(k, reflect.Value{})
					try(path + "-" + k.String())
					continue
				}
				alter(elem, path+"["+k.String()+"]", grow, func(at string) {
					m.SetMapIndex(k, elem)
					try(at)
				})
			}
		}
		v.Set(old)
	}
}

func depth(path string) (n int) {
	for _, c := range path {
		if c == '.' {
			n++
		}
	}
	return n
}

// TestEveryField changes every field of a pod, one at a time, and holds that a plan which has kept work for the pod before
// the change decides like a plan that keeps nothing. A field that AppendKey of a plugin forgets shows here.
func TestEveryField(t *testing.T) {
	s := fieldsCluster(t)
	changes, apart := 0, map[string]bool{}
	for name, base := range fieldPods() {
		kept, err := New(s, benchProfile())
		require.NoError(t, err)
		fresh, err := New(s, benchProfile())
		require.NoError(t, err)
		fresh.engine = nil
		for range 3 {
			require.Equal(t, text(fresh.Decide(base, Options{})), text(kept.Decide(base, Options{})))
		}
		require.True(t, used(kept, base), "%s: the plan keeps work", name)
		grow := 0
		if name == "bare" || name == "full" && !testing.Short() {
			grow = 8
		}
		before := text(fresh.Decide(base, Options{}))
		pod := base.DeepCopy()
		try := func(path string) {
			changes++
			want := text(fresh.Decide(pod, Options{}))
			if want != before {
				apart[name+path] = true
			}
			again := pod.DeepCopy() // the plan may keep the pod
			for range 2 {
				if got := text(kept.Decide(again, Options{})); got != want {
					t.Fatalf("%s%s: with kept work\n%s\nwant\n%s", name, path, got, want)
				}
			}
		}
		alter(reflect.ValueOf(&pod.ObjectMeta).Elem(), "", grow, try)
		alter(reflect.ValueOf(&pod.Spec).Elem(), ".spec", grow, try)
		require.Equal(t, base, pod, "every change is taken back")
	}
	require.Greater(t, changes, 5000)
	require.Greater(t, len(apart), 200, "changes that change the decision")
}
