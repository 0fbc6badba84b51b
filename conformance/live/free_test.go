package live

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// Free running, kube-scheduler decides with pods that it has assumed and whose bindings take a while, so a shadow that knows bound pods
// only judges some decisions differently. Every decision is judged once more on the state that kube-scheduler had: nothing remains but
// the same node and ties.
func freeRunning(w *world) {
	t := w.t
	rng := rand.New(rand.NewPCG(*faultsSeed, 8))
	services := []*v1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "a"}, Ports: []v1.ServicePort{{Port: 80}}}}}
	for k := range services { // they make default spreading count
		made, err := w.api.CoreV1().Services("default").Create(w.ctx, services[k], metav1.CreateOptions{})
		require.NoError(t, err)
		services[k] = made
		t.Cleanup(func() {
			require.NoError(t, w.api.CoreV1().Services("default").Delete(w.ctx, made.Name, metav1.DeleteOptions{}))
		})
	}
	seen := newWitness(func(err error) { t.Error(err) })
	w.kube(seen)
	w.randomNodes(rng)
	reported := w.shadow()
	begin := w.slowBindings()
	pods := 3 * *shadowPods
	for k := range pods {
		if k == pods/2 {
			begin()
		}
		_, err := w.api.CoreV1().Pods("default").Create(w.ctx, newPod(fmt.Sprintf("p%d", k), []string{"100m", "250m", "500m"}[rng.IntN(3)], func(p *v1.Pod) { decorate(p, rng) }), metav1.CreateOptions{})
		require.NoError(t, err)
		switch rng.IntN(12) {
		case 0: // a pod goes
			w.delete(fmt.Sprintf("p%d", k))
		case 1: // a node changes
			patch := fmt.Sprintf(`{"spec":{"unschedulable":%v},"metadata":{"labels":{"topology.kubernetes.io/zone":"z%d"}}}`, rng.IntN(3) == 0, rng.IntN(3))
			_, err := w.api.CoreV1().Nodes().Patch(w.ctx, fmt.Sprintf("n%d", rng.IntN(12)), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			require.NoError(t, err)
		}
	}
	bound := w.allDecided()
	verdicts, differences := map[shadow.Verdict]int{}, 0
	for k := range bound {
		p := &bound[k]
		first := reported(p)
		verdicts[first.Verdict]++
		if !explained(first) {
			differences++
		}
		d, ok := seen.of(p.UID)
		require.True(t, ok, p.Name)
		require.Equal(t, d.node, first.Node, p.Name)
		if again := replay(t, d, services); !explained(again) {
			t.Errorf("on the state that kube-scheduler had: %+v\nas the shadow has seen it: %+v", again, first)
		}
	}
	t.Log(len(bound), "bound", verdicts)
	require.NotZero(t, differences, "the bindings were late enough to hide pods from the shadow")
}

// explained reports whether a report needs no further reason.
func explained(r shadow.Report) bool { return r.Verdict == shadow.Same || r.Verdict == shadow.Tie }

// slowBindings lets bindings wait until begin is called, and every binding take some time that differs.
func (w *world) slowBindings() (begin func()) {
	var mu sync.Mutex
	begun := make(chan struct{})
	rng := rand.New(rand.NewPCG(*faultsSeed, 9))
	w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/binding") {
			mu.Lock()
			wait := time.Duration(rng.IntN(100)) * time.Millisecond
			mu.Unlock()
			select {
			case <-begun:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return send()
	})
	return func() { close(begun) }
}

// allDecided waits until every pod is bound or unschedulable, and returns the bound pods.
func (w *world) allDecided() (bound []v1.Pod) {
	w.t.Helper()
	w.until("a decision about every pod", func() bool {
		list, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
		if w.last = err; err != nil {
			return false
		}
		bound = nil
		for _, p := range list.Items {
			switch {
			case p.Spec.NodeName != "":
				bound = append(bound, p)
			case condition(&p, v1.PodScheduled).Status != v1.ConditionFalse:
				return false
			}
		}
		return true
	})
	return bound
}

// replay judges a decision with the nodes and pods that it was made with.
func replay(t *testing.T, d decided, services []*v1.Service) (out shadow.Report) {
	t.Helper()
	s, err := shadow.New(load(t, plainConfig), cel.NewCompiler(), nil, func(r shadow.Report) { out = r }, func(err error) { t.Error(err) })
	require.NoError(t, err)
	for _, x := range services {
		s.Set(nil, x)
	}
	for _, n := range d.nodes {
		s.AddNode(n)
	}
	for _, p := range d.pods {
		s.AddPod(p)
	}
	waiting := d.pod.DeepCopy()
	waiting.Spec.NodeName = ""
	assigned := d.pod.DeepCopy()
	assigned.Spec.NodeName = d.node
	s.AddPod(waiting)
	s.UpdatePod(waiting, assigned)
	return out
}
