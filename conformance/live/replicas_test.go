package live

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Several replicas, and one whose patches hang.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(*world){"two at work": twoReplicas, "hand-over": handOver, "status patches hang": slowStatus} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			t.Cleanup(func() { w.link.faults(nil); w.wipe() }) // after the schedulers have ended
			run(w)
		})
	}
}

// Two replicas without a lease decide every pod at the same time: the answer to a binding waits until both have asked for one. The API
// server takes one of the two. Every pod is bound once, and no bound pod is marked as unschedulable.
func twoReplicas(w *world) {
	t := w.t
	for k := range 4 {
		w.node(fmt.Sprintf("n%d", k), "32")
	}
	var mu sync.Mutex
	asked, taken, refused := map[string]chan struct{}{}, map[string]int{}, map[string]int{}
	w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/binding") {
			return send()
		}
		mu.Lock()
		both, second := asked[r.URL.Path]
		if second {
			close(both)
		} else {
			both = make(chan struct{})
			asked[r.URL.Path] = both
		}
		mu.Unlock()
		select {
		case <-both:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		answer, err := send()
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			switch answer.StatusCode {
			case http.StatusCreated:
				taken[r.URL.Path]++
			case http.StatusConflict:
				refused[r.URL.Path]++
			}
		}
		return answer, err
	})
	_, stopOne := w.podberth()
	_, stopTwo := w.podberth()
	const pods = 30
	for k := range pods {
		w.pod(fmt.Sprintf("p%d", k), "100m")
	}
	for k := range pods {
		w.bound(fmt.Sprintf("p%d", k), "")
	}
	require.NoError(t, stopOne()) // which ends what is under way
	require.NoError(t, stopTwo())
	require.Len(t, taken, pods)
	for path, n := range taken {
		require.Equal(t, 1, n, path)
		require.Equal(t, 1, refused[path], path)
	}
	for k := range pods {
		require.Equal(t, v1.ConditionTrue, condition(w.get(fmt.Sprintf("p%d", k)), v1.PodScheduled).Status)
	}
}

// Status patches that have no answer do not hold up decisions: a pod that fits is bound while the patches of five others hang.
func slowStatus(w *world) {
	t := w.t
	w.node("n1", "1")
	hanging, answer := make(chan struct{}, 5), make(chan struct{})
	w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") {
			select {
			case hanging <- struct{}{}:
			default: // all five are known
			}
			select {
			case <-answer:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return send()
	})
	_, stop := w.podberth()
	for k := range 5 {
		w.pod(fmt.Sprintf("big%d", k), "2")
	}
	w.until("five patches hang", func() bool { return len(hanging) == 5 })
	w.pod("p1", "1")
	w.bound("p1", "n1")
	close(answer)
	for k := range 5 {
		w.until("the condition", func() bool {
			return condition(w.get(fmt.Sprintf("big%d", k)), v1.PodScheduled).Reason == v1.PodReasonUnschedulable
		})
	}
	require.NoError(t, stop())
}
