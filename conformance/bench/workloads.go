package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// world is a cluster and the pods that come to it.
type world struct {
	nodes      []*v1.Node
	running    []*v1.Pod
	namespaces []*v1.Namespace
	services   []*v1.Service
	budgets    []*policyv1.PodDisruptionBudget
	slices     []*resourcev1.ResourceSlice
	classes    []*resourcev1.DeviceClass
	claims     []*resourcev1.ResourceClaim
	storage    storage
	nominated  []*v1.Pod // pending pods with status.nominatedNodeName, which nobody decides about
	tie        bool      // podberth chooses among nodes of equal total at random, as kube-scheduler's documentation says
	tenants    bool      // podberth's profile has a plugin of the caller, which allows every node
	again      bool      // podberth has decided about every pod before
	pod        func(i int) *v1.Pod
	limit      int // number of pods there are; 0: any
	before     func(i int) event
}

// event happens to the cluster between two decisions.
type event struct {
	remove    *v1.Pod
	old, node *v1.Node
}

// apps is how many applications there are.
var apps = 20

// workloads by name, in the order in which they are run.
var workloads = []struct {
	name  string
	build func(nodes int) (world, error)
}{
	{"plain", replicas(func(p *v1.Pod, app string) {})},
	{"hard-zone-spread", replicas(func(p *v1.Pod, app string) { addSpread(p, v1.LabelTopologyZone, v1.DoNotSchedule, app) })},
	{"soft-spread", replicas(func(p *v1.Pod, app string) {
		addSpread(p, v1.LabelTopologyZone, v1.ScheduleAnyway, app)
		addSpread(p, v1.LabelHostname, v1.ScheduleAnyway, app)
	})},
	{"default-spread", defaultSpread},
	{"hostname-anti-affinity", replicas(func(p *v1.Pod, app string) { addAnti(p, v1.LabelHostname, app, nil) })},
	{"required-zone-affinity", replicas(func(p *v1.Pod, app string) { addAffinity(p, v1.LabelTopologyZone, app) })},
	{"preferred-affinity", replicas(func(p *v1.Pod, app string) { addPreferred(p, v1.LabelTopologyZone, app) })},
	{"namespace-anti-affinity", namespaceAnti},
	{"host-ports", replicas(addPort)},
	{"mixed", replicas(mixed)},
	{"tie", withTie},
	{"nominated", withNominated(func(*v1.Pod, string) {})},
	{"nominated-mixed", withNominated(mixed)},
	{"user-plugin", withTenants},
	{"churn", churn},
	{"unschedulable", backlog(false)},
	{"unschedulable-again", backlog(true)},
	{"all-distinct", distinct(everyRule)},
	{"all-distinct-spread", distinct(ownSpread)},
	{"all-distinct-affinity", distinct(ownNodes)},
	{"preemption", nil},
	{distinctPreemption, nil},
	{"failures", nil},
	{"gang", nil},
	{"gang-racks", nil},
	{"gang-unequal", nil},
	{"gang-waiting", nil},
	{"volumes-bound", volumes(true, false)},
	{"volumes-waiting", volumes(false, false)},
	{"volumes-mixed", volumes(true, true)},
	{"devices", claims(false)},
	{"devices-distinct", claims(true)},
	{"openb", trace("openb", "--nodes", "1523", "--pods", "8152", "--zones", "3")},
	{"dlrm", trace("dlrm", "--nodes", "7000", "--pods", "23871", "--zones", "3")},
}

func makeNodes(n int, cpu, memory string) []*v1.Node {
	nodes := make([]*v1.Node, n)
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory), v1.ResourcePods: resource.MustParse("500")}
		nodes[i] = &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
				v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3), v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
			}},
			Status: v1.NodeStatus{Capacity: list, Allocatable: list},
		}
	}
	return nodes
}

func makePod(namespace, name, app string) *v1.Pod {
	zero := int32(0)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Priority: &zero, Containers: []v1.Container{{
			Name: "main", Image: "registry.example.com/" + app + ":1",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("200Mi")}},
		}}},
	}
}

func namespace(name string, labels map[string]string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// replicas makes a cluster with two running pods on each node. The pending pods are replicas of 20 applications in turn.
func replicas(constrain func(p *v1.Pod, app string)) func(int) (world, error) {
	return func(n int) (world, error) {
		w := world{nodes: makeNodes(n, "32", "64Gi"), namespaces: []*v1.Namespace{namespace("default", nil)}}
		replica := func(i int, name string) *v1.Pod {
			app := fmt.Sprintf("app-%02d", i%apps)
			p := makePod("default", fmt.Sprintf("%s-%s-%d", app, name, i), app)
			constrain(p, app)
			return p
		}
		w.fill(replica)
		return w, nil
	}
}

// fill puts two running pods on every node and makes pending pods of the same kind.
func (w *world) fill(make func(i int, name string) *v1.Pod) {
	n := len(w.nodes)
	for i := range 2 * n {
		p := make(i, "run")
		p.Spec.NodeName = w.nodes[i%n].Name
		w.running = append(w.running, p)
	}
	w.pod = func(i int) *v1.Pod { return make(i, "new") }
}

func addSpread(p *v1.Pod, key string, when v1.UnsatisfiableConstraintAction, app string) {
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints,
		v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: selector(app)})
}

func affinityOf(p *v1.Pod) *v1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	return p.Spec.Affinity
}

func addAnti(p *v1.Pod, key, app string, namespaces *metav1.LabelSelector) {
	affinityOf(p).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{TopologyKey: key, LabelSelector: selector(app), NamespaceSelector: namespaces},
	}}
}

func addAffinity(p *v1.Pod, key, app string) {
	affinityOf(p).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{TopologyKey: key, LabelSelector: selector(app)},
	}}
}

func addPreferred(p *v1.Pod, key, app string) {
	affinityOf(p).PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
		{Weight: 100, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: key, LabelSelector: selector(app)}},
	}}
}

// addPort gives every application a host port of its own.
func addPort(p *v1.Pod, app string) {
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 8000 + number(app), ContainerPort: 80}}
}

// number returns the number of an application.
func number(app string) int32 {
	var n int32
	if _, err := fmt.Sscanf(app, "app-%d", &n); err != nil {
		panic(err)
	}
	return n
}

// mixed gives every application another rule.
func mixed(p *v1.Pod, app string) {
	n := number(app)
	switch n % 7 {
	case 1:
		addSpread(p, v1.LabelTopologyZone, v1.DoNotSchedule, app)
	case 2:
		addSpread(p, v1.LabelTopologyZone, v1.ScheduleAnyway, app)
		addSpread(p, v1.LabelHostname, v1.ScheduleAnyway, app)
	case 3:
		addAnti(p, v1.LabelHostname, app, nil)
	case 4:
		addAffinity(p, v1.LabelTopologyZone, app)
	case 5:
		addPreferred(p, v1.LabelTopologyZone, app)
	case 6:
		p.Spec.NodeSelector = map[string]string{v1.LabelOSStable: "linux"}
		p.Spec.Tolerations = []v1.Toleration{{Key: "team", Operator: v1.TolerationOpExists}}
	}
	p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(int64(50+10*n), resource.DecimalSI)
}

// defaultSpread has services, so that the built-in default constraints apply.
func defaultSpread(n int) (world, error) {
	w, err := replicas(func(*v1.Pod, string) {})(n)
	for i := range apps {
		app := fmt.Sprintf("app-%02d", i)
		w.services = append(w.services, &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": app}}})
	}
	return w, err
}

// namespaceAnti spreads the pods of an application over ten namespaces and keeps them apart across all of them.
func namespaceAnti(n int) (world, error) {
	const spaces = 10
	team := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "devops"}}
	w := world{nodes: makeNodes(n, "32", "64Gi")}
	for i := range spaces {
		w.namespaces = append(w.namespaces, namespace(fmt.Sprintf("space-%d", i), team.MatchLabels))
	}
	replica := func(i int, name string) *v1.Pod {
		app := fmt.Sprintf("app-%02d", i%apps)
		p := makePod(fmt.Sprintf("space-%d", i/apps%spaces), fmt.Sprintf("%s-%s-%d", app, name, i), app)
		addAnti(p, v1.LabelHostname, app, team)
		return p
	}
	w.fill(replica)
	return w, nil
}

// churn is mixed with a deletion before every second decision, a label update before every tenth and a taint update before
// every tenth.
func churn(n int) (world, error) {
	w, err := replicas(mixed)(n)
	if err != nil {
		return w, err
	}
	current := append([]*v1.Node(nil), w.nodes...)
	w.before = func(i int) (e event) {
		if i == 0 {
			copy(current, w.nodes)
		}
		if i%2 == 0 && i/2 < len(w.running) {
			e.remove = w.running[i/2]
		}
		at := i * 7 % len(current)
		switch i % 10 {
		case 3:
			e.old, e.node = current[at], current[at].DeepCopy()
			e.node.Labels["revision"] = fmt.Sprint(i)
		case 8:
			e.old, e.node = current[at], current[at].DeepCopy()
			if len(e.node.Spec.Taints) > 0 {
				e.node.Spec.Taints = nil
			} else {
				e.node.Spec.Taints = []v1.Taint{{Key: "team", Value: "a", Effect: v1.TaintEffectNoSchedule}}
			}
		}
		if e.node != nil {
			current[at] = e.node
		}
		return e
	}
	return w, nil
}

// unschedulable makes pending pods of 20 applications for which no node has room.
func unschedulable(n int) (world, error) {
	w, err := replicas(mixed)(n)
	pod := w.pod
	w.pod = func(i int) *v1.Pod {
		p := pod(i)
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewQuantity(int64(32+i%apps), resource.DecimalSI)
		return p
	}
	return w, err
}

// distinct gives every pod, running or pending, its own labels, its own request and one constraint.
func distinct(constrain func(p *v1.Pod, i int, app string)) func(int) (world, error) {
	return func(n int) (world, error) {
		w := world{nodes: makeNodes(n, "32", "64Gi"), namespaces: []*v1.Namespace{namespace("default", nil)}}
		w.fill(func(i int, name string) *v1.Pod {
			app := fmt.Sprintf("app-%02d", i%apps)
			p := makePod("default", fmt.Sprintf("%s-%d", name, i), app)
			p.Labels["pod"] = p.Name
			p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = *resource.NewQuantity(int64(200<<20+i), resource.BinarySI)
			constrain(p, i, app)
			return p
		})
		return w, nil
	}
}

// everyRule gives each pod one of five constraints.
func everyRule(p *v1.Pod, i int, app string) {
	switch i % 5 {
	case 0:
		addSpread(p, v1.LabelTopologyZone, v1.DoNotSchedule, app)
	case 1:
		addSpread(p, v1.LabelTopologyZone, v1.ScheduleAnyway, app)
	case 2:
		addAnti(p, v1.LabelHostname, app, nil)
	case 3:
		addAffinity(p, v1.LabelTopologyZone, app)
	case 4:
		addPreferred(p, v1.LabelTopologyZone, app)
	}
}

// ownSpread spreads softly over zones the pods with a label that no other pod has.
func ownSpread(p *v1.Pod, _ int, _ string) {
	addSpread(p, v1.LabelTopologyZone, v1.ScheduleAnyway, "")
	p.Spec.TopologySpreadConstraints[0].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pod": p.Name}}
}

// ownNodes keeps the pod out of one of the zones, with values that no other pod has.
func ownNodes(p *v1.Pod, i int, _ string) {
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpNotIn, Values: []string{fmt.Sprintf("zone-%d", i%3), p.Name}},
		}}},
	}}}
}
