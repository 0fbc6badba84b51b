package live

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// fullDisk is what the extender says about a node. A scheduler that takes it for a format garbles it.
const fullDisk = "disk 90%d full, 100% sure"

// extender rejects the nodes whose label disk is full, and binds pods to the others.
func (w *world) extender(t *testing.T) (url string) {
	bind := func(a extenderv1.ExtenderBindingArgs) (r extenderv1.ExtenderBindingResult) {
		err := w.api.CoreV1().Pods(a.PodNamespace).Bind(w.ctx, &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: a.PodName, UID: a.PodUID}, Target: v1.ObjectReference{Kind: "Node", Name: a.Node},
		}, metav1.CreateOptions{})
		if err != nil {
			r.Error = err.Error()
		}
		return r
	}
	filter := func(a extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult {
		r := extenderv1.ExtenderFilterResult{Nodes: &v1.NodeList{}, FailedNodes: extenderv1.FailedNodesMap{}}
		for _, n := range a.Nodes.Items {
			if n.Labels["disk"] == "full" {
				r.FailedNodes[n.Name] = fullDisk
			} else {
				r.Nodes.Items = append(r.Nodes.Items, n)
			}
		}
		return r
	}
	paths := http.NewServeMux()
	paths.HandleFunc("/filter", answering(t, filter))
	paths.HandleFunc("/bind", answering(t, bind))
	s := httptest.NewServer(paths)
	t.Cleanup(s.Close)
	return s.URL
}

// answering serves a function from JSON to JSON.
func answering[A, R any](t *testing.T, f func(A) R) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var a A
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		if err := json.NewEncoder(w).Encode(f(a)); err != nil {
			t.Error(err)
		}
	}
}

func full(n *v1.Node) { n.Labels["disk"] = "full" }

var extending = []scenario{
	{name: "an extender rejects a node and binds", run: func(w *world, _ *wire) {
		w.node("n1", "4", full)
		w.node("n2", "1")
		w.pod("p1", "1")
		w.bound("p1", "n2")
		w.event("Scheduled", "p1")
	}},
	{name: "an extender rejects every node", run: func(w *world, _ *wire) {
		w.node("n1", "4", full)
		w.pod("p1", "1")
		w.unschedulable("p1", fullDisk)
	}, why: "the message of an event is text",
		ours:   []string{"event p1 *1 " + fullDisk + "*"},
		theirs: []string{"event p1 *1 disk 90%!d(MISSING) full, 100%!s(MISSING)ure*"}},
}

// Both schedulers do the same with an extender that filters and binds.
func TestExtender(t *testing.T) {
	compare(t, extending, func(w *world, t *testing.T) string {
		return scenariosConfig + "extenders: [{urlPrefix: " + w.extender(t) + ", filterVerb: filter, bindVerb: bind, httpTimeout: 1m}]\n"
	})
}
