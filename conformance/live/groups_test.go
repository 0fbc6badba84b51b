package live

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1alpha3"
	"k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/live/daemon"
)

var withGroups = flag.Bool("groups", false, "the feature gates of groups are on in this process: for the tests of groups, which start it")

// runWithGroups runs a test in a process of its own, and returns what it printed: feature gates are those of a process.
func runWithGroups(t *testing.T, test string, flags ...string) string {
	t.Helper()
	args := append([]string{"-test.run=^" + test + "$", "-test.v", "-groups", "-late=" + lateBy.String()}, flags...)
	out, err := exec.CommandContext(t.Context(), os.Args[0], args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// groupFlags turn groups on in the API server, and so in kube-scheduler, which is part of the process.
var groupFlags = []string{
	"--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
	"--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true,PodGroupPreemptionPolicy=true,DRAWorkloadResourceClaims=true",
}

// groupGates are the gates of groupFlags for the daemon.
var groupGates = podgroup.Gates{Topology: true, Composites: true, PreemptionPolicy: true, Claims: true}

// Groups of pods come, wait, preempt and leave: both schedulers leave the same pods, groups, claims, events and requests, and have the same
// metrics.
func TestGroups(t *testing.T) {
	if !*withGroups {
		runWithGroups(t, "TestGroups")
		return
	}
	registry := prometheus.NewRegistry()
	var gauges func()
	compare(t, groupScenarios, func(w *world, _ *testing.T) string {
		w.groups, w.started = &groupGates, func(d *daemon.Daemon) { gauges = d.Gauges }
		w.registry = registry
		return scenariosConfig
	}, groupFlags...)
	t.Run("metrics", func(t *testing.T) {
		gauges()
		comparePages(t, registry)
	})
}

// podGroup makes a gang; 0 is a basic group.
func (w *world) podGroup(name string, minimum int32, change ...func(*v1beta1.PodGroup)) {
	w.t.Helper()
	g := &v1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	g.Spec.SchedulingPolicy.Basic = &v1beta1.BasicSchedulingPolicy{}
	if minimum > 0 {
		g.Spec.SchedulingPolicy = v1beta1.PodGroupSchedulingPolicy{Gang: &v1beta1.GangSchedulingPolicy{MinCount: minimum}}
	}
	for _, f := range change {
		f(g)
	}
	g, err := w.api.SchedulingV1beta1().PodGroups("default").Create(w.ctx, g, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(groupKind, g)
}

func highGroup(g *v1beta1.PodGroup) { g.Spec.PriorityClassName = "high" }

func byZone(g *v1beta1.PodGroup) {
	g.Spec.SchedulingConstraints = &v1beta1.PodGroupSchedulingConstraints{Topology: []v1beta1.TopologyConstraint{{Key: "zone"}}}
}

func inZone(zone string) func(*v1.Node) { return func(n *v1.Node) { n.Labels["zone"] = zone } }

// in makes the pod a member of a group.
func in(group string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group} }
}

func gated(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/g"}} }

// patchGroup changes the spec of a group.
func (w *world) patchGroup(name, patch string) {
	w.t.Helper()
	_, err := w.api.SchedulingV1beta1().PodGroups("default").Patch(w.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// removeGroup deletes a group, with the finalizer that a controller would take away.
func (w *world) removeGroup(name string) {
	w.t.Helper()
	w.patchGroup(name, `{"metadata":{"finalizers":null}}`)
	require.NoError(w.t, w.api.SchedulingV1beta1().PodGroups("default").Delete(w.ctx, name, metav1.DeleteOptions{}))
}

// groupSays waits for the reason of a group's condition.
func (w *world) groupSays(name, reason string) {
	w.t.Helper()
	w.until("group "+name+" says "+reason, func() bool {
		g, err := w.api.SchedulingV1beta1().PodGroups("default").Get(w.ctx, name, metav1.GetOptions{})
		return err == nil && len(g.Status.Conditions) > 0 && g.Status.Conditions[0].Reason == reason
	})
}

// wipeGroups removes all groups.
func (w *world) wipeGroups() {
	w.t.Helper()
	if w.groups == nil {
		return
	}
	list, err := w.api.SchedulingV1beta1().PodGroups("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	trees, err := w.api.SchedulingV1alpha3().CompositePodGroups("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for k := range list.Items {
		w.removeGroup(list.Items[k].Name)
		w.objectGone(groupKind, &list.Items[k])
	}
	require.NoError(w.t, w.api.SchedulingV1alpha3().CompositePodGroups("default").DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	for k := range trees.Items {
		w.objectGone(compositeGroupKind, &trees.Items[k])
	}
}

// groupLines are what the groups say.
func (w *world) groupLines() (out []string) {
	w.t.Helper()
	if w.groups == nil {
		return nil
	}
	list, err := w.api.SchedulingV1beta1().PodGroups("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, g := range list.Items {
		line := "group " + g.Name
		for _, c := range g.Status.Conditions {
			line += fmt.Sprintf(" %s=%s/%s/%s/%d", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration)
		}
		out = append(out, line)
	}
	return out
}

// eitherMember are the writes of a tree whose groups come in either order.
var eitherMember = []string{"write PATCH pods/xa/status 200", "write PATCH pods/ya/status 200"}

// whileLeaving are the lines of the attempts of a gang whose victims leave.
var whileLeaving = []string{"event a Warning FailedScheduling *ongoing preemption on nominated nodes", "event b Warning FailedScheduling *1 Insufficient cpu.*", "write DELETE pods/v2 404", "write PATCH pods/v2/status 4*"}

var groupScenarios = []scenario{
	{name: "a gang that fits", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		w.podGroup("g", 2)
		w.pod("a", "1", in("g"))
		w.pod("b", "1", in("g"))
		w.bound("a", "n1")
		w.bound("b", "n1")
		w.groupSays("g", "Scheduled")
	}},
	{name: "a gang without room for one member", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.podGroup("g", 3)
		for _, name := range []string{"a", "b", "c"} {
			w.pod(name, "1", in("g"))
		}
		w.unschedulable("c", "Insufficient cpu")
		w.groupSays("g", "Unschedulable")
		w.node("n2", "8") // the best node for each, whichever member the queue gives first
		w.bound("a", "n2")
		w.bound("b", "n2")
		w.bound("c", "n2")
	}},
	{name: "a gang waits for its last pod", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		w.podGroup("g", 3)
		w.pod("a", "1", in("g"))
		w.pod("b", "1", in("g"))
		w.settle()
		w.pod("c", "1", in("g"))
		w.bound("a", "n1")
		w.bound("b", "n1")
		w.bound("c", "n1")
	}},
	{name: "pods wait for their group", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		w.pod("a", "1", in("g"))
		w.pod("b", "1", in("g"))
		w.settle()
		w.podGroup("g", 2)
		w.bound("a", "n1")
		w.bound("b", "n1")
	}},
	{name: "one gated member holds all", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		w.podGroup("g", 2)
		w.pod("a", "1", in("g"), gated)
		w.pod("b", "1", in("g"))
		w.pod("c", "1", in("g"))
		w.settle()
		_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, "a", types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
		require.NoError(w.t, err)
		w.bound("a", "n1")
		w.bound("b", "n1")
		w.bound("c", "n1")
	}},
	{name: "members that disagree with their group", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		w.podGroup("g", 1, highGroup)
		w.pod("a", "1", in("g"))
		w.groupSays("g", "SchedulerError")
		w.event("FailedScheduling", "a")
	}},
	{name: "a smaller minimum frees a gang", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		w.podGroup("g", 3)
		w.pod("a", "1", in("g"))
		w.pod("b", "1", in("g"))
		w.settle()
		w.patchGroup("g", `{"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}}`)
		w.bound("a", "n1")
		w.bound("b", "n1")
	}},
	{name: "a gang preempts, and its victims take their time", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.pod("v1", "1", grace(2))
		w.bound("v1", "n1")
		w.boundSeen("v1", "n1")
		w.pod("v2", "1")
		w.bound("v2", "n1")
		w.boundSeen("v2", "n1")
		w.podGroup("g", 2, highGroup)
		w.pod("a", "1", in("g"), high)
		w.pod("b", "1", in("g"), high)
		w.until("v1 is leaving", func() bool { return w.get("v1").DeletionTimestamp != nil })
		w.until("the next attempt", func() bool {
			return slices.ContainsFunc(w.events("FailedScheduling", "a"), func(note string) bool { return strings.Contains(note, "ongoing preemption") })
		})
		w.delete("v1")
		w.bound("a", "n1")
		w.bound("b", "n1")
	}, ours: whileLeaving, theirs: whileLeaving, why: "how often the gang is tried again while its victims leave is a matter of time"},
	{name: "a gang that must not preempt", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("v", "1")
		w.bound("v", "n1")
		w.boundSeen("v", "n1")
		never := v1beta1.PreemptNever
		w.podGroup("g", 1, highGroup, func(g *v1beta1.PodGroup) { g.Spec.PriorityClassName = "patient"; g.Spec.PreemptionPolicy = &never })
		w.pod("a", "1", in("g"), func(p *v1.Pod) { p.Spec.PriorityClassName = "patient" })
		w.groupSays("g", "Unschedulable")
	}},
	{name: "the room for an extra member comes later", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.podGroup("g", 2)
		w.pod("a", "1", in("g"))
		w.pod("b", "1", in("g"))
		w.bound("a", "n1")
		w.bound("b", "n1")
		w.boundSeen("a", "n1")
		w.boundSeen("b", "n1")
		w.groupSays("g", "Scheduled")
		w.settle()
		w.pod("c", "1", in("g"))
		w.unschedulable("c", "Insufficient cpu")
		w.delete("a")
		w.bound("c", "n1")
	}},
	{name: "a gang in one zone", run: func(w *world, _ *wire) {
		w.node("a1", "1", inZone("a"))
		w.node("b1", "3", inZone("b"))
		w.podGroup("g", 2, byZone)
		w.pod("a", "1", in("g"))
		w.pod("b", "1", in("g"))
		w.bound("a", "b1")
		w.bound("b", "b1")
	}},
	{name: "a zone that cannot hold a gang", run: func(w *world, _ *wire) {
		w.node("a1", "1", inZone("a"))
		w.podGroup("g", 2, byZone)
		w.pod("a", "1", in("g"))
		w.pod("b", "1", in("g"))
		w.groupSays("g", "Unschedulable")
		w.node("a2", "1", inZone("a"))
		w.bound("a", "")
		w.bound("b", "")
	}},
	{name: "a tree of groups waits for both", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		c := &v1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}}
		c.Spec.WorkloadRef = &v1alpha3.WorkloadReference{WorkloadName: "w", TemplateName: "t"}
		c.Spec.SchedulingPolicy.Gang = &v1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: 2}
		c, err := w.api.SchedulingV1alpha3().CompositePodGroups("default").Create(w.ctx, c, metav1.CreateOptions{})
		require.NoError(w.t, err)
		w.objectSeen(compositeGroupKind, c)
		child := func(g *v1beta1.PodGroup) {
			g.Spec.ParentCompositePodGroupName = ptr.To("job")
			g.Spec.WorkloadRef = &v1beta1.WorkloadReference{WorkloadName: "w", TemplateName: g.Name}
		}
		w.podGroup("x", 1, child)
		w.podGroup("y", 1, child)
		w.pod("xa", "1", in("x"))
		w.settle()
		w.pod("ya", "1", in("y"))
		w.bound("xa", "n1")
		w.bound("ya", "n1")
	}, ours: eitherMember, theirs: eitherMember, why: "which group of a tree comes first is random, and with it the member whose status is written before the binding"},
	{name: "a claim of a group", run: func(w *world, _ *wire) {
		w.gpus("n1")
		w.gpuClaim("shared")
		w.podGroup("g", 1, func(g *v1beta1.PodGroup) {
			g.Spec.ResourceClaims = []v1beta1.PodGroupResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("shared")}}
		})
		w.pod("p1", "1", in("g"), uses("shared"))
		w.bound("p1", "n1")
		w.boundSeen("p1", "n1")
		w.pod("p2", "1", in("g"), uses("shared"))
		w.bound("p2", "n1")
	}, ours: late, theirs: late, why: inStep},
}
