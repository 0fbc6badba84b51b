package live

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// faulty is the API server as one scheduler sees it: a share of its requests fails. The other fields are faults that a schedule has or
// has not.
type faulty struct {
	mu       sync.Mutex
	rng      *rand.Rand
	share    float64
	bindings *tally
	held     *hold         // of bindings; nil holds none
	disorder bool          // of watches
	skew     time.Duration // of the scheduler's clock, in its lease
	behind   map[string]bool
}

// tally counts the bindings that the API server has answered with 201.
type tally struct {
	mu   sync.Mutex
	of   map[types.UID]int
	sent map[types.UID]time.Time // when the last request ended at the latest, whatever the answer
}

// send notes a binding that was sent, and when its request ends.
func (c *tally) send(uid types.UID, end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == nil {
		c.sent = map[types.UID]time.Time{}
	}
	if end.After(c.sent[uid]) {
		c.sent[uid] = end
	}
}

// end returns when the last request to bind the pod ended at the latest.
func (c *tally) end(uid types.UID) (end time.Time, sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end, sent = c.sent[uid]
	return end, sent
}

// sentTo counts those of the pods for which a binding was sent.
func (c *tally) sentTo(pods map[types.UID]bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid := range pods {
		if _, sent := c.sent[uid]; sent {
			n++
		}
	}
	return n
}

func (c *tally) add(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[uid]++
}

// twice returns a pod that was bound more than once, "" if there is none.
func (c *tally) twice() types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, n := range c.of {
		if n > 1 {
			return uid
		}
	}
	return ""
}

// hold keeps bindings from the API server until it is opened: their pods are assumed.
type hold struct {
	mu    sync.Mutex
	gate  chan struct{} // is closed when bindings may go on; nil: they may
	nodes chan string   // takes the node of each binding that waits
}

// close makes bindings wait. The channel takes their nodes.
func (h *hold) close() <-chan string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate, h.nodes = make(chan struct{}), make(chan string, 100)
	return h.nodes
}

func (h *hold) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate != nil {
		close(h.gate)
		h.gate = nil
	}
}

// pass waits until a binding may go on.
func (h *hold) pass(r *http.Request, b *v1.Binding) error {
	h.mu.Lock()
	gate, nodes := h.gate, h.nodes
	h.mu.Unlock()
	if gate == nil {
		return nil
	}
	select {
	case nodes <- b.Target.Name:
	default:
	}
	select {
	case <-gate:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func (f *faulty) roll() (kind int, hit bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(9), f.rng.Float64() < f.share
}

// errLost is what the client sees of a connection that broke.
var errLost = fmt.Errorf("read: connection reset by peer: %w", io.ErrUnexpectedEOF)

// trip sends a request, or fails in one of nine ways.
func (f *faulty) trip(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	watch := r.URL.Query().Get("watch") == "true"
	switch {
	case isBinding(r):
		b, err := bindingOf(r)
		if err != nil {
			return nil, err
		}
		end, _ := r.Context().Deadline()
		f.bindings.send(b.UID, end)
		if f.held != nil {
			if err := f.held.pass(r, b); err != nil {
				return nil, err
			}
		}
		plain := send
		send = func() (*http.Response, error) {
			answer, err := plain()
			if err == nil && answer.StatusCode == http.StatusCreated {
				f.bindings.add(b.UID)
			}
			return answer, err
		}
	case watch && f.lacks(r.URL.Path):
		return status(r, http.StatusGone, "Expired", "too old resource version"), nil
	case watch && f.disorder:
		plain := send
		send = func() (*http.Response, error) { return f.disordered(r.URL.Path, plain) }
	case f.skew != 0 && strings.Contains(r.URL.Path, "/leases"):
		plain := send
		send = func() (*http.Response, error) { return f.skewed(r, plain) }
	}
	kind, hit := f.roll()
	if !hit || strings.Contains(r.URL.Path, "selfsubjectaccessreviews") {
		return send()
	}
	switch {
	case watch && kind < 3:
		return status(r, http.StatusGone, "Expired", "too old resource version"), nil
	case watch || r.Method == http.MethodGet && (kind == 0 || kind > 4):
		return send() // no server answers a read so
	}
	switch kind {
	case 0:
		return status(r, http.StatusConflict, "Conflict", "the object has been modified"), nil
	case 1:
		return status(r, http.StatusTooManyRequests, "TooManyRequests", "slow down"), nil
	case 2:
		return status(r, http.StatusTooManyRequests, "TooManyRequests", "slow down", "Retry-After", "0"), nil
	case 3:
		return status(r, http.StatusInternalServerError, "InternalError", "etcdserver: request timed out"), nil
	case 4:
		return nil, errLost // before it reached the server
	case 5, 6: // after the server has done it
		answer, err := send()
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close()
		if kind == 5 {
			return nil, errLost
		}
		return status(r, http.StatusGatewayTimeout, "Timeout", "the server was unable to return a response in the time allotted"), nil
	}
	select { // slow
	case <-time.After(time.Duration(kind) * 10 * time.Millisecond):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return send()
}

// bindingOf reads the binding of a request, which can be sent afterwards.
func bindingOf(r *http.Request) (*v1.Binding, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	b := &v1.Binding{}
	_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, b)
	return b, err
}
