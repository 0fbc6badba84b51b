package extender

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/placement"
)

// Options limit the resources that clients can use. A limit that is not positive is its default.
type Options struct {
	MaxScore int64 // the highest score that is sent: 10, which is kube-scheduler's
	MaxBody  int64 // bytes of a request: 64 MiB
	AtOnce   int   // requests that are read or evaluated at the same time: 256
	MaxNodes int   // nodes of one request, and nodes that only requests know: 20000

	// Selectors compiles the CEL selectors of devices for profiles that have no compiler, such as package devices/cel does. Requests
	// use it concurrently. Without one a pod whose claims have selectors is an error.
	Selectors devices.SelectorCompiler
	// Check refuses the body of a request before it is decoded into args; nil refuses nothing. It is the place to refuse what is
	// expensive to decode, such as a quantity with a huge exponent.
	Check func(body []byte, args any) error
}

// The defaults of [Options].
const (
	defaultScore = extenderv1.MaxExtenderPriority
	defaultBody  = 64 << 20
	defaultOnce  = 256
	defaultNodes = 20000
)

// Handler answers the verbs of an extender. It reads and evaluates requests concurrently. New makes one.
type Handler struct {
	o     Options
	slots chan struct{} // one element for each request that is being answered

	mu sync.RWMutex
	w  *world
}

// New returns a handler for a cluster. Each profile decides about the pods with its scheduler name; without profiles the default
// profile decides about every pod. The errors are those of cluster.New and placement.New. The handler keeps the objects and reads them
// only.
func New(objects cluster.Objects, profiles []placement.Profile, o Options) (*Handler, error) {
	orDefault(&o.MaxScore, defaultScore)
	orDefault(&o.MaxBody, defaultBody)
	orDefault(&o.AtOnce, defaultOnce)
	orDefault(&o.MaxNodes, defaultNodes)
	h := &Handler{o: o, slots: make(chan struct{}, o.AtOnce)}
	return h, h.Set(objects, profiles)
}

func orDefault[N int | int64](limit *N, value N) {
	if *limit <= 0 {
		*limit = value
	}
}

// Set replaces the cluster and the profiles, and forgets what requests have brought. After an error the old ones stay. Requests that
// are being answered are answered of the old ones.
func (h *Handler) Set(objects cluster.Objects, profiles []placement.Profile) error {
	w, err := newWorld(objects, profiles, h.o.Selectors)
	if err != nil {
		return err
	}
	w.shared.limit = h.o.MaxNodes
	h.mu.Lock()
	defer h.mu.Unlock()
	h.w = w
	return nil
}

// world returns the cluster that was set last.
func (h *Handler) world() *world {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.w
}

// ServeHTTP answers POST /filter, /prioritize and /preempt, and GET /healthz.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		fmt.Fprintln(w, "ok")
	case "/filter":
		answer(w, r, h, (*world).learn, (*world).filter)
	case "/prioritize":
		answer(w, r, h, (*world).learn, func(w *world, a *extenderv1.ExtenderArgs) (extenderv1.HostPriorityList, error) {
			return w.prioritize(a, h.o.MaxScore)
		})
	case "/preempt":
		answer(w, r, h, func(*world, *extenderv1.ExtenderPreemptionArgs) error { return nil }, (*world).preempt)
	default:
		http.Error(w, fmt.Sprintf("%s: Unsupported value: supported values: /filter, /prioritize, /preempt", r.URL.Path), http.StatusNotFound)
	}
}

// answer decodes a request, evaluates it and encodes the answer. The status is 400 for a request that makes no sense, 500
// for a failure that the answer has no field for, 413 for a body over the limit of bytes, and 429 for a request over the
// limit of concurrent requests. kube-scheduler treats each of them as a failure of the extender.
func answer[A, B any](w http.ResponseWriter, r *http.Request, h *Handler, learn func(*world, *A) error, verb func(*world, *A) (B, error)) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, fmt.Sprintf("more than %d requests at once (AtOnce)", h.o.AtOnce), http.StatusTooManyRequests)
		return
	}
	var args A
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if err == nil && h.o.Check != nil {
		err = h.o.Check(body, &args)
	}
	if err == nil {
		err = json.Unmarshal(body, &args)
	}
	if err != nil {
		status, text := http.StatusBadRequest, err.Error()
		if errors.As(err, new(*http.MaxBytesError)) {
			status, text = http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes (MaxBody)", h.o.MaxBody)
		}
		http.Error(w, "request: "+text, status)
		return
	}
	result, err := learnAndAnswer(h.world(), &args, learn, verb)
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
