package live

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// redirected are the scenarios of bindings that a webhook sends to another node.
var redirected = []scenario{
	{name: "sent to another node during the binding", run: func(w *world, x *wire) {
		w.node("n1", "2")
		w.node("n2", "4", func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}} })
		x.once(1, http.MethodPost, "p1/binding", func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			w.pod("p2", "2")
			w.unschedulable("p2", "1 Insufficient cpu")
			w.redirect(r, "n2")
			return send()
		})
		w.pod("p1", "2")
		w.bound("p1", "n2")
		w.event("Scheduled", "p1")
		w.boundSeen("p1", "n2")
		// A pod that fails now, changes, and is bound: its back-off ends after that of a p2 that was woken.
		w.pod("p3", "1", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "n2"} })
		w.unschedulable("p3", "untolerated taint")
		_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, "p3", types.StrategicMergePatchType, []byte(`{"spec":{"tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"}]}}`), metav1.PatchOptions{})
		require.NoError(w.t, err)
		w.bound("p3", "n2")
		w.event("Scheduled", "p3")
	}, why: "kube-scheduler tells nobody that the room on n1 is free: p2 waits for up to five minutes", always: true,
		ours:   []string{"pod p2 node=n1 *", "event p2 Normal Scheduled *", "write POST pods/p2/binding 201"},
		theirs: []string{"pod p2 node= *PodScheduled=False/Unschedulable/*"}},
}

// redirect changes the node of a request for a binding, which is sent afterwards.
func (w *world) redirect(r *http.Request, node string) {
	w.t.Helper()
	b, err := bindingOf(r)
	require.NoError(w.t, err)
	b.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Binding"))
	b.Target.Name = node
	body, err := json.Marshal(b)
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}
