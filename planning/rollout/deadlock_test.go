package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// remedied is what the tests say about a remedy: the text, with "no: " in front when the remedy does not hold.
func remedied(list []Remedy) (out []string) {
	for _, r := range list {
		if r.Holds {
			out = append(out, r.Text)
		} else {
			out = append(out, "no: "+r.Text)
		}
	}
	return out
}

// Every kind of deadlock, planted: its proof, and the smallest remedy, for which the plan was made again.
func TestDeadlocks(t *testing.T) {
	testkit.Run(t, []struct {
		name, why string
		cluster   func(w *world)
		o         Options
		kind      Kind
		proof     string
		remedies  []string
	}{
		{"replicas equal minAvailable", "no pod may ever leave", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil)
			w.budget("web", "web", "2")
		}, given("n1"), Never, "budget default/web demands 2 healthy pods of 2 expected: 2 - 2 leaves none to disrupt", []string{"minAvailable 1 in place of 2 in budget default/web"}},
		{"maxUnavailable 0", "one replica more does not help", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil)
			w.budget("web", "web", "max 0")
		}, given("n1"), Never, "budget default/web demands 2 healthy pods of 2 expected: 2 - 2 leaves none to disrupt", []string{"maxUnavailable 1 in place of 0 in budget default/web"}},
		{"percentage that rounds to all", "90% of 3 is 2.7, which is rounded up", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3", nil)
			w.budget("web", "web", "90%")
		}, given("n1"), Never, "budget default/web demands 3 healthy pods of 3 expected: 3 - 3 leaves none to disrupt (minAvailable 90% of 3, rounded up)", []string{"minAvailable 2 in place of 90% in budget default/web"}},
		{"two budgets", "the Eviction API answers 500", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3", nil)
			w.budget("one", "web", "1")
			w.budget("two", "web", "max 1")
		}, given("n1"), Several, "2 budgets cover the pod: default/one, default/two", []string{"no budget default/one"}},
		{"sick pods", "two of four pods are not ready, and the budget demands three", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3 n4", nil)
			sick(w.objects.Pods[0])
			sick(w.objects.Pods[1])
			w.budget("web", "web", "3")
		}, given("n1"), Unhealthy, "budget default/web demands 3 healthy pods of 4 and has 2; not ready: default/web-0, default/web-1; unhealthyPodEvictionPolicy IfHealthyBudget", []string{"unhealthyPodEvictionPolicy AlwaysAllow in budget default/web"}},
		{"a healthy pod beside sick pods", "AlwaysAllow does not let a healthy pod leave", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3 n4", nil)
			sick(w.objects.Pods[1])
			w.budget("web", "web", "3")
		}, given("n1"), Unhealthy, "budget default/web demands 3 healthy pods of 4 and has 3; not ready: default/web-1; unhealthyPodEvictionPolicy IfHealthyBudget", []string{"no: unhealthyPodEvictionPolicy AlwaysAllow in budget default/web", "minAvailable 2 in place of 3 in budget default/web"}},
		{"a budget that cannot be counted", "a Job has no scale", func(w *world) {
			w.in.Jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "work"}, Spec: batchv1.JobSpec{
				Parallelism: new(int32(2)), Completions: new(int32(2)), Template: template("work", "cpu=1", func(s *v1.PodSpec) { s.RestartPolicy = v1.RestartPolicyNever }),
			}}}
			for i, n := range []string{"n1", "n2"} {
				p := w.pod("Job", "work", []string{"work-0", "work-1"}[i], n, w.in.Jobs[0].Spec.Template)
				p.OwnerReferences[0].APIVersion = "batch/v1"
			}
			w.budget("work", "work", "max 1")
		}, given("n1"), Uncountable, "budget default/work allows nothing: jobs.batch does not implement the scale subresource", []string{"minAvailable 1 in budget default/work"}},
		{"anti-affinity on every node", "as many pods as nodes", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3 n4 n5", apart("web", host))
		}, given("n1"), AntiAffinity, "InterPodAffinity rejects 4 of the 4 nodes that take pods, 4 of them alone; ReplicaSet default/web asks for 5 pods; it allows n1 alone, which is being replaced", []string{"1 surge node like n1"}},
		{"two nodes in the wrong order", "a fits on n5 when b has left, and n1 comes first", func(w *world) {
			w.app("a", "cpu=3", "n1 n2 n3 n4", nil)
			w.app("b", "cpu=1500m", "n5", nil)
			w.objects.ReplicaSets[1].Spec.Template.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=1")
		}, given("n1", "n5"), NoRoom, "NodeResourcesFit rejects 4 of the 4 nodes that take pods, 4 of them alone; n2: cpu: asks for 3, 1 of 4 are free", []string{"nodes n1 and n5 in swapped order"}},
		{"a volume of a zone with one node", "the volume of zone c reaches n5 alone", func(w *world) {
			w.stateful("db", "cpu=1", "n5", appsv1.OrderedReadyPodManagement, claiming("data"))
			w.volume("data", "c")
		}, given("n5"), Volumes, "VolumeBinding rejects 4 of the 4 nodes that take pods, 4 of them alone; it allows n5 alone, which is being replaced", []string{"1 surge node like n5"}},
		{"a pod that fits nowhere else", "the other nodes are half full", func(w *world) {
			w.app("big", "cpu=3", "n1", nil)
			w.app("half", "cpu=2", "n2 n3 n4 n5", nil)
		}, given("n1"), NoRoom, "NodeResourcesFit rejects 4 of the 4 nodes that take pods, 4 of them alone; n2: cpu: asks for 3, 2 of 4 are free", []string{"1 surge node like n1"}},
		{"a zone that would be empty", "DoNotSchedule spread over zones, and zone c has one node", func(w *world) {
			w.app("web", "cpu=1", "n1 n3 n5", spreadOver("web", zone))
		}, given("n5"), Spread, "PodTopologySpread rejects 4 of the 4 nodes that take pods, 4 of them alone; it allows n5 alone, which is being replaced", []string{"1 surge node like n5"}},
		{"budgets that starve each other", "a-1 waits for the place of b-0, b-1 for the place of a-0", func(w *world) {
			w.objects.Nodes = w.objects.Nodes[:2]
			w.half("a", "n1")
			w.half("b", "n2")
		}, given("n1", "n2"), Cycle, "default/a needs 1 healthy pods and has 1: default/a-1 waits for the place of default/b-0; default/b needs 1 healthy pods and has 1: default/b-1 waits for the place of default/a-0", []string{"no: unhealthyPodEvictionPolicy AlwaysAllow in budget default/a", "no: unhealthyPodEvictionPolicy AlwaysAllow in budget default/b", "no: minAvailable 0 in place of 1 in budget default/a", "no: minAvailable 0 in place of 1 in budget default/b", "no: 1 surge node like n1, to stay", "no: 2 surge nodes like n1, to stay", "3 surge nodes like n1, to stay"}},
		{"a bare pod", "kubectl drain refuses", func(w *world) {
			w.pod("", "", "bare", "n1", template("bare", "cpu=1", nil))
		}, given("n1"), Pinned, "cannot delete Pods that declare no controller (use --force to override)", nil},
		{"a DaemonSet pod", "kubectl drain refuses", func(w *world) {
			w.pod("DaemonSet", "agent", "agent-1", "n1", template("agent", "cpu=1", nil))
		}, given("n1"), Pinned, "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", []string{"--ignore-daemonsets"}},
		{"local data", "kubectl drain refuses", func(w *world) {
			w.app("cache", "cpu=1", "n1", func(s *v1.PodSpec) {
				s.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			})
		}, given("n1"), Pinned, "cannot delete Pods with local storage (use --delete-emptydir-data to override)", []string{"--delete-emptydir-data, and what the pod has in its emptyDir is lost"}},
		{"an annotation", "safe-to-evict is false", func(w *world) {
			w.app("web", "cpu=1", "n1", nil)
			w.objects.Pods[0].Annotations = map[string]string{SafeToEvict: "false"}
		}, given("n1"), Pinned, "annotation cluster-autoscaler.kubernetes.io/safe-to-evict is false", []string{"no cluster-autoscaler.kubernetes.io/safe-to-evict on default/web-0"}},
		{"an ordered set", "the first pod is not ready, so the set makes no other pod", func(w *world) {
			w.stateful("db", "cpu=1", "n2 n1", appsv1.OrderedReadyPodManagement, nil)
			sick(w.objects.Pods[0])
		}, given("n1"), WaitsForOther, "StatefulSet default/db makes no more pods: pod db-0 is not running and ready", nil},
		{"a scheduling gate", "nobody tries the replacement", func(w *world) {
			w.app("web", "cpu=1", "n1", nil).Spec.Template.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
		}, given("n1"), WaitsForOther, "the replacement has scheduling gates: waiting for scheduling gates: [example.com/wait]", nil},
		{"a bare pod under a budget", "one replica more is no remedy for a pod without a controller", func(w *world) {
			w.pod("", "", "bare", "n1", template("bare", "cpu=1", nil))
			w.budget("bare", "bare", "1")
		}, Options{Nodes: []string{"n1"}, Drain: disruption.DrainOptions{Force: true}}, Never, "budget default/bare demands 1 healthy pods of 1 expected: 1 - 1 leaves none to disrupt", []string{"minAvailable 0 in place of 1 in budget default/bare"}},
		{"bare pods under maxUnavailable", "maxUnavailable counts no pods without a controller", func(w *world) {
			w.pod("", "", "bare", "n1", template("bare", "cpu=1", nil))
			one := intstr.FromInt32(1)
			b := w.budget("bare", "bare", "1")
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &one
		}, Options{Nodes: []string{"n1"}, Drain: disruption.DrainOptions{Force: true}}, Never, "budget default/bare expects 0 pods and allows no disruption of that", []string{"minAvailable 0 in place of maxUnavailable 1 in budget default/bare"}},
		{"a budget without a rule", "it expects no pods and allows nothing", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil)
			w.budget("web", "web", "1").Spec.MinAvailable = nil
		}, given("n1"), Never, "budget default/web expects 0 pods and allows no disruption of that", []string{"minAvailable 0 in place of nothing in budget default/web"}},
		{"a claim that does not exist", "no node is asked", func(w *world) {
			w.app("web", "cpu=1", "n1", claiming("lost"))
		}, given("n1"), Volumes, `0/5 nodes are available: persistentvolumeclaim "lost" not found.`, []string{"no: 1 surge node like n1", "no: 2 surge nodes like n1", "no: 3 surge nodes like n1"}},
		{"the only node that takes pods", "every other node is cordoned", func(w *world) {
			w.app("web", "cpu=1", "n1", nil)
			for _, n := range w.objects.Nodes[1:] {
				n.Spec.Unschedulable = true
			}
		}, given("n1"), NoRoom, "no node takes pods: 0/5 nodes are available: 5 node(s) were unschedulable.", []string{"1 surge node like n1"}},
		{"numbers of a node that takes pods", "n2 is cordoned, and the pod tolerates that", func(w *world) {
			tolerant := func(s *v1.PodSpec) {
				s.Tolerations = []v1.Toleration{{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists}}
			}
			w.app("big", "cpu=3", "n1", tolerant)
			w.app("half", "cpu=2", "n2 n3 n4 n5", nil)
			w.app("rest", "cpu=2", "n1", nil)
			w.objects.Pods[0].Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=1")
			w.objects.Nodes[1].Spec.Unschedulable = true
			w.objects.Pods[5].Spec.TerminationGracePeriodSeconds = new(int64(0))
			w.budget("rest", "rest", "1")
		}, given("n1"), NoRoom, "NodeResourcesFit rejects 3 of the 3 nodes that take pods, 3 of them alone; n3: cpu: asks for 3, 2 of 4 are free", []string{"1 surge node like n1"}},
		{"numbers of the plugin that rejects most nodes", "another plugin rejects n2", func(w *world) {
			w.app("big", "cpu=3", "n1", nil)
			w.app("half", "cpu=2", "n3 n4 n5", nil)
			w.objects.Nodes[1].Spec.Taints = testkit.Taints("disk=slow:NoSchedule")
		}, given("n1"), NoRoom, "NodeResourcesFit rejects 3 of the 4 nodes that take pods, 3 of them alone; n3: cpu: asks for 3, 2 of 4 are free", []string{"1 surge node like n1"}},
		{"a time-out", "three waves of 2s do not fit into 5s", func(w *world) {
			w.app("web", "cpu=1", "n1 n1 n1", nil)
			w.budget("web", "web", "max 1")
		}, Options{Nodes: []string{"n1"}, Timeout: 5 * time.Second}, Late, "the drain may take 5s, and is over with this number of pods left: 1", []string{"no time-out"}},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func(w *world)
		o         Options
		kind      Kind
		proof     string
		remedies  []string
	}) {
		w := five("cpu=4")
		c.cluster(w)
		c.o.Remedies = 8
		p := w.plan(t, c.o)
		require.NotEmpty(t, p.Blocked)
		d := p.Blocked[0]
		require.Equal(t, []any{c.kind, c.proof, c.remedies}, []any{d.Kind, d.Proof, remedied(d.Remedies)})
	})
}

// half is an app of two pods of which the second waits for a node.
func (w *world) half(name, node string) {
	t := template(name, "cpu=3", nil)
	w.app(name, "cpu=3", node, nil).Spec.Replicas = new(int32(2))
	w.pod("ReplicaSet", name, name+"-1", "", t)
	w.budget(name, name, "1")
}

// Every change for a budget that allows nothing is tried on its own.
func TestEveryRemedy(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.budget("web", "web", "2")
	w.stateful("db", "cpu=1", "n3 n4", appsv1.OrderedReadyPodManagement, claiming("data"))
	w.objects.StatefulSets[0].Spec.VolumeClaimTemplates = []v1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: v1.PersistentVolumeClaimSpec{StorageClassName: new("wait")},
	}}
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	w.objects.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "wait"}, Provisioner: "example.com/disk", VolumeBindingMode: &mode}}
	w.budget("db", "db", "2")
	w.volume("data", "b")
	rc := template("rc", "cpu=1", nil)
	w.objects.ReplicationControllers = []*v1.ReplicationController{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rc"},
		Spec:       v1.ReplicationControllerSpec{Replicas: new(int32(1)), Selector: rc.Labels, Template: &rc},
	}}
	w.pod("ReplicationController", "rc", "rc-0", "n5", rc).OwnerReferences[0].APIVersion = "v1"
	w.budget("rc", "rc", "1")
	w.pod("Rollout", "canary", "canary", "n5", template("canary", "cpu=1", nil)) // its controller is not known
	w.budget("canary", "canary", "1")
	w.job(batchv1.Failed)
	w.budget("work", "work", "1")
	w.in.Pending = make([]*v1.Pod, 0, 4)
	x := w.begun(t, Options{Drain: disruption.DrainOptions{Force: true}})
	x.play()
	x.finish()
	var got []string
	for i := range x.plan.Blocked {
		for _, c := range x.changes(&x.plan.Blocked[i]) {
			holds, err := x.try(c, &x.plan.Blocked[i])
			require.NoError(t, err)
			got = append(got, fmt.Sprint(c.text, ": ", holds))
		}
	}
	require.Equal(t, make([]*v1.Pod, 4), w.in.Pending[:4], "a replica more waits in a list of its own")
	require.Equal(t, []string{
		"minAvailable 1 in place of 2 in budget default/web: true",
		"one replica more of ReplicaSet default/web (3): true",
		"minAvailable 1 in place of 2 in budget default/db: true",
		"one replica more of StatefulSet default/db (3): true",
		"minAvailable 0 in place of 1 in budget default/work: true",
		"minAvailable 0 in place of 1 in budget default/canary: true",
		"minAvailable 0 in place of 1 in budget default/rc: true",
		"one replica more of ReplicationController default/rc (2): true",
	}, got)
}

// Deadlocks are one when kind and proof are the same, of one node and of several.
func TestMerge(t *testing.T) {
	one := func(node, pod string, kind Kind, proof string) Deadlock {
		return Deadlock{Kind: kind, Proof: proof, Nodes: []string{node}, Pods: []string{pod}}
	}
	shared := []string{"n1", ""}[:1]
	first := one("", "a", Pinned, "x")
	first.Nodes = shared
	require.Equal(t, []Deadlock{
		{Kind: Pinned, Proof: "x", Nodes: []string{"n1", "n2", "n3"}, Pods: []string{"a", "b", "e"}},
		one("n2", "c", Late, "x"), one("n2", "d", Pinned, "y"),
	}, merge([]Deadlock{first, one("n2", "b", Pinned, "x"), one("n2", "c", Late, "x"), one("n2", "d", Pinned, "y"), one("n3", "e", Pinned, "x")}))
	require.Equal(t, []string{"n1", ""}, shared[:2], "the list of the first deadlock does not change")

	g := groups{nodes: []string{"n1"}}
	for _, d := range []Deadlock{{Kind: Pinned, Proof: "x"}, {Kind: Late, Proof: "x"}, {Kind: Pinned, Proof: "y"}, {Kind: Pinned, Proof: "x"}} {
		g.add(d, &item{origin: testkit.Pod(fmt.Sprint("p", len(g.list))).Obj()})
	}
	var got []string
	for _, d := range g.list {
		got = append(got, fmt.Sprint(d.Kind, " ", d.Proof, d.Nodes, d.Pods))
	}
	require.Equal(t, []string{"pinned x[n1] [default/p0 default/p3]", "timeout x[n1] [default/p1]", "pinned y[n1] [default/p2]"}, got)
}

// silent is a user's plugin that allows n1 alone and gives no numbers.
type silent struct{ placement.Cluster }

func (silent) Name() string                       { return "Silent" }
func (silent) Reasons(resources.Verdict) []string { return []string{"no"} }
func (p silent) Check(i int) resources.Verdict {
	if p.Node(i).Name == "n1" {
		return 0
	}
	return 1
}

// The proof has no figures when the plugin that rejects most nodes gives none.
func TestPluginWithoutNumbers(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	w.in.Profile = placement.DefaultProfile()
	w.in.Profile.Filters = append(w.in.Profile.Filters, &placement.Plugin{Name: "Silent", Filter: func(_ *v1.Pod, c placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: silent{c}}
	}})
	w.objects.Nodes = append(w.objects.Nodes, testkit.Node("gone").Obj())
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	require.NoError(t, s.Remove(s.Node(s.Slot("gone"))), "a free slot has no figures either")
	w.in.Snapshot = s
	last, first := w.in.Profile.Filters, slices.Clone(w.in.Profile.Filters)
	slices.Reverse(first)
	for _, filters := range [][]*placement.Plugin{last, first} { // wherever the plugin is in the list
		w.in.Profile.Filters = filters
		p, err := New(w.in)
		require.NoError(t, err)
		plan, err := p.Plan(given("n1"))
		require.NoError(t, err)
		d := plan.Blocked[0]
		require.Equal(t, NoRoom, d.Kind)
		require.Equal(t, "Silent rejects 4 of the 4 nodes that take pods, 4 of them alone", d.Proof)
	}
}

// Pods of a budget that are not ready, with and without a node, by name.
func TestUnready(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n3 n2 n1", nil)
	sick(w.objects.Pods[0])
	sick(w.objects.Pods[1])
	for _, name := range []string{"web-z", "web-a", "web-m"} {
		w.pod("ReplicaSet", "web", name, "", template("web", "cpu=9", nil))
	}
	w.budget("web", "web", "1")
	x := w.begun(t, Options{})
	slices.Reverse(x.budgets.pods[0])
	sick, waiting := x.unready(0)
	require.Equal(t, []string{"default/web-0", "default/web-1"}, sick)
	require.Equal(t, []string{"default/web-a", "default/web-m", "default/web-z"}, waiting)
}

// The changes that are tried for each kind of deadlock, in their order.
func TestChanges(t *testing.T) {
	texts := func(pending int, d Deadlock, o Options) (out []string) {
		w := five("cpu=4")
		w.app("web", "cpu=1", "n1 n2", nil)
		w.budget("web", "web", "2")
		for i := range pending {
			w.pod("", "", fmt.Sprint("waits-", i), "", template("waits", "cpu=9", nil))
		}
		d.Nodes, d.Budgets = []string{"n2"}, []string{"default/web"}
		x := w.begun(t, o)
		x.mark()
		for _, c := range x.changes(&d) {
			out = append(out, c.text)
		}
		return out
	}
	sickLeave, looser := "unhealthyPodEvictionPolicy AlwaysAllow in budget default/web", "minAvailable 1 in place of 2 in budget default/web"
	for _, kind := range []Kind{Unhealthy, Cycle} {
		require.Equal(t, []string{sickLeave, looser}, texts(0, Deadlock{Kind: kind}, Options{}))
		require.Equal(t, []string{sickLeave, looser, "1 surge node like n2, to stay", "2 surge nodes like n2, to stay", "3 surge nodes like n2, to stay"},
			texts(1, Deadlock{Kind: kind}, Options{}))
	}
	room := Deadlock{Kind: NoRoom}
	orders := []string{"nodes n2 and n5 in swapped order", "nodes n2 and n3 in swapped order", "nodes n2 and n1 in swapped order"}
	more := func(from int, like string) (out []string) {
		for n := from; n < from+3; n++ {
			out = append(out, fmt.Sprintf("%d surge nodes like %s", n, like))
		}
		return out
	}
	require.Equal(t, slices.Concat(orders, []string{"1 surge node like n2"}, more(1, "n2")[1:]), texts(0, room, Options{Order: Given}))
	require.Equal(t, slices.Concat(orders, []string{"1 surge node like n2"}, more(1, "n2")[1:]), texts(0, room, Options{Order: Given, Surge: 2}), "surge nodes like n1")
	nodes := []string{"n2", "n1"}
	require.Equal(t, slices.Concat([]string{"nodes n2 and n1 in swapped order"}, more(3, "n2")), texts(0, room, Options{Order: Given, Surge: 2, Nodes: nodes}), "surge nodes like n2")
	require.Equal(t, []string{"minAvailable 1 in budget default/web"}, texts(0, Deadlock{Kind: Uncountable}, Options{}))
	require.Equal(t, []string{"no budget default/web"}, texts(0, Deadlock{Kind: Several}, Options{}))
	require.Equal(t, []string{looser}, texts(0, Deadlock{Kind: Never}, Options{}))
	require.Empty(t, texts(0, Deadlock{Kind: WaitsForOther}, Options{}))
}
