package live

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// scenariosConfig is the configuration of both schedulers.
const scenariosConfig = plainConfig + `
profiles:
- schedulerName: default-scheduler
- schedulerName: hasty
  pluginConfig:
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 1}
  - name: DynamicResources
    args: {bindingTimeout: 5s}
`

// refuse answers in the API server's place.
func refuse(code int, reason string, header ...string) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return status(r, code, reason, "no", header...), nil
	}
}

// label gives a pod a label.
func (w *world) label(name, key, value string) {
	w.t.Helper()
	_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+key+`":"`+value+`"}}}`), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// nominate makes a gated pod that is nominated to a node, and opens its gate.
func (w *world) nominate(name, cpu, node string) {
	w.t.Helper()
	w.pod(name, cpu, func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}} })
	w.patchPodStatus(name, `{"nominatedNodeName":"`+node+`"}`)
	_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, name, types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// hangs makes the binding of a pod wait for an answer. asked is closed when the scheduler has asked.
func (x *wire) hangs(pod string, answer func(*http.Request, func() (*http.Response, error)) (*http.Response, error)) (asked <-chan struct{}, release func()) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	x.once(1, http.MethodPost, "/"+pod+"/binding", func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		close(begun)
		<-goOn
		return answer(r, send)
	})
	return begun, func() { close(goOn) }
}

func pass(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	return send()
}

// tried are the lines of the attempts of a preemptor, whose number is a matter of time.
var tried = []string{"event hi Warning FailedScheduling *", "event mid Warning FailedScheduling *", "write PATCH pods/*/status 4*"}

// failing are the scenarios in which the API server refuses, is late, or is changed by another in between.
var failing = []scenario{
	{name: "the deletion of a victim fails once", run: func(w *world, x *wire) {
		w.victim(x, refuse(http.StatusInternalServerError, "InternalError"))
		w.event("Preempted", "low")
	}},
	{name: "the deletion of a victim is forbidden once", run: func(w *world, x *wire) {
		w.victim(x, refuse(http.StatusForbidden, "Forbidden"))
		w.event("Preempted", "low")
	}},
	{name: "a victim is replaced before it is deleted, with both schedulers", run: replaced, why: "the deletion names the UID, so the pod that replaced the victim stays",
		ours:   []string{"pod low *", "write DELETE pods/low 409"},
		theirs: []string{"write DELETE pods/low 200", "event low Normal Preempted *"}},
	{name: "a higher preemptor while the victim ends", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.pod("low", "2", grace(30))
		w.bound("low", "n1")
		w.event("Scheduled", "low")
		w.pod("mid", "2", func(p *v1.Pod) { p.Spec.PriorityClassName = "middle" })
		w.until("mid is nominated", func() bool { return w.get("mid").Status.NominatedNodeName == "n1" })
		w.event("Preempted", "low")
		w.pod("hi", "2", high)
		w.until("hi is nominated", func() bool { return w.get("hi").Status.NominatedNodeName == "n1" })
		w.delete("low") // the kubelet's part
		w.bound("hi", "n1")
		w.event("Scheduled", "hi")
		w.until("mid waits", func() bool {
			return w.get("mid").Status.NominatedNodeName == "" && strings.Contains(condition(w.get("mid"), v1.PodScheduled).Message, "No preemption victims found")
		})
	}, ours: tried, theirs: tried, why: "how often the preemptors are tried again while the victim ends is a matter of time"},
	{name: "a request for a binding is lost", run: func(w *world, x *wire) {
		w.node("n1", "2")
		x.once(1, http.MethodPost, "/binding", func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		})
		w.pod("p1", "1")
		w.event("FailedScheduling", "p1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "a binding hangs", run: func(w *world, x *wire) {
		w.node("n1", "2")
		asked, release := x.hangs("p1", pass)
		w.pod("p1", "1500m")
		<-asked
		w.pod("p2", "1")
		w.unschedulable("p2", "1 Insufficient cpu")
		w.pod("p3", "500m")
		w.bound("p3", "n1")
		w.event("Scheduled", "p3")
		release()
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "changed while the binding hangs and fails", run: func(w *world, x *wire) {
		w.node("n1", "2")
		asked, release := x.hangs("p1", refuse(http.StatusForbidden, "Forbidden")) // nobody tries again at once
		w.pod("p1", "1")
		<-asked
		w.label("p1", "a", "b")
		w.seen("the label", func(v *view) bool { return v.informer("p1").Labels["a"] == "b" })
		release()
		w.event("FailedScheduling", "p1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "nominated to a full node", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.nominate("p1", "2", "n1")
		w.unschedulable("p1", "1 Insufficient cpu")
		w.until("the nomination is gone", func() bool { return w.get("p1").Status.NominatedNodeName == "" })
	}},
	{name: "a status patch conflicts", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPatch, "/status", refuse(http.StatusConflict, "Conflict"))
		w.pod("p1", "2")
		w.unschedulable("p1", "1 Insufficient cpu")
	}},
	{name: "a status patch is forbidden", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(100, http.MethodPatch, "/status", refuse(http.StatusForbidden, "Forbidden"))
		w.pod("p1", "2")
		w.event("FailedScheduling", "p1")
	}},
	{name: "the API server asks for patience", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPost, "/binding", refuse(http.StatusTooManyRequests, "TooManyRequests", "Retry-After", "1"))
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "a binding is forbidden once", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPost, "/binding", refuse(http.StatusForbidden, "Forbidden"))
		w.pod("p1", "1")
		w.event("FailedScheduling", "p1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "an event is refused", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPost, "/events", refuse(http.StatusInternalServerError, "InternalError"))
		w.pod("p1", "1")
		w.bound("p1", "n1")
	}},
	{name: "the node goes during the binding", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPost, "/binding", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			require.NoError(w.t, w.api.CoreV1().Nodes().Delete(w.ctx, "n1", metav1.DeleteOptions{}))
			return send()
		})
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}},
	{name: "deleted during the binding with a finalizer", run: func(w *world, x *wire) {
		w.node("n1", "1")
		x.once(1, http.MethodPost, "/binding", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			w.delete("p1")
			w.seen("the deletion", func(v *view) bool { return v.informer("p1").DeletionTimestamp != nil }) // the condition names the generation
			return send()
		})
		w.pod("p1", "1", func(p *v1.Pod) { p.Finalizers = []string{"example.com/f"} })
		w.until("the next attempt", func() bool {
			return slices.Contains(w.events("FailedScheduling", "p1"), "skip schedule deleting pod: default/p1")
		})
	}},
	{name: "bound by another while unschedulable", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.node("n2", "2", func(n *v1.Node) { n.Spec.Unschedulable = true })
		w.pod("p1", "2")
		w.unschedulable("p1", "1 Insufficient cpu")
		w.bindElsewhere("p1", "n2")
		w.boundSeen("p1", "n2")
		n, err := w.api.CoreV1().Nodes().Patch(w.ctx, "n2", types.MergePatchType, []byte(`{"spec":{"unschedulable":null}}`), metav1.PatchOptions{})
		require.NoError(w.t, err)
		w.nodeSeen(n)
		w.pod("p2", "2")
		w.unschedulable("p2", "2 Insufficient cpu")
	}},
	{name: "a bound pod changes", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.pod("p1", "1", func(p *v1.Pod) { p.Finalizers = []string{"example.com/f"} })
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		w.label("p1", "a", "b")
		w.delete("p1")
	}},
	{name: "killed with a nomination", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.pod("low", "2", grace(30))
		w.bound("low", "n1")
		w.event("Scheduled", "low")
		w.pod("hi", "2", high)
		w.event("Preempted", "low")
		w.until("nominated", func() bool { return w.get("hi").Status.NominatedNodeName == "n1" })
		w.event("FailedScheduling", "hi")
		w.settle()
		w.again()
		w.pod("p3", "1")
		w.unschedulable("p3", "1 Insufficient cpu")
		w.delete("low") // the kubelet's part
		w.bound("hi", "n1")
		w.event("Scheduled", "hi")
	}, ours: tried, theirs: tried, why: "how often the preemptor is tried again while the victim ends is a matter of time"},
}

// victim lets a pod preempt another whose deletion is answered once in the API server's place.
func (w *world) victim(x *wire, answer func(*http.Request, func() (*http.Response, error)) (*http.Response, error)) {
	w.t.Helper()
	w.node("n1", "1")
	w.pod("low", "1")
	w.bound("low", "n1")
	w.event("Scheduled", "low")
	x.once(1, http.MethodDelete, "pods/low", answer)
	w.pod("hi", "1", high)
	w.bound("hi", "n1")
	w.event("Scheduled", "hi")
}

// replaced lets a pod preempt another, which is deleted and created again just before the deletion arrives.
func replaced(w *world, x *wire) {
	w.victim(x, func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		w.delete("low")
		w.pod("low", "1", func(p *v1.Pod) { p.Spec.SchedulerName = "other" })
		return send()
	})
}

// expire breaks every watch. The next two watches of a resource are answered with 410, so that what happens meanwhile is seen in a new
// list only.
func (x *wire) expire(w *world, resource string, meanwhile func()) {
	w.t.Helper()
	var mu sync.Mutex
	asked := 0
	x.mu.Lock()
	x.hook = func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.URL.Path != "/api/v1/"+resource || r.URL.Query().Get("watch") != "true" {
			return send()
		}
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked > 2 {
			return send()
		}
		if asked == 2 {
			meanwhile()
		}
		return status(r, http.StatusGone, "Expired", "too old resource version"), nil
	}
	x.mu.Unlock()
	w.link.cut()
	w.until("the new list of "+resource, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return asked > 2
	})
}

// breaking are the scenarios in which a watch breaks, and what happens meanwhile is seen in a new list.
var breaking = []scenario{
	{name: "a pod goes while the watch is broken", run: func(w *world, x *wire) {
		w.again() // informers wait longer each time that a watch breaks
		w.node("n1", "1")
		w.pod("p1", "1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		w.pod("p2", "1")
		w.unschedulable("p2", "1 Insufficient cpu")
		x.expire(w, "pods", func() { w.delete("p1") })
		w.bound("p2", "n1")
		w.event("Scheduled", "p2")
	}},
	{name: "recreated on the same node while the watch is broken", run: func(w *world, x *wire) {
		w.again() // informers wait longer each time that a watch breaks
		w.node("n1", "2")
		w.pod("p1", "2")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		x.expire(w, "pods", func() { w.recreate("p1", "1", "n1") })
		w.pod("p2", "1")
		w.bound("p2", "n1")
		w.event("Scheduled", "p2")
		w.pod("p3", "1")
		w.unschedulable("p3", "1 Insufficient cpu")
		w.delete("p1")
		w.bound("p3", "n1")
		w.event("Scheduled", "p3")
	}},
	{name: "recreated on another node while the watch is broken", alone: true, run: func(w *world, x *wire) {
		w.again() // informers wait longer each time that a watch breaks
		w.node("n1", "2")
		w.node("n2", "1")
		w.pod("p1", "2")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		x.expire(w, "pods", func() { w.recreate("p1", "1", "n2") })
		w.pod("p2", "2")
		w.bound("p2", "n1")
		w.event("Scheduled", "p2")
	}, why: "kube-scheduler ends its process", ours: []string{
		"pod p1 node=n2 *PodScheduled=True///0", "pod p2 node=n1 *PodScheduled=True///0", "event p1 Normal Scheduled Binding default-scheduler: Successfully assigned default/p1 to n1",
		"event p2 Normal Scheduled Binding default-scheduler: Successfully assigned default/p2 to n1", "write POST pods/p1/binding 201", "write POST pods/p2/binding 201",
	}},
	{name: "recreated pending while the watch is broken", alone: true, run: func(w *world, x *wire) {
		w.again() // informers wait longer each time that a watch breaks
		w.node("n1", "2")
		w.pod("p1", "2")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		x.expire(w, "pods", func() { w.delete("p1"); w.pod("p1", "1") })
		w.bound("p1", "n1")
		w.pod("p2", "1")
		w.bound("p2", "n1")
		w.event("Scheduled", "p2")
	}, why: "kube-scheduler ends its process", ours: []string{
		"pod p1 node=n1 *PodScheduled=True///0", "pod p2 node=n1 *PodScheduled=True///0", "event p1 Normal Scheduled Binding default-scheduler: Successfully assigned default/p1 to n1",
		"event p2 Normal Scheduled Binding default-scheduler: Successfully assigned default/p2 to n1", "write POST pods/p1/binding 201", "write POST pods/p2/binding 201",
	}},
	{name: "a node is replaced while the watch is broken", run: func(w *world, x *wire) {
		w.again() // informers wait longer each time that a watch breaks
		w.node("n1", "4")
		w.pod("p1", "3")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		x.expire(w, "nodes", func() {
			require.NoError(w.t, w.api.CoreV1().Nodes().Delete(w.ctx, "n1", metav1.DeleteOptions{}))
			_, err := w.api.CoreV1().Nodes().Create(w.ctx, newNode("n3", "1"), metav1.CreateOptions{})
			require.NoError(w.t, err)
		})
		w.seen("both nodes", func(v *view) bool { return v.node("n1") == nil && v.node("n3") != nil })
		w.pod("p2", "2")
		w.unschedulable("p2", "0/1 nodes are available: 1 Insufficient cpu")
	}},
}

// recreate replaces a pod by another of its name, which another scheduler binds.
func (w *world) recreate(name, cpu, node string) {
	w.t.Helper()
	w.delete(name)
	w.pod(name, cpu, func(p *v1.Pod) { p.Spec.SchedulerName = "other" })
	w.bindElsewhere(name, node)
}
