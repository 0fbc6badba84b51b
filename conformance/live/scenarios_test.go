package live

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// wire records what a scheduler writes. hook may answer in the API server's place.
type wire struct {
	mu     sync.Mutex
	writes map[string]bool
	begun  int // requests that write, events too
	open   int // of these, without an answer yet
	hook   func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
}

func (x *wire) trip(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	x.mu.Lock()
	hook := x.hook
	if r.Method != http.MethodGet {
		x.begun++
		x.open++
		defer func() { x.mu.Lock(); x.open--; x.mu.Unlock() }()
	}
	x.mu.Unlock()
	answer, err := (*http.Response)(nil), error(nil)
	if hook != nil {
		answer, err = hook(r, send)
	} else {
		answer, err = send()
	}
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") {
		return answer, err
	}
	code := "lost"
	if err == nil {
		code = fmt.Sprint(answer.StatusCode)
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "namespaces/default/")
	x.mu.Lock()
	x.writes[r.Method+" "+path+" "+code] = true
	x.mu.Unlock()
	return answer, err
}

// once returns a hook for the first n requests of a method and path; the rest are sent.
func (x *wire) once(n int, method, path string, do func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) {
	var mu sync.Mutex
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hook = func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		mu.Lock()
		hit := n > 0 && r.Method == method && strings.HasSuffix(r.URL.Path, path)
		if hit {
			n--
		}
		mu.Unlock()
		if hit {
			return do(r, send)
		}
		return send()
	}
}

var uid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// generated are the names that the API server makes.
var generated = regexp.MustCompile(`-extended-resources-[a-z0-9]{5}\b`)

// tries is how often both sides try a binding that fails in a way that may pass (rule L9.2).
const tries = 4

// outcome is what a scenario has left: pods, the events about them, and the writes.
func (w *world) outcome(x *wire) []string {
	w.t.Helper()
	var out []string
	pods, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for k := range pods.Items {
		p := &pods.Items[k]
		line := fmt.Sprintf("pod %s node=%s nominated=%s labels=%v", p.Name, p.Spec.NodeName, p.Status.NominatedNodeName, p.Labels)
		if x := p.Status.ExtendedResourceClaimStatus; x != nil {
			line += fmt.Sprintf(" extended=%s %v", x.ResourceClaimName, x.RequestMappings)
		}
		for _, c := range p.Status.Conditions {
			line += fmt.Sprintf(" %s=%s/%s/%s/%d", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration)
		}
		out = append(out, line)
	}
	events, err := w.api.EventsV1().Events("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, e := range events.Items {
		if _, ours := w.made.Load(e.Regarding.UID); !ours {
			continue // a late event of the scenario before
		}
		out = append(out, fmt.Sprintf("event %s %s %s %s %s: %s", e.Regarding.Name, e.Type, e.Reason, e.Action, e.ReportingController, e.Note))
	}
	x.mu.Lock()
	for write := range x.writes {
		out = append(out, "write "+write)
	}
	x.mu.Unlock()
	out = append(append(out, w.stored()...), w.groupLines()...)
	for k := range out {
		out[k] = generated.ReplaceAllString(uid.ReplaceAllString(out[k], "UID"), "-extended-resources-NAME")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wipe removes what a scenario has left. Pods without a node go first: room that becomes free would let the scheduler bind a pod that is
// about to go, and say so in the next scenario.
func (w *world) wipe() {
	w.t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	pods, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, p := range pods.Items {
		_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, p.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(w.t, err)
	}
	require.NoError(w.t, w.api.CoreV1().Pods("default").DeleteCollection(w.ctx, now, metav1.ListOptions{FieldSelector: "spec.nodeName="}))
	require.NoError(w.t, w.api.CoreV1().Pods("default").DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	w.wipeGroups()
	require.NoError(w.t, w.api.CoreV1().Nodes().DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	require.NoError(w.t, w.api.EventsV1().Events("default").DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	require.NoError(w.t, w.api.PolicyV1().PodDisruptionBudgets("default").DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	w.wipeStorage(now)
}

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

// scenario is something that happens to pods. Only podberth may leave the lines of ours, and only kube-scheduler the lines of theirs; why is
// the reason of the difference. In a scenario that podberth runs alone, why is the reason of that, and ours are all lines. Where the difference
// is what a scenario is about, always is true: each pattern has a line.
type scenario struct {
	name         string
	run          func(w *world, x *wire)
	ours, theirs []string
	why          string
	alone        bool
	always       bool
}

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
	}, why: "the victims leave at once: whether the preemptor is tried again between the two deletions is a matter of time",
		ours:   []string{"*not eligible due to a terminating pod*", "write DELETE pods/low* 404", "write PATCH pods/low*/status 4*", "event hi Warning FailedScheduling *"},
		theirs: []string{"*not eligible due to a terminating pod*", "write DELETE pods/low* 404", "write PATCH pods/low*/status 4*", "event hi Warning FailedScheduling *"}},
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
		_, err := w.api.PolicyV1().PodDisruptionBudgets("default").Create(w.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "low"}},
		}}, metav1.CreateOptions{})
		require.NoError(w.t, err)
		w.node("n1", "1")
		w.pod("low", "1", func(p *v1.Pod) { p.Labels = map[string]string{"app": "low"} })
		w.bound("low", "n1")
		w.event("Scheduled", "low")
		w.pod("hi", "1", high)
		w.bound("hi", "n1")
		w.event("Preempted", "low")
		w.event("Scheduled", "hi")
	}},
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
	}, why: "the patch names the UID and the version, so the pod that replaced it stays as it is",
		ours:   []string{"pod p1 node= nominated= labels=map[]", "write PATCH pods/p1/status 4*"},
		theirs: []string{"pod p1 *PodScheduled=False/Unschedulable*", "write PATCH pods/p1/status 200"}},
}

// stale is a write that podberth makes again, and that any scenario may have: a patch names the version of the pod that the informer has,
// and after a conflict it is made from the pod as the API server has it.
const stale = "write PATCH pods/*/status 409"

// settled is how long nothing may be written before a scenario is over.
const settled = 400 * time.Millisecond

// settle waits until every write has its answer and no other was begun for a while.
func (w *world) settle() {
	w.t.Helper()
	last, _ := w.wire.count()
	for quiet := time.Now(); time.Since(quiet) < settled; {
		<-time.After(settled / 10)
		if n, open := w.wire.count(); n != last || open > 0 {
			last, quiet = n, time.Now()
		}
	}
}

// count returns how many writes were begun, and how many of them have no answer yet.
func (x *wire) count() (begun, open int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.begun, x.open
}

// like reports whether a line is what a pattern says; * is any text.
func like(pattern, line string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(line)
}

// side is what a scheduler has left, and the patterns of lines that the other need not have.
type side struct{ lines, allowed []string }

func (s side) allows(line string) bool {
	return slices.ContainsFunc(s.allowed, func(p string) bool { return like(p, line) })
}

// unmet returns the patterns that no line has.
func (s side) unmet() (out []string) {
	for _, p := range s.allowed {
		if !slices.ContainsFunc(s.lines, func(line string) bool { return like(p, line) }) {
			out = append(out, p)
		}
	}
	return out
}

// only returns the lines of a that b lacks. It leaves out the lines that a allows, and the events that b has without their text: they
// joined the series of an earlier event that b allows, whose text stays.
func only(a, b side) (out []string) {
	for _, line := range a.lines {
		series, _, event := strings.Cut(line, ": ")
		joined := event && strings.HasPrefix(line, "event ") && slices.ContainsFunc(b.lines, func(x string) bool { return strings.HasPrefix(x, series+": ") && b.allows(x) })
		if !slices.Contains(b.lines, line) && !a.allows(line) && !joined {
			out = append(out, line)
		}
	}
	return out
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

// compare runs scenarios with both schedulers. Each has the configuration that document returns for its world.
func compare(t *testing.T, scenarios []scenario, document func(*world, *testing.T) string, flags ...string) {
	worlds := [2]*world{newWorld(t, flags...), newWorld(t, flags...)}
	for side, w := range worlds {
		w.document = document(w, t)
		defer w.begin(t, side == 1)()
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var got [2][]string
			t.Run("both", func(t *testing.T) { // at the same time: most of the time each waits
				for side, w := range worlds {
					if side == 1 && s.alone {
						continue
					}
					t.Run([]string{"podberth", "kube"}[side], func(t *testing.T) {
						t.Parallel()
						got[side] = w.play(t, s)
					})
				}
			})
			ours, theirs := side{got[0], s.ours}, side{got[1], s.theirs}
			if a := only(side{ours.lines, append(slices.Clone(s.ours), stale)}, theirs); len(a) > 0 {
				t.Errorf("only podberth:\n%s", strings.Join(a, "\n"))
			}
			if b := only(theirs, ours); len(b) > 0 {
				t.Errorf("only kube-scheduler:\n%s", strings.Join(b, "\n"))
			}
			if s.always {
				require.Empty(t, ours.unmet(), "podberth leaves no such line")
				require.Empty(t, theirs.unmet(), "kube-scheduler leaves no such line")
			}
		})
	}
}

// begin starts a scheduler for scenarios, and returns what stops it.
func (w *world) begin(t *testing.T, kube bool) func() {
	w.t = t
	w.priorityClass("high", 1000)
	w.priorityClass("middle", 500)
	w.priorityClass("patient", 700, func(c *schedulingv1.PriorityClass) { c.PreemptionPolicy = ptr.To(v1.PreemptNever) })
	var stop func()
	start := func() {
		if kube {
			stop = w.kube()
			return
		}
		_, end := w.podberth()
		stop = func() { require.NoError(w.t, end()) }
	}
	w.halt = func() { stop() }
	w.again = func() {
		stop()
		scenario := w.t
		w.t = t // the new scheduler outlives the scenario
		start()
		w.t = scenario
	}
	start()
	return func() { stop() }
}

// play runs a scenario, and returns what it has left.
func (w *world) play(t *testing.T, s scenario) (got []string) {
	before := w.t
	defer func() { w.t = before }()
	w.t = t
	w.wire = &wire{writes: map[string]bool{}}
	w.made.Clear()
	w.link.faults(w.wire.trip)
	defer w.wipe()
	s.run(w, w.wire)
	w.settle()
	return w.outcome(w.wire)
}
