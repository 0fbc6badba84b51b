package lint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/taints"
)

// checkerOf reads the input of a world.
func checkerOf(t *testing.T, w *world) *checker {
	c := &checker{in: w.in}
	require.NoError(t, c.read())
	return c
}

// A rollout makes pods above the replicas only while no replica may be missing: maxUnavailable, rounded down, is 0.
func TestSurge(t *testing.T) {
	text := func(s string) *intstr.IntOrString { v := intstr.Parse(s); return &v }
	type test struct {
		name, why          string
		replicas           int32
		kind               appsv1.DeploymentStrategyType
		surge, unavailable *intstr.IntOrString
		none               bool // no rollingUpdate
		want               int
	}
	testkit.Run(t, []test{
		{"default of three", "25 % of 3 is 1 above and none missing", 3, "", nil, nil, true, 1},
		{"default of four", "25 % of 4 may be missing", 4, "", nil, nil, true, 0},
		{"empty strategy", "the defaults count", 3, "", nil, nil, false, 1},
		{"surge given", "two above", 3, "", text("2"), nil, false, 2},
		{"half", "rounded up", 3, "", text("50%"), text("0"), false, 2},
		{"one may be missing", "the rollout needs no place", 3, "", text("2"), text("1"), false, 0},
		{"one in ten may be missing", "rounded down to none", 3, "", nil, text("10%"), false, 1},
		{"bad surge", "nothing is known", 3, "", text("x"), text("0"), false, 0},
		{"bad unavailable", "nothing is known", 3, "", text("1"), text("x"), false, 0},
		{"Recreate", "all pods leave first", 3, appsv1.RecreateDeploymentStrategyType, text("2"), text("0"), false, 0},
	}, func(t *testing.T, c test) {
		w := newWorld().replicas(c.replicas)
		w.web.Spec.Strategy = appsv1.DeploymentStrategy{Type: c.kind, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: c.surge, MaxUnavailable: c.unavailable}}
		if c.none {
			w.web.Spec.Strategy.RollingUpdate = nil
		}
		require.Equal(t, c.want, checkerOf(t, w).works[0].surge)
	})
}

// A term counts pods of the namespaces that the term names, and of the namespaces that its selector matches. Without both it counts pods of the
// pod's own namespace.
func TestInNamespaces(t *testing.T) {
	selector := func(pairs string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: testkit.Pairs(pairs)}
	}
	type test struct {
		name, why string
		term      v1.PodAffinityTerm
		namespace string
		want      bool
	}
	testkit.Run(t, []test{
		{"own", "without lists the pod's own namespace counts", v1.PodAffinityTerm{}, "default", true},
		{"other", "without lists no other namespace counts", v1.PodAffinityTerm{}, "prod", false},
		{"listed", "the second of the list", v1.PodAffinityTerm{Namespaces: []string{"a", "prod"}}, "prod", true},
		{"not listed", "the own namespace does not count beside a list", v1.PodAffinityTerm{Namespaces: []string{"a"}}, "default", false},
		{"label", "the namespace has it", v1.PodAffinityTerm{NamespaceSelector: selector("env=prod")}, "prod", true},
		{"other label", "the namespace lacks it", v1.PodAffinityTerm{NamespaceSelector: selector("env=test")}, "prod", false},
		{"every namespace", "an empty selector", v1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}, "unknown", true},
		{"name of an unknown namespace", "every namespace has its name as a label", v1.PodAffinityTerm{NamespaceSelector: selector("kubernetes.io/metadata.name=unknown")}, "unknown", true},
		{"list or selector", "either suffices", v1.PodAffinityTerm{Namespaces: []string{"default"}, NamespaceSelector: selector("env=test")}, "default", true},
	}, func(t *testing.T, c test) {
		w := newWorld()
		w.objs.Namespaces = append(w.objs.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod", Labels: map[string]string{"env": "prod"}}})
		all := checkerOf(t, w)
		require.Equal(t, c.want, all.inNamespaces(all.works[0].pod, c.term, c.namespace))
		c.term.LabelSelector = selector("app=web")
		require.Equal(t, c.want, all.reaches(all.works[0].pod, c.term, c.namespace, map[string]string{"app": "web"}))
		require.False(t, all.reaches(all.works[0].pod, c.term, c.namespace, map[string]string{"app": "db"}))
	})
}

// An empty node holds as many pods as its scarcest resource allows, and the number of pods counts too.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		capacity string
		want     int
	}{
		{"cpu=4,memory=8Gi", 8}, {"cpu=4,memory=3Gi", 3}, {"cpu=4,memory=8Gi,pods=2", 2}, {"cpu=499m,memory=8Gi", 0}, {"memory=8Gi", 0},
	} {
		w := newWorld()
		w.request("example.com/gpu", "0") // asks for nothing
		all := checkerOf(t, w)
		n := testkit.Node("n").Capacity(c.capacity).Obj()
		if c.capacity != "cpu=4,memory=8Gi,pods=2" {
			delete(n.Status.Allocatable, v1.ResourcePods)
		}
		require.Equal(t, c.want, times(all.works[0], n), c.capacity)
	}
}

// The least that a pod can ask for counts. A pod that asks for nothing fits as often as the number of pods of a node allows.
func TestTimesOfLittle(t *testing.T) {
	n := &v1.Node{Status: v1.NodeStatus{Allocatable: testkit.Resources("cpu=5m")}}
	little, nothing := &work{pod: testkit.Pod("p").Request("cpu=1m").Obj()}, &work{pod: testkit.Pod("p").Obj()}
	require.Equal(t, 5, times(little, n))
	require.Equal(t, math.MaxInt32, times(nothing, n))
	n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("3")
	require.Equal(t, []int{3, 3}, []int{times(little, n), times(nothing, n)})
}

// Replicas that run are not made again: those of a ReplicaSet of the Deployment, whether the cluster has that ReplicaSet or not.
func TestRunning(t *testing.T) {
	w := newWorld()
	owned := func(name, set string) *v1.Pod {
		p := testkit.Pod(name).On("n1").Labels("app=web,pod-template-hash=5c").Obj()
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, Controller: ptr(true)}}
		return p
	}
	ended := owned("d", "web-5c")
	ended.Status.Phase = v1.PodSucceeded
	w.objs.Pods = []*v1.Pod{owned("a", "web-5c"), owned("b", "db-5c"), testkit.Pod("c").On("n1").Labels("app=web").Obj(), ended}
	require.Equal(t, 2, checkerOf(t, w).tried(checkerOf(t, w).works[0]).want)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-5c", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: ptr(true)}}}}
	set.Spec.Replicas, set.Spec.Template, set.Spec.Selector = ptr(int32(1)), *w.web.Spec.Template.DeepCopy(), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "pod-template-hash": "5c"}}
	set.Spec.Template.Labels = map[string]string{"app": "web", "pod-template-hash": "5c"}
	w.objs.ReplicaSets = []*appsv1.ReplicaSet{set}
	all := checkerOf(t, w)
	require.Equal(t, 2, all.tried(all.works[0]).want)
}

// A cordoned node is open for a pod that tolerates the cordon, a tainted node for a pod that tolerates the taints.
func TestOpen(t *testing.T) {
	cordon := v1.Toleration{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists}
	gpu := v1.Toleration{Key: "gpu", Operator: v1.TolerationOpExists}
	type test struct {
		name        string
		tolerations []v1.Toleration
		cordoned    bool
		taints      string
		want        bool
	}
	testkit.Run(t, []test{
		{"nothing keeps it away", nil, false, "", true},
		{"cordoned", nil, true, "", false},
		{"cordoned and tolerated", []v1.Toleration{cordon}, true, "", true},
		{"tainted", []v1.Toleration{cordon}, false, "gpu:NoSchedule", false},
		{"tainted and tolerated", []v1.Toleration{gpu}, false, "gpu:NoSchedule", true},
		{"a wish only", nil, false, "gpu:PreferNoSchedule", true},
		{"cordoned, the taint is tolerated", []v1.Toleration{gpu}, true, "gpu:NoSchedule", false},
		{"tainted, the cordon is tolerated", []v1.Toleration{cordon}, true, "gpu:NoSchedule", false},
		{"both tolerated", []v1.Toleration{cordon, gpu}, true, "gpu:NoSchedule", true},
	}, func(t *testing.T, c test) {
		n := testkit.Node("n").Obj()
		n.Spec.Unschedulable = c.cordoned
		if c.taints != "" {
			n.Spec.Taints = testkit.Taints(c.taints)
		}
		require.Equal(t, c.want, (&checker{}).open(&v1.Pod{Spec: v1.PodSpec{Tolerations: c.tolerations}}, n))
	})
}

// A workload may have the name of a running pod, and gates that a controller removes.
func TestFits(t *testing.T) {
	w := newWorld()
	w.objs.Pods = []*v1.Pod{testkit.Pod("web").On("n1").Obj()}
	w.pod.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	all := checkerOf(t, w)
	require.True(t, all.fits(all.works[0]))
}

// The cluster has the claims of the input, and the manifests have the replicas of their kinds: a DaemonSet has one pod for each node.
func TestRead(t *testing.T) {
	w := newWorld()
	w.claim("data", v1.ReadWriteOncePod)
	w.in.Claims = append(w.in.Claims, nil)
	w.in.DaemonSets = []*appsv1.DaemonSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}, Spec: appsv1.DaemonSetSpec{Template: w.web.Spec.Template}}}
	all := checkerOf(t, w)
	got, ok := cluster.List[*v1.PersistentVolumeClaim](all.snap).Get("default", "data")
	require.True(t, ok)
	require.Equal(t, w.in.Claims[0], got)
	require.Equal(t, []int{3, -1}, []int{all.works[0].replicas, all.works[1].replicas})
	require.True(t, all.fits(all.works[1]), "a pod for each node")
	w.claim("", v1.ReadWriteOnce)
	require.Error(t, (&checker{in: w.in}).read(), "a claim has a name")
}

// A selector that cannot be read matches nothing, as does none.
func TestSelects(t *testing.T) {
	set := map[string]string{"app": "web"}
	require.False(t, selects(nil, set))
	require.False(t, selects(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}, set))
	require.True(t, selects(&metav1.LabelSelector{}, set))
	require.True(t, selects(&metav1.LabelSelector{MatchLabels: set}, set))
	require.False(t, selects(&metav1.LabelSelector{MatchLabels: set}, nil))
}

// No more places are looked for than replicas want.
func TestTrial(t *testing.T) {
	w := newWorld()
	for _, replicas := range []int32{0, 1, 3} {
		all := checkerOf(t, w.replicas(replicas))
		for _, keep := range []bool{false, true} {
			got := all.try(all.works[0], keep)
			require.Len(t, got.nodes, int(replicas))
			require.Equal(t, int(replicas), got.want)
			require.Nil(t, got.failed)
		}
	}
}

// Every node is looked at, also in clusters in which kube-scheduler looks at a part of them: the empty node is the best.
func TestTrialOnTheLastNode(t *testing.T) {
	w := newWorld()
	w.objs.Nodes = nil
	for i := range 250 {
		n := testkit.Node(fmt.Sprint("n", i)).Capacity("cpu=4,memory=8Gi").Obj()
		w.objs.Nodes = append(w.objs.Nodes, n)
		w.objs.Pods = append(w.objs.Pods, testkit.Pod(fmt.Sprint("p", i)).Request("cpu=1,memory=2Gi").On(n.Name).Obj())
	}
	w.objs.Pods = w.objs.Pods[:249]
	all := checkerOf(t, w.replicas(1))
	require.Equal(t, []string{"n249"}, all.tried(all.works[0]).nodes)
}

// What is known of a workload is found once, also that no node takes its pods.
func TestKnownOfWorkload(t *testing.T) {
	w := newWorld()
	all := checkerOf(t, w)
	nodes := all.reachable(all.works[0])
	require.NotEmpty(t, nodes)
	require.Same(t, &nodes[0], &all.reachable(all.works[0])[0])
	require.Same(t, &all.usable(all.works[0])[0], &all.usable(all.works[0])[0])
	require.True(t, all.fits(all.works[0]))
	require.Same(t, all.works[0].trial, all.tried(all.works[0]), "the answer is kept")
	w.pod.NodeSelector = map[string]string{"no": "node"}
	all = checkerOf(t, w)
	require.Empty(t, all.reachable(all.works[0]))
	require.Same(t, all.reach(all.works[0]), all.reach(all.works[0]))
}

// Of three constraints each alone must leave a node: two of them together need not.
func TestConflictOfThree(t *testing.T) {
	w := newWorld()
	sixth(w)
	for _, n := range w.objs.Nodes {
		n.Labels["region"] = "r"
	}
	w.spread(1, "region", v1.DoNotSchedule, "web")
	w.spread(1, "row", v1.ScheduleAnyway, "web")
	for k := range 6 { // other pods may have the names of replicas
		w.objs.Pods = append(w.objs.Pods, testkit.Pod(fmt.Sprint("web", k)).On("n1").Obj())
	}
	for _, running := range []bool{false, true} { // the sixth replica has no node, and the fifth beside a pod that the constraints count too
		if running {
			w.objs.Pods = append(w.objs.Pods, testkit.Pod("runs").Labels("app=web").On("n1").Obj())
		}
		all := checkerOf(t, w)
		at, keys := all.conflictOf(all.works[0])
		require.Equal(t, map[bool]int{false: 6, true: 5}[running], at)
		require.Equal(t, []string{zone, host, "region"}, keys)
	}
}

// The others of a workload are the other manifests with replicas, then the pods that run.
func TestOthers(t *testing.T) {
	w := newWorld()
	w.app("db", 1)
	w.app("none", 0)
	ended := testkit.Pod("ended").On("n1").Obj()
	ended.Status.Phase = v1.PodFailed
	w.objs.Pods = []*v1.Pod{testkit.Pod("p1").On("n1").Labels("app=p").Obj(), testkit.Pod("waits").Obj(), ended}
	all := checkerOf(t, w)
	var have []string
	all.others(all.works[0], func(object, ns string, set map[string]string) {
		have = append(have, object+" in "+ns+" app="+set["app"])
	})
	require.Equal(t, []string{"Deployment default/db in default app=db", "Pod default/p1 in default app=p"}, have)
	every := v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{}}
	require.Equal(t, "Deployment default/db", all.found(all.works[0], every), "the first that the term selects")
}

// Templates are judged as the API server stores their pods: what stands in limits alone is requested.
func TestLimitsAlone(t *testing.T) {
	w := newWorld()
	r := &w.pod.Containers[0].Resources
	r.Limits, r.Requests = v1.ResourceList{"cpu": resource.MustParse("5"), "example.com/foo": resource.MustParse("1")}, nil
	found := append(of(t, w, "request-too-large"), of(t, w, "resource-unoffered")...)
	require.Len(t, found, 2)
	require.Contains(t, found[0].Explanation, "the pod asks for 5 cpu")
	require.Contains(t, found[1].Explanation, "no node offers example.com/foo")
	require.Nil(t, r.Requests, "the manifest stays as it is")
}

// A budget with maxUnavailable 0 is not helped by replicas.
func TestMaxUnavailableZero(t *testing.T) {
	for _, zero := range []intstr.IntOrString{intstr.FromInt32(0), intstr.FromString("0%")} {
		w := newWorld()
		b := w.budget("b", "web", 0)
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &zero
		found := of(t, w, "budget-zero")
		require.Len(t, found, 1)
		require.Equal(t, "maxUnavailable "+zero.String()+" refuses every eviction of pods of Deployment default/web, at any number of replicas", found[0].Explanation)
		require.Equal(t, "maxUnavailable: 1", found[0].Fix)
	}
}

// Workloads with the same selector, affinity and tolerations share what is known of the nodes, others do not.
func TestReachIsShared(t *testing.T) {
	w := newWorld()
	w.objs.Nodes[0].Spec.Taints = []v1.Taint{{Key: "a", Effect: v1.TaintEffectNoSchedule}}
	edits := []func(p *v1.PodSpec){
		func(*v1.PodSpec) {},
		func(p *v1.PodSpec) { p.PriorityClassName = "system-node-critical" },
		func(p *v1.PodSpec) { p.NodeSelector = map[string]string{v1.LabelHostname: w.objs.Nodes[0].Name} },
		func(p *v1.PodSpec) { p.Tolerations = []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists}} },
		func(p *v1.PodSpec) {
			p.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{w.objs.Nodes[0].Name}}}}}}}}
		},
	}
	for k, edit := range edits {
		d := w.app(fmt.Sprint("app", k), 1)
		edit(&d.Spec.Template.Spec)
	}
	c := checkerOf(t, w)
	works := c.works[len(c.works)-len(edits):]
	require.Same(t, c.reach(works[0]), c.reach(works[1]), "a priority says nothing of nodes")
	for i, a := range works[1:] {
		for _, b := range works[i+2:] {
			require.NotSame(t, c.reach(a), c.reach(b))
		}
		var usable, open []*v1.Node
		s, _ := affinity.CompileRequired(a.pod)
		for _, n := range c.nodes {
			if s.Matches(n) {
				usable = append(usable, n)
				if taints.Untolerated(n, a.pod.Spec.Tolerations, taints.Options{}) == nil {
					open = append(open, n)
				}
			}
		}
		require.Equal(t, usable, c.usable(a))
		require.Equal(t, open, c.reachable(a))
		sum, largest := int64(0), int64(0)
		for _, n := range open {
			sum += n.Status.Allocatable.Cpu().Value()
		}
		for _, n := range usable {
			largest = max(largest, n.Status.Allocatable.Cpu().Value())
		}
		cpu := c.reach(a).offers[v1.ResourceCPU]
		require.Equal(t, []int64{sum, largest}, []int64{cpu.sum, cpu.largest.Value()})
	}
}

// What other pods leave is what is left when the pods are gone through for each workload, whoever asked before.
func TestLeftIsShared(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	w := newWorld()
	for k := range 200 {
		n := w.objs.Nodes[r.IntN(len(w.objs.Nodes))]
		p := testkit.Pod(fmt.Sprint("p", k)).On(n.Name).Labels(fmt.Sprint("app=app", r.IntN(5))).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", r.IntN(500), r.IntN(500))).Priority(int32(r.IntN(3))).Obj()
		w.objs.Pods = append(w.objs.Pods, p)
	}
	for k := range 4 {
		d := w.app(fmt.Sprint("app", k), 1)
		d.Spec.Template.Labels = map[string]string{"app": fmt.Sprint("app", k)}
	}
	c := checkerOf(t, w)
	for range 3 {
		for k, a := range c.works {
			a.pod.Spec.Priority = new(int32(k % 3))
			left := c.left(a)
			require.Len(t, left, len(c.reachable(a)))
			for i, n := range c.reachable(a) {
				want := n.Status.Allocatable.DeepCopy()
				for _, p := range c.in.Cluster.Pods {
					own := labels.SelectorFromSet(a.pod.Labels).Matches(labels.Set(p.Labels)) && p.Namespace == a.pod.Namespace
					if p.Spec.NodeName == n.Name && !own && podinfo.Priority(p) >= podinfo.Priority(a.pod) {
						requests := overhead.Requests(p, overhead.Options{})
						requests[v1.ResourcePods] = resource.MustParse("1")
						for name, has := range want {
							has.Sub(requests[name])
							want[name] = has
						}
					}
				}
				for name, q := range want {
					require.Zero(t, q.Cmp(left[i].Status.Allocatable[name]), "%s %s", n.Name, name)
				}
			}
		}
	}
}

// A check ends between two manifests, and says so.
func TestStop(t *testing.T) {
	w := newWorld()
	w.app("other", 1)
	for most := range 3 {
		asked := 0
		w.in.Stop = func() bool { asked++; return asked > most }
		found, err := Check(w.in)
		require.ErrorIs(t, err, ErrStopped)
		require.Nil(t, found)
		require.Equal(t, most+1, asked)
	}
	w.in.Stop = func() bool { return false }
	_, err := Check(w.in)
	require.NoError(t, err)
}
