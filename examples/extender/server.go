package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/dump"
)

// server answers the verbs of an extender. One request is worked on at a time: a plan belongs to one goroutine.
type server struct {
	scores int64 // the highest score that is sent

	mu sync.Mutex
	w  *world
}

// read takes the input in; the old one stays when something is wrong with the new one.
func (s *server) read(o options, stdin io.Reader, stderr io.Writer) error {
	objects, err := dump.Read(o.files, stdin, o.input)
	if err != nil {
		return err
	}
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
	for _, text := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", text)
	}
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
		answer(w, r, s, (*world).filter)
	case "/prioritize":
		answer(w, r, s, func(w *world, a *extenderv1.ExtenderArgs) (extenderv1.HostPriorityList, error) {
			return w.prioritize(a, s.scores)
		})
	case "/preempt":
		answer(w, r, s, (*world).preempt)
	default:
		http.Error(w, fmt.Sprintf("%s: Unsupported value: supported values: /filter, /prioritize, /preempt", r.URL.Path), http.StatusNotFound)
	}
}

// answer decodes a request, works on it, and encodes the answer. A request that makes no sense gets status 400, a failure
// that the answer has no place for 500: kube-scheduler takes both as a failure of the extender.
func answer[A, B any](w http.ResponseWriter, r *http.Request, s *server, verb func(*world, *A) (B, error)) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	var args A
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = dump.Check(body, &args)
	}
	if err == nil {
		err = json.Unmarshal(body, &args)
	}
	if err != nil {
		http.Error(w, "request: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	result, err := verb(s.w, &args)
	s.mu.Unlock()
	if err != nil {
		status := http.StatusInternalServerError
		if bad, ok := err.(badRequest); ok {
			status, err = http.StatusBadRequest, bad.error
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // an error here is a client that went away
}

// badRequest is an error of the one who asks.
type badRequest struct{ error }
