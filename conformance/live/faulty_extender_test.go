package live

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// stalling is an extender that has nothing against any node, and that at times does not answer.
type stalling struct {
	url string

	mu   sync.Mutex
	gate chan struct{} // is closed when the extender answers again; nil: it answers
}

func newStalling() (x *stalling, stop func()) {
	x = &stalling{}
	s := httptest.NewServer(impatient(x.filter))
	x.url = s.URL
	return x, func() { x.answer(); s.Close() }
}

// filter lets every node pass.
func (x *stalling) filter(ctx context.Context, a extenderv1.ExtenderArgs) (r extenderv1.ExtenderFilterResult, answers bool) {
	x.mu.Lock()
	gate := x.gate
	x.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return r, false
		}
	}
	return extenderv1.ExtenderFilterResult{NodeNames: a.NodeNames}, true
}

// impatient serves a function from JSON to JSON to callers that may hang up at any time.
func impatient[A, R any](f func(context.Context, A) (answer R, answers bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var a A
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			return // the caller has hung up
		}
		if answer, ok := f(r.Context(), a); ok {
			_ = json.NewEncoder(w).Encode(answer) // the caller may have hung up
		}
	}
}

// hang lets requests wait until answer is called.
func (x *stalling) hang() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gate == nil {
		x.gate = make(chan struct{})
	}
}

func (x *stalling) answer() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gate != nil {
		close(x.gate)
		x.gate = nil
	}
}
