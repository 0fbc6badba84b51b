package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/dump"
)

// server answers the verbs of an extender. It reads and evaluates requests concurrently.
type server struct {
	scores int64 // the highest score that is sent
	limits limits
	slots  chan struct{} // one element for each request that is being answered

	mu sync.RWMutex
	w  *world
}

func newServer(o options) *server {
	if o.limits == (limits{}) {
		o.limits = defaultLimits
	}
	return &server{scores: o.scores, limits: o.limits, slots: make(chan struct{}, o.atOnce)}
}

// world returns the cluster that was read last.
func (s *server) world() *world {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.w
}

// read reads the input. When the new input is wrong, the old one stays.
func (s *server) read(o options, stdin io.Reader, stderr io.Writer) error {
	objects, err := dump.Read(o.files, stdin, o.input)
	if err != nil {
		return err
	}
	objects.Absent(dump.Asks{Placed: func(*v1.Pod) bool { return true }, Budgets: true}) // a request may bring any pod
	var c *config.Configuration
	if o.config != "" {
		data, err := os.ReadFile(o.config)
		if err != nil {
			return fmt.Errorf("-config: %w", err)
		}
		if c, err = config.Load(data); err != nil {
			return fmt.Errorf("%s: %w", o.config, err)
		}
	}
	w, warnings, err := newWorld(objects, c)
	if err != nil {
		return err
	}
	w.shared.limit = s.limits.nodes
	warnings.Print(stderr)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = w
	return nil
}

// ServeHTTP answers POST /filter, /prioritize and /preempt, and GET /healthz.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		fmt.Fprintln(w, "ok")
	case "/filter":
		answer(w, r, s, (*world).learn, (*world).filter)
	case "/prioritize":
		answer(w, r, s, (*world).learn, func(w *world, a *extenderv1.ExtenderArgs) (extenderv1.HostPriorityList, error) {
			return w.prioritize(a, s.scores)
		})
	case "/preempt":
		answer(w, r, s, func(*world, *extenderv1.ExtenderPreemptionArgs) error { return nil }, (*world).preempt)
	default:
		http.Error(w, fmt.Sprintf("%s: Unsupported value: supported values: /filter, /prioritize, /preempt", r.URL.Path), http.StatusNotFound)
	}
}

// answer decodes a request, evaluates it and encodes the answer. The status is 400 for a request that makes no sense, 500
// for a failure that the answer has no field for, 413 for a body over the limit of bytes, and 429 for a request over the
// limit of concurrent requests. kube-scheduler treats each of them as a failure of the extender.
func answer[A, B any](w http.ResponseWriter, r *http.Request, s *server, learn func(*world, *A) error, verb func(*world, *A) (B, error)) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, fmt.Sprintf("more than %d requests at once (-at-once)", s.limits.atOnce), http.StatusTooManyRequests)
		return
	}
	var args A
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.body))
	if err == nil {
		err = dump.Check(body, &args)
	}
	if err == nil {
		err = json.Unmarshal(body, &args)
	}
	if err != nil {
		status, text := http.StatusBadRequest, err.Error()
		if errors.As(err, new(*http.MaxBytesError)) {
			status, text = http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes (-max-body)", s.limits.body)
		}
		http.Error(w, "request: "+text, status)
		return
	}
	result, err := learnAndAnswer(s.world(), &args, learn, verb)
	if err != nil {
		status := http.StatusInternalServerError
		if bad, ok := err.(badRequest); ok {
			status, err = http.StatusBadRequest, bad.error
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // the only possible error: the client has gone
}

// learnAndAnswer takes in the nodes of a request, and evaluates the request concurrently with other evaluations.
func learnAndAnswer[A, B any](w *world, args *A, learn func(*world, *A) error, verb func(*world, *A) (B, error)) (result B, err error) {
	if err := learn(w, args); err != nil {
		return result, err
	}
	w.shared.mu.RLock()
	defer w.shared.mu.RUnlock()
	plans, err := w.borrow()
	if err != nil {
		return result, err
	}
	own := *w
	own.plans = plans
	result, err = verb(&own, args)
	w.giveBack(plans) // not after a panic
	return result, err
}

// badRequest is an error that the client caused.
type badRequest struct{ error }
