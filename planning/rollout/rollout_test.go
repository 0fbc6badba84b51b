package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
)

const (
	host = v1.LabelHostname
	zone = v1.LabelTopologyZone
)

// given replaces some nodes in their order.
func given(nodes ...string) Options { return Options{Nodes: nodes, Order: Given} }

func TestPlan(t *testing.T) {
	testkit.Run(t, []struct {
		name, why string
		cluster   func(w *world)
		o         Options
		want      []string
	}{
		{"new nodes first", "pods prefer nodes that are new, so that they move once", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
		}, given("n1", "n2", "n3"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n5@0s",
			"2s replace n2 until 4s",
			"  2s..4s: web-1 -> web-1-moved-1 n1@2s",
			"4s replace n3 until 6s",
			"  4s..6s: web-2 -> web-2-moved-1 n2@4s",
		}},
		{"fewest pods first", "pods of early nodes may move twice", func(w *world) {
			w.app("web", "cpu=500m", "n1 n1 n1 n2 n2 n3", nil)
		}, Options{Nodes: []string{"n1", "n2", "n3"}}, []string{
			"0s replace n3 until 2s",
			"  0s..2s: web-5 -> web-5-moved-1 n5@0s",
			"2s replace n2 until 4s",
			"  2s..4s: web-3 -> web-3-moved-1 n3@2s, web-4 -> web-4-moved-1 n4@2s",
			"4s replace n1 until 6s",
			"  4s..6s: web-0 -> web-0-moved-1 n2@4s, web-1 -> web-1-moved-1 n5@4s, web-2 -> web-2-moved-1 n2@4s",
		}},
		{"batch", "two nodes leave together, and their pods go elsewhere", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3", nil)
		}, Options{Nodes: []string{"n1", "n2", "n3"}, Order: Given, Batch: 2}, []string{
			"0s replace n1 n2 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n5@0s, web-1 -> web-1-moved-1 n4@0s",
			"2s replace n3 until 4s",
			"  2s..4s: web-2 -> web-2-moved-1 n1@2s",
		}},
		{"batch that is too large", "web needs four nodes of five: each node is tried alone", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3 n4", apart("web", host))
		}, Options{Nodes: []string{"n1", "n2"}, Order: Given, Batch: 2}, []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n5@0s",
			"2s replace n2 until 4s",
			"  2s..4s: web-1 -> web-1-moved-1 n1@2s",
		}},
		{"surge", "the new node takes the pods, and leaves in the end", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil)
		}, Options{Nodes: []string{"n1"}, Surge: 1}, []string{
			"0s surge n1-surge-1 until 0s",
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n3@0s",
			"2s retire n1-surge-1 until 2s",
		}},
		{"surge stays", "no pod moves twice", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil)
		}, Options{Nodes: []string{"n1"}, Surge: 1, KeepSurge: true}, []string{
			"0s surge n1-surge-1 until 0s",
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n3@0s",
		}},
		{"waves", "the budget lets one pod leave at a time", func(w *world) {
			w.app("web", "cpu=500m", "n1 n1 n1", nil)
			w.budget("web", "web", "max 1")
		}, given("n1"), []string{
			"0s replace n1 until 6s",
			"  0s..2s: web-0 -> web-0-moved-1 n3@0s",
			"  2s..4s: web-1 -> web-1-moved-1 n5@2s",
			"  4s..6s: web-2 -> web-2-moved-1 n2@4s",
		}},
		{"waves of two", "a percentage of maxUnavailable is rounded up", func(w *world) {
			w.app("web", "cpu=500m", "n1 n1 n1", nil)
			w.budget("web", "web", "max 40%")
		}, given("n1"), []string{
			"0s replace n1 until 4s",
			"  0s..2s: web-0 -> web-0-moved-1 n3@0s, web-1 -> web-1-moved-1 n5@0s",
			"  2s..4s: web-2 -> web-2-moved-1 n2@2s",
		}},
		{"stateful", "the set makes the pod again when the old pod is gone", func(w *world) {
			w.stateful("db", "cpu=1", "n1 n1", appsv1.ParallelPodManagement, nil)
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: db-0 -> db-0 n3@2s, db-1 -> db-1 n5@2s",
		}},
		{"ordered", "the set makes one pod after the other", func(w *world) {
			w.stateful("db", "cpu=1", "n1 n1", appsv1.OrderedReadyPodManagement, nil)
		}, given("n1"), []string{
			"0s replace n1 until 4s",
			"  0s..2s: db-0 -> db-0 n3@2s",
			"  2s..4s: db-1 -> db-1 n5@4s",
		}},
		{"room on the way", "the second pod of db fits when the first is on a new node", func(w *world) {
			w.app("a", "cpu=3", "n1", nil)
			w.app("b", "cpu=3", "n2 n3 n4", nil)
		}, given("n1", "n2", "n3"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: a-0 -> a-0-moved-1 n5@0s",
			"2s replace n2 until 4s",
			"  2s..4s: b-0 -> b-0-moved-1 n1@2s",
			"4s replace n3 until 6s",
			"  4s..6s: b-1 -> b-1-moved-1 n2@4s",
		}},
		{"one claim", "a ReadWriteOncePod volume is free when the old pod is gone", func(w *world) {
			w.app("one", "cpu=1", "n1", claiming("data"))
			w.volume("data", "")
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: one-0 -> one-0-moved-1 n3@2s",
		}},
		{"daemon pods", "kubectl drain leaves them where they are", func(w *world) {
			w.pod("DaemonSet", "agent", "agent-1", "n1", template("agent", "cpu=100m", nil))
		}, Options{Nodes: []string{"n1"}, Drain: disruption.DrainOptions{IgnoreDaemonSets: true}}, []string{
			"0s replace n1 until 0s",
		}},
		{"static pods", "they are part of the node", func(w *world) {
			w.pod("Node", "n1", "etcd-n1", "n1", template("etcd", "cpu=100m", nil)).Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
		}, given("n1"), []string{
			"0s replace n1 until 0s",
		}},
		{"bare pod by force", "nobody makes the pod again", func(w *world) {
			w.pod("", "", "bare", "n1", template("bare", "cpu=100m", nil))
		}, Options{Nodes: []string{"n1"}, Drain: disruption.DrainOptions{Force: true}}, []string{
			"0s replace n1 until 2s",
			"  0s..2s: bare",
		}},
		{"unknown controller", "the pod is made again as it was", func(w *world) {
			w.pod("Rollout", "canary", "canary-1", "n1", template("canary", "cpu=1", nil))
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: canary-1 -> canary-1-moved-1 n3@0s",
		}},
		{"another scheduler", "the plan does not know the node", func(w *world) {
			r := w.app("other", "cpu=1", "n1", func(s *v1.PodSpec) { s.SchedulerName = "other" })
			w.objects.Pods[0].Spec.SchedulerName = r.Spec.Template.Spec.SchedulerName
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: other-0 -> other-0-moved-1 @0s",
		}},
		{"another scheduler and a budget", "the new pods are ready in their time and take no room here", func(w *world) {
			r := w.app("other", "cpu=4", "n2 n3", func(s *v1.PodSpec) { s.SchedulerName = "other" })
			for _, p := range w.objects.Pods {
				p.Spec.SchedulerName = r.Spec.Template.Spec.SchedulerName
			}
			w.budget("other", "other", "1")
			w.app("web", "cpu=4", "n4 n5", nil)
		}, Options{Nodes: []string{"n2", "n3", "n4"}, Order: Given, Batch: 2}, []string{
			"0s replace n2 n3 until 4s",
			"  0s..2s: other-0 -> other-0-moved-1 @0s",
			"  2s..4s: other-1 -> other-1-moved-1 @2s",
			"4s replace n4 until 6s",
			"  4s..6s: web-0 -> web-0-moved-1 n1@4s",
		}},
		{"surplus", "the set asks for one pod and has two", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil).Spec.Replicas = new(int32(1))
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0",
		}},
		{"template", "the pod comes back larger than it was", func(w *world) {
			w.app("web", "cpu=1", "n1", nil).Spec.Template.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=3")
			w.app("b", "cpu=2", "n2 n3 n4", nil)
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n5@0s",
		}},
		{"pending pod", "the surge node takes the pod that waits", func(w *world) {
			w.app("b", "cpu=3", "n1 n2 n3 n4 n5", nil)
			w.pod("ReplicaSet", "b", "b-waits", "", template("b", "cpu=3", nil))
			*w.objects.ReplicaSets[0].Spec.Replicas = 6
		}, Options{Nodes: []string{"n1"}, Surge: 2}, []string{
			"0s surge n1-surge-1 n1-surge-2 until 0s",
			"0s settle  until 0s",
			"  0s..0s: b-waits gets n1-surge-1",
			"0s replace n1 until 2s",
			"  0s..2s: b-0 -> b-0-moved-1 n1-surge-2@0s",
			"2s retire n1-surge-1 until 4s",
			"  2s..4s: b-waits -> b-waits-moved-1 n1@2s",
			"n1-surge-2: no-room: default/b-0",
		}},
		{"nominated pod", "first is tried first and leaves n3 to p", func(w *world) {
			for _, name := range []string{"first", "p"} {
				w.pod("", "", name, "", template(name, "cpu=3", nil))
			}
			w.in.Pending[1].Status.NominatedNodeName = "n3"
		}, given("n1"), []string{
			"0s settle  until 0s", "  0s..0s: first gets n5, p gets n3", "0s replace n1 until 0s",
		}},
		{"nominated pod that waits for its victim", "web-0 leaves n2 to p, which preempted there", func(w *world) {
			preempts(w)
			victim := w.pod("", "", "victim", "n2", template("victim", "cpu=1", nil))
			victim.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
			victim.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
		}, given("n1"), []string{"n1: no-room: default/web-0"}},
		{"nominated pod that waits for nobody", "p does not fit on n2 and loses the nomination", func(w *world) {
			preempts(w)
			w.pod("", "", "other", "n2", template("other", "cpu=1", nil))
		}, given("n1"), []string{"0s replace n1 until 2s", "  0s..2s: web-0 -> web-0-moved-1 n2@0s", "2s settle  until 2s", "  2s..2s: p gets n1"}},
		{"pending pods that nobody places", "bound, terminating, finished, of another scheduler, and gated", func(w *world) {
			for i := range 5 {
				w.pod("", "", fmt.Sprint("p", i), "", template("p", "cpu=1", nil))
			}
			w.in.Pending[0].Spec.NodeName = "n1"
			w.in.Pending[1].DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
			w.in.Pending[2].Status.Phase = v1.PodSucceeded
			w.in.Pending[3].Spec.SchedulerName = "other"
			w.in.Pending[4].Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
		}, given("n1"), []string{"0s replace n1 until 0s"}},
		{"room for a pending pod during a drain", "b-1 needs a zone without a, and b-0 stays until b-1 is ready", func(w *world) {
			w.app("a", "cpu=1", "n1", on("n3"))
			w.app("b", "cpu=1", "n1", nil).Spec.Replicas = new(int32(2))
			w.pod("ReplicaSet", "b", "b-1", "", template("b", "cpu=1", func(s *v1.PodSpec) {
				apart("a", zone)(s)
				on("n2")(s)
			}))
			w.budget("b", "b", "1")
		}, given("n1"), []string{
			"0s replace n1 until 4s",
			"  0s..2s: a-0 -> a-0-moved-1 n3@0s",
			"  2s..2s: b-1 gets n2",
			"  2s..4s: b-0 -> b-0-moved-1 n5@2s",
		}},
		{"room that comes during a wave", "db-0 needs a zone without web, and web-0 takes 2s to leave", func(w *world) {
			w.app("web", "cpu=1", "n1", on("n3"))
			w.stateful("db", "cpu=1", "n1", appsv1.OrderedReadyPodManagement, func(s *v1.PodSpec) {
				apart("web", zone)(s)
				on("n2")(s)
			})
			w.objects.Pods[1].Spec.TerminationGracePeriodSeconds = new(int64(1))
		}, given("n1"), []string{
			"0s replace n1 until 3s",
			"  0s..2s: web-0 -> web-0-moved-1 n3@0s",
			"  2s..3s: db-0 -> db-0 n2@3s",
		}},
		{"room that comes in time", "web-0 is gone when db-0 is", func(w *world) {
			w.app("web", "cpu=1", "n1", on("n3"))
			w.stateful("db", "cpu=1", "n1", appsv1.OrderedReadyPodManagement, func(s *v1.PodSpec) {
				apart("web", zone)(s)
				on("n2")(s)
			})
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n3@0s, db-0 -> db-0 n2@2s",
		}},
		{"a pod that stops at once", "web-0 is not tried again when adb-0 has left", func(w *world) {
			w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) {
				apart("adb", zone)(s)
				on("n2")(s)
			})
			w.stateful("adb", "cpu=1", "n1", appsv1.OrderedReadyPodManagement, on("n3"))
		}, Options{Nodes: []string{"n1"}, Stop: func(*v1.Pod) time.Duration { return 0 }}, []string{
			"0s replace n1 until 0s",
			"  0s..0s: adb-0 -> adb-0 n3@0s",
			"  0s..0s: web-0 -> web-0-moved-1 n2@0s",
		}},
		{"ephemeral volumes", "the new pod gets a claim of its own", func(w *world) {
			w.app("scratch", "cpu=1", "n1", func(s *v1.PodSpec) {
				s.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{
					Spec: v1.PersistentVolumeClaimSpec{StorageClassName: new("wait")},
				}}}}}
			})
			mode := storagev1.VolumeBindingWaitForFirstConsumer
			w.objects.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "wait"}, Provisioner: "example.com/disk", VolumeBindingMode: &mode}}
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: scratch-0 -> scratch-0-moved-1 n3@0s",
		}},
		{"terminating", "a pod that leaves already is not made again", func(w *world) {
			w.app("web", "cpu=1", "n1 n2", nil).Spec.Replicas = new(int32(1))
			w.objects.Pods[0].DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0",
		}},
		{"finished", "a finished pod holds nothing", func(w *world) {
			w.app("web", "cpu=1", "n1", nil)
			w.objects.Pods[0].Status.Phase = v1.PodSucceeded
		}, given("n1"), []string{
			"0s replace n1 until 0s",
		}},
		{"sick pod", "IfHealthyBudget lets a pod leave that is not ready, because the budget has its minimum", func(w *world) {
			w.app("web", "cpu=1", "n1 n2 n3", nil)
			w.budget("web", "web", "2")
			sick(w.objects.Pods[0])
		}, given("n1"), []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n5@0s",
		}},
		{"everything without budgets", "DisableEviction asks no budget", func(w *world) {
			w.app("web", "cpu=1", "n1 n1", nil)
			w.budget("web", "web", "2")
		}, Options{Nodes: []string{"n1"}, Drain: disruption.DrainOptions{DisableEviction: true}}, []string{
			"0s replace n1 until 2s",
			"  0s..2s: web-0 -> web-0-moved-1 n3@0s, web-1 -> web-1-moved-1 n5@0s",
		}},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func(w *world)
		o         Options
		want      []string
	}) {
		w := five("cpu=4")
		c.cluster(w)
		require.Equal(t, c.want, lines(w.plan(t, c.o)))
	})
}

// sick makes a pod unready.
func sick(p *v1.Pod) {
	p.Status.Phase = v1.PodRunning
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
}

// The room of the budgets, the spread of the pods, and the pods that move twice.
func TestRoomAndSkew(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n3 n5", spreadOver("web", zone))
	w.budget("web", "web", "2")
	p := w.plan(t, given("n1", "n5"))
	require.Equal(t, []string{
		"0s replace n1 until 2s",
		"  0s..2s: web-0 -> web-0-moved-1 n2@0s",
		"n5: spread: default/web-2",
	}, lines(p), "zone c would have no pod")
	require.Equal(t, []Room{{"default/web", 2, 1, 2}}, p.Steps[0].Budgets)
	require.Equal(t, []Skew{{"ReplicaSet default/web", zone, 0, 1, true}}, p.Steps[0].Skews)
	require.False(t, p.Complete())

	w = five("cpu=4")
	w.app("web", "cpu=3", "n1 n2 n3 n4", nil)
	p = w.plan(t, given("n1", "n5", "n2", "n3"))
	require.Equal(t, []Journey{{"default/web-0", []string{"n1", "n5", "n1"}}}, p.Again)
	require.Equal(t, 4, p.Evictions)
	require.Equal(t, 4, p.Replaced)
	require.True(t, p.Complete())
}

// A surge node gets the pods of the DaemonSets that may run there.
func preempts(w *world) {
	w.app("web", "cpu=3", "n1", nil)
	w.app("full", "cpu=4", "n3 n4 n5", nil)
	p := w.pod("", "", "p", "", template("p", "cpu=4", nil))
	p.Spec.Priority, p.Status.NominatedNodeName = new(int32(9)), "n2"
}

// A pod of a DaemonSet on a surge node gets a name that no other pod has.
func TestNamesOfDaemonsOfSurgeNodes(t *testing.T) {
	agent := template("agent", "cpu=1", nil)
	w := five("cpu=4")
	w.in.DaemonSets = []*appsv1.DaemonSet{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: agent.Labels}, Template: agent},
	}}
	w.pod("", "", "agent-n1-surge-1", "n2", template("same", "cpu=1", nil))
	w.pod("", "", "agent-n1-surge-1-2", "", template("same", "cpu=1", on("n3")))
	w.pod("", "", "agent-n1-surge-1-3", "gone", template("same", "cpu=1", nil))
	w.app("web", "cpu=1", "n1", nil)
	w.pod("", "", "web-0-moved-1", "gone", template("same", "cpu=1", nil))
	x := w.begun(t, Options{Nodes: []string{"n1"}, Surge: 1})
	x.surge()
	require.Equal(t, "agent-n1-surge-1-4", x.onNode["n1-surge-1"][0].obj.Name)
	require.Contains(t, lines(w.plan(t, Options{Nodes: []string{"n1"}, Surge: 1})), "  0s..2s: web-0 -> web-0-moved-2 n5@0s")
}

func TestDaemonsOfSurgeNodes(t *testing.T) {
	w := five("cpu=4")
	w.in.DaemonSets = []*appsv1.DaemonSet{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent", "cpu=2", nil),
		},
	}}
	w.app("web", "cpu=3", "n1 n2 n3 n4 n5", nil)
	o := Options{Nodes: []string{"n1"}, Surge: 1, KeepSurge: true}
	require.Equal(t, []string{"0s surge n1-surge-1 until 0s", "n1: no-room: default/web-0"}, lines(w.plan(t, o)), "the agent takes two of four")
	w.in.DaemonSets[0].Spec.Template.Spec.NodeSelector = map[string]string{zone: "b"}
	require.Equal(t, []string{
		"0s surge n1-surge-1 until 0s", "0s replace n1 until 2s", "  0s..2s: web-0 -> web-0-moved-1 n1-surge-1@0s",
	}, lines(w.plan(t, o)), "no agent in zone a")
	w.in.DaemonSets[0].Spec.Template.Spec.NodeSelector = nil
	w.in.DaemonSets[0].Spec.Template.Spec.PriorityClassName = "none"
	require.Len(t, w.plan(t, o).Steps, 2, "the API server does not admit the agent")
	o.KeepSurge = false
	w.in.DaemonSets[0].Spec.Template.Spec.PriorityClassName = ""
	o.Shape = testkit.Node("big").Capacity("cpu=8").Obj()
	o.Drain.IgnoreDaemonSets = true
	require.Equal(t, []string{
		"0s surge big-surge-1 until 0s", "0s replace n1 until 2s", "  0s..2s: web-0 -> web-0-moved-1 big-surge-1@0s",
		"2s retire big-surge-1 until 4s", "  2s..4s: web-0-moved-1 -> web-0-moved-2 n1@2s",
	}, lines(w.plan(t, o)), "the agent leaves with its node")
}

// Progress hears of every batch. Pool chooses nodes by label.
func TestProgressAndPool(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", apart("web", host))
	p := w.planner(t)
	require.Equal(t, []string{"n1", "n2", "n3", "n4", "n5"}, p.Pool(nil))
	pool := p.Pool(labels.SelectorFromSet(labels.Set{zone: "b"}))
	require.Equal(t, []string{"n3", "n4"}, pool)
	var heard []int
	_, err := p.Plan(Options{Batch: 2, Progress: func(done, total int) { heard = append(heard, done, total) }})
	require.NoError(t, err)
	require.Equal(t, []int{2, 5, 4, 5, 5, 5}, heard)
}
