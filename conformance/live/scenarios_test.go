package live

import (
	"flag"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// event waits for an event about a pod.
func (w *world) event(reason, pod string) {
	w.t.Helper()
	w.until(reason+" of "+pod, func() bool { return len(w.events(reason, pod)) > 0 })
}

func (w *world) unschedulable(name, part string) {
	w.t.Helper()
	w.until(name+" is unschedulable: "+part, func() bool { return strings.Contains(condition(w.get(name), v1.PodScheduled).Message, part) })
	w.event("FailedScheduling", name)
}

// patchPodStatus changes the status of a pod, as kubelets and controllers do.
func (w *world) patchPodStatus(name, status string) {
	w.t.Helper()
	_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	require.NoError(w.t, err)
}

func high(p *v1.Pod) { p.Spec.PriorityClassName = "high" }

func grace(seconds int64) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// resize changes the cpu of a node.
func (w *world) resize(node, cpu string) {
	w.t.Helper()
	_, err := w.api.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, []byte(`{"status":{"allocatable":{"cpu":"`+cpu+`"}}}`), metav1.PatchOptions{}, "status")
	require.NoError(w.t, err)
}

// bindElsewhere binds a pod to another node, as another scheduler would.
func (w *world) bindElsewhere(name, node string) {
	w.t.Helper()
	require.NoError(w.t, w.api.CoreV1().Pods("default").Bind(w.ctx, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: v1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{}))
}

// again are the lines of a preemptor that is tried again while its victims leave, or before it is seen that they are gone.
var again = []string{"*not eligible due to a terminating pod*", "write DELETE pods/low* 404", "write PATCH pods/low*/status 4*"}

// againAtOnce are those lines where both victims leave at once: between them the first event says something else.
var againAtOnce = append([]string{"event hi Warning FailedScheduling *"}, again...)

var scenarios = []scenario{
	{name: "plain pod", run: func(w *world, _ *wire) {
		w.node("n1", "2", func(n *v1.Node) {
			n.Labels[v1.LabelTopologyZone], n.Labels[v1.LabelTopologyRegion] = "z", "r"
		})
		w.pod("p1", "1", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} })
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "unschedulable until the node grows", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("p1", "2")
		w.unschedulable("p1", "1 Insufficient cpu")
		w.node("n2", "1") // nothing here lets the pod fit, so nobody tries it
		w.label("p1", "a", "b")
		w.resize("n1", "1500m")
		w.settle()
		w.resize("n1", "3")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "no nodes", run: func(w *world, _ *wire) {
		w.pod("p1", "1")
		w.unschedulable("p1", "no nodes available to schedule pods")
		w.node("n1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "gated", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("p1", "1", func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}} })
		_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, "p1", types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
		require.NoError(w.t, err)
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "other schedulers and static pods", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.pod("other", "1", func(p *v1.Pod) { p.Spec.SchedulerName = "other" })
		w.pod("static", "1", func(p *v1.Pod) { p.Spec.NodeName = "n1" })
		w.boundSeen("static", "n1")
		w.pod("p1", "2")
		w.unschedulable("p1", "1 Insufficient cpu")
	}},
	{name: "a pod ends", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		w.pod("p2", "1")
		w.unschedulable("p2", "1 Insufficient cpu")
		w.patchPodStatus("p1", `{"phase":"Succeeded"}`)
		w.bound("p2", "n1")
		w.event("Scheduled", "p2")
	}},
	{name: "deleted while pending", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("p1", "2", func(p *v1.Pod) { p.Finalizers = []string{"example.com/f"} })
		w.unschedulable("p1", "1 Insufficient cpu")
		w.delete("p1")
		w.seen("the deletion", func(v *view) bool { p := v.pod("p1"); return p == nil || p.DeletionTimestamp != nil }) // another informer reports the node
		w.resize("n1", "3")
		w.until("the second event", func() bool {
			return slices.Contains(w.events("FailedScheduling", "p1"), "skip schedule deleting pod: default/p1")
		})
	}},
	{name: "preemption", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.pod("low1", "1")
		w.pod("low2", "1")
		w.bound("low1", "n1")
		w.bound("low2", "n1")
		w.event("Scheduled", "low1")
		w.event("Scheduled", "low2")
		w.pod("hi", "2", high)
		w.bound("hi", "n1")
		w.event("Preempted", "low1")
		w.event("Preempted", "low2")
		w.event("Scheduled", "hi")
	}, ours: againAtOnce, theirs: againAtOnce, why: "the victims leave at once: whether the preemptor is tried again between the two deletions is a matter of time"},
	{name: "preemption with a grace period", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.pod("low", "2", grace(30))
		w.bound("low", "n1")
		w.event("Scheduled", "low")
		w.pod("hi", "2", high)
		w.event("Preempted", "low")
		w.until("nominated", func() bool { return w.get("hi").Status.NominatedNodeName == "n1" })
		w.event("FailedScheduling", "hi")
		w.delete("low") // the kubelet's part
		w.bound("hi", "n1")
		w.event("Scheduled", "hi")
	}, why: "whether the preemptor is tried again while the victim ends is a matter of time", theirs: []string{"*not eligible due to a terminating pod*"}, ours: []string{"*not eligible due to a terminating pod*"}},
	{name: "a budget does not stop preemption", run: func(w *world, _ *wire) {
		b, err := w.api.PolicyV1().PodDisruptionBudgets("default").Create(w.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "low"}},
		}}, metav1.CreateOptions{})
		require.NoError(w.t, err)
		w.objectSeen(budgetKind, b)
		w.node("n1", "1")
		w.pod("low", "1", func(p *v1.Pod) { p.Labels = map[string]string{"app": "low"} })
		w.bound("low", "n1")
		w.event("Scheduled", "low")
		w.pod("hi", "1", high)
		w.bound("hi", "n1")
		w.event("Preempted", "low")
		w.event("Scheduled", "hi")
	}, ours: again, theirs: again, why: "whether the preemptor is tried again before it is seen that the victim is gone is a matter of time"},
	{name: "a victim is replaced before it is deleted", alone: true, run: replaced,
		why: "with other tests beside it, kube-scheduler at times never binds the preemptor", ours: []string{
			"event hi Normal Scheduled Binding default-scheduler: Successfully assigned default/hi to n1",
			"event hi Warning FailedScheduling Scheduling default-scheduler: 0/1 nodes are available: 1 Insufficient cpu.*",
			"event low Normal Scheduled Binding default-scheduler: Successfully assigned default/low to n1",
			"pod hi node=n1 nominated= labels=map[] PodScheduled=True///0", "pod low *",
			"write DELETE pods/low 409", "write PATCH pods/hi/status 200", "write PATCH pods/low/status 200",
			"write POST pods/hi/binding 201", "write POST pods/low/binding 201",
		}},
	{name: "bound by another during the binding", run: func(w *world, x *wire) {
		w.node("n1", "2")
		w.node("n2", "2", func(n *v1.Node) { n.Spec.Unschedulable = true })
		x.once(1, http.MethodPost, "/binding", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			w.bindElsewhere("p1", "n2")
			w.boundSeen("p1", "n2") // a scheduler that does not know it yet sends a patch, which the API server refuses
			return send()
		})
		w.pod("p1", "1")
		w.bound("p1", "n2")
		w.event("FailedScheduling", "p1")
	}, why: "a bound pod is not marked as unschedulable",
		ours:   []string{"pod p1 *PodScheduled=True///0"},
		theirs: []string{"pod p1 *PodScheduled=False/SchedulerError/*", "write PATCH pods/p1/status 200"}},
	{name: "the answer to a binding is lost", run: func(w *world, x *wire) {
		w.node("n1", "2")
		x.once(1, http.MethodPost, "/binding", func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if answer, err := send(); err == nil {
				_ = answer.Body.Close()
			}
			return nil, io.ErrUnexpectedEOF
		})
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.until("the event", func() bool { return len(w.events("Scheduled", "p1"))+len(w.events("FailedScheduling", "p1")) > 0 })
	}, why: "the pod is read: it is bound",
		ours:   []string{"pod p1 *PodScheduled=True///0", "event p1 Normal Scheduled *"},
		theirs: []string{"pod p1 *PodScheduled=False/SchedulerError/*", "event p1 Warning FailedScheduling *", "write PATCH pods/p1/status 200"}},
	{name: "recreated during the binding", run: func(w *world, x *wire) {
		w.node("n1", "2")
		x.once(1, http.MethodPost, "/binding", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			w.delete("p1")
			w.pod("p1", "1")
			return send()
		})
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, why: "until a scheduler has seen the new pod, it writes what became of the old; podberth's patch names the UID",
		theirs: []string{"write PATCH pods/p1/status *", "event p1 Warning FailedScheduling *", "pod p1 *PodScheduled=*"},
		ours:   []string{"write PATCH pods/p1/status 4*", "event p1 Warning FailedScheduling *", "pod p1 node=n1 nominated= labels=map[] PodScheduled=True///0"}},
	{name: "deleted while the binding hangs", run: func(w *world, x *wire) {
		w.node("n1", "1")
		asked, go1 := make(chan struct{}), make(chan struct{})
		x.once(1, http.MethodPost, "p1/binding", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			close(asked)
			<-go1
			return send()
		})
		w.pod("p1", "1")
		<-asked
		w.pod("p2", "1")
		w.unschedulable("p2", "1 Insufficient cpu")
		w.delete("p1")
		w.bound("p2", "n1") // before the binding of p1 is answered
		close(go1)
		w.event("FailedScheduling", "p1")
		w.event("Scheduled", "p2")
	}, why: "a pod that is gone is not patched", theirs: []string{"write PATCH pods/p1/status 404"}},
	{name: "nominated from outside", run: func(w *world, _ *wire) {
		w.node("n1", "4")
		w.node("n2", "2")
		w.nominate("p1", "1", "n2")
		w.bound("p1", "n2")
		w.event("Scheduled", "p1")
	}},
	{name: "the binding fails twice", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(2, http.MethodPost, "/binding", refuse(http.StatusInternalServerError, "InternalError"))
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "every try of a binding fails", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(tries, http.MethodPost, "/binding", refuse(http.StatusInternalServerError, "InternalError"))
		w.pod("p1", "1")
		w.event("FailedScheduling", "p1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "a node goes and comes back", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		require.NoError(w.t, w.api.CoreV1().Nodes().Delete(w.ctx, "n1", metav1.DeleteOptions{}))
		w.until("a pod after the deletion of the node", func() bool { // pods and nodes have informers of their own
			w.pod("p2", "1")
			w.unschedulable("p2", "nodes") // in both texts
			if strings.Contains(condition(w.get("p2"), v1.PodScheduled).Message, "no nodes available") {
				return true
			}
			w.delete("p2")
			return false
		})
		w.node("n1", "1")
		w.unschedulable("p2", "1 Insufficient cpu")
	}, why: "how many attempts fall between is a matter of time", ours: []string{"event p2 *"}, theirs: []string{"event p2 *"}},
	{name: "gone during the binding", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPost, "/binding", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			w.delete("p1")
			return send()
		})
		w.pod("p1", "1")
		w.event("FailedScheduling", "p1")
	}, why: "a pod that is gone is not patched", theirs: []string{"write PATCH pods/p1/status 404"}},
	{name: "recreated smaller", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("p1", "2")
		w.unschedulable("p1", "1 Insufficient cpu")
		w.delete("p1")
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "a pod is replaced before its status is patched", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPatch, "p1/status", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			w.delete("p1")
			w.pod("p1", "1", func(p *v1.Pod) { p.Spec.SchedulerName = "other" })
			return send()
		})
		w.pod("p1", "2")
		w.event("FailedScheduling", "p1")
	}, always: true, why: "the patch names the UID and the version, so the pod that replaced it stays as it is",
		ours:   []string{"pod p1 node= nominated= labels=map[]", "write PATCH pods/p1/status 4*"},
		theirs: []string{"pod p1 *PodScheduled=False/Unschedulable*", "write PATCH pods/p1/status 200"}},
}

// Both schedulers leave the same objects, events and requests, except where a scenario says what differs and why. Without -every the
// scenarios of failures, broken watches and slow volumes are left out: which events two schedulers write there depends on the load of
// the machine.
func TestScenarios(t *testing.T) {
	scenarios := slices.Concat(scenarios, storage, redirected)
	if *every || strings.Contains(flag.Lookup("test.run").Value.String(), "/") { // all scenarios, or the one that -run names
		scenarios = slices.Concat(scenarios, failing, breaking, waiting)
	}
	compare(t, scenarios, func(*world, *testing.T) string { return scenariosConfig })
}
