package live

import (
	"context"
	"net/http"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/podberth/podberth/scheduler/live/daemon"
)

// requestTime is how long a request of a schedule may take, and lateness how much longer a scheduler waits for an API server that is late:
// a tenth (write.Client).
const requestTime, lateness = 2 * time.Second, requestTime / 10

// tide tells when the API server was at which version. A machine that stands still may commit a binding long after the scheduler has given
// it up and the room to another pod; no scheduler can know. The tide writes a small object again and again: a version of that object was
// made after its request began, so each later version is younger too. That a pod had no node in such a version proves that its binding
// came later.
type tide struct {
	mu    sync.Mutex
	api   kubernetes.Interface
	marks []mark
	late  map[types.UID]time.Duration // pods that were looked up
}

// mark is a version of the API server that is not older than a time.
type mark struct {
	version string
	after   time.Time
}

// tidePause is the time between two marks.
const tidePause = 50 * time.Millisecond

// startTide writes marks into a namespace until it is stopped.
func startTide(t *testing.T, api kubernetes.Interface, space string) (x *tide, stop func()) {
	x = &tide{api: api, late: map[types.UID]time.Duration{}}
	_, err := api.CoreV1().ConfigMaps(space).Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "tide"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			x.mark(ctx, space)
			select {
			case <-time.After(tidePause):
			case <-ctx.Done():
			}
		}
	}()
	return x, func() { cancel(); <-ended }
}

// mark writes a mark. An API server that does not answer gives none.
func (x *tide) mark(ctx context.Context, space string) {
	began := time.Now()
	body := []byte(`{"data":{"after":"` + began.Format(time.RFC3339Nano) + `"}}`)
	o, err := x.client().CoreV1().ConfigMaps(space).Patch(ctx, "tide", types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.marks = append(x.marks, mark{o.ResourceVersion, began})
}

func (x *tide) client() kubernetes.Interface {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.api
}

// connect gives the tide another client: the API server has another address.
func (x *tide) connect(api kubernetes.Interface) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.api = api
}

// reaches reports whether there is a mark after a time.
func (x *tide) reaches(t time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.marks) > 0 && x.marks[len(x.marks)-1].after.After(t)
}

// since returns how long after a time a bound pod had no node at least; 0 if nothing proves that.
func (x *tide) since(p *v1.Pod, end time.Time) (out time.Duration, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known, ok := x.late[p.UID]; ok {
		return known, nil
	}
	unbound := func(m mark) bool {
		list, asked := x.api.CoreV1().Pods(p.Namespace).List(context.Background(), metav1.ListOptions{
			FieldSelector: "metadata.name=" + p.Name, ResourceVersion: m.version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		})
		if asked != nil {
			err = asked
			return false
		}
		return len(list.Items) == 1 && list.Items[0].UID == p.UID && list.Items[0].Spec.NodeName == ""
	}
	first := sort.Search(len(x.marks), func(k int) bool { return !x.marks[k].after.Before(end) })
	young := x.marks[first:]
	if bound := sort.Search(len(young), func(k int) bool { return !unbound(young[k]) }); bound > 0 {
		out = young[bound-1].after.Sub(end)
	}
	if err == nil {
		x.late[p.UID] = out
	}
	return out, err
}

// late reports whether the API server bound one of the node's pods later than any scheduler waits, and notes it.
func (s *schedule) late(node string, pods []v1.Pod) bool {
	for k := range pods {
		p := &pods[k]
		end, sent := s.bindings.end(p.UID)
		if p.Spec.NodeName != node || !sent {
			continue
		}
		by, err := s.tide.since(p, end)
		if err != nil {
			s.note("when %s was bound is not known: %v", p.Name, err)
			continue
		}
		s.note("%s on %s: its request for a binding ended at %s, and it was bound %v later or more", p.Name, node, end.Format(time.TimeOnly), by)
		if by >= lateness {
			s.tooLate[p.UID] = true
			return true
		}
	}
	return false
}

// A binding that the API server makes when the scheduler has given it up, and the room to another pod, is told from a room that is given
// away twice.
func TestLateBinding(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "2")
	marks, stop := startTide(t, w.api, "default")
	defer stop()
	s := &schedule{t: t, api: w.api, space: "default", bindings: &tally{of: map[types.UID]int{}}, tide: marks, tooLate: map[types.UID]bool{}, began: time.Now()}
	var first atomic.Pointer[v1.Binding]
	given := make(chan struct{})
	w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if !isBinding(r) {
			return send()
		}
		b, err := bindingOf(r)
		if err != nil {
			return nil, err
		}
		if b.Name == "second" {
			return send()
		}
		if end, _ := r.Context().Deadline(); first.CompareAndSwap(nil, b) {
			s.bindings.send(b.UID, end)
		}
		select { // the API server does nothing until the room is given to the other pod
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-given:
			return nil, errLost
		}
	})
	_, end := w.podberth(func(c *daemon.Config) { c.Write.Timeout = requestTime })
	w.pod("first", "1500m")
	w.until("the first binding is under way", func() bool { return first.Load() != nil })
	w.pod("second", "1500m")
	w.bound("second", "n1")
	close(given)
	require.NoError(t, end())
	second := w.get("second")
	s.bindings.send(second.UID, time.Now().Add(time.Hour))
	require.Empty(t, s.wrong())
	over, _ := s.bindings.end(first.Load().UID)
	w.until("a mark shows the first pod without a node after its time", func() bool { return marks.reaches(over.Add(lateness)) })
	require.NoError(t, w.api.CoreV1().Pods("default").Bind(t.Context(), first.Load(), metav1.CreateOptions{}))
	require.Empty(t, s.wrong(), "%v", s.log)
	require.Equal(t, map[types.UID]bool{first.Load().UID: true}, s.tooLate)

	w.node("n2", "2")
	for _, name := range []string{"third", "fourth"} {
		p := w.pod(name, "1500m")
		s.bindings.send(p.UID, time.Now().Add(time.Hour))
		require.NoError(t, w.api.CoreV1().Pods("default").Bind(t.Context(), &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: v1.ObjectReference{Kind: "Node", Name: "n2"}}, metav1.CreateOptions{}))
	}
	require.Equal(t, "node n2 has more than it can take", s.wrong())
}
