package live

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// An event may be late by up to longestDelay, and come after the event that followed it. Events of one name stay in their order, which
// every API server keeps.
const longestDelay = 150 * time.Millisecond

// frame is an event of a watch as it was sent.
type frame struct {
	bytes []byte
	kind  string
	name  types.NamespacedName
}

// frameOf reads a frame of a watch in protobuf: its length in four bytes, then the event.
func frameOf(body io.Reader) (frame, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(body, head); err != nil {
		return frame{}, err
	}
	x := frame{bytes: append(head, make([]byte, binary.BigEndian.Uint32(head))...)}
	if _, err := io.ReadFull(body, x.bytes[4:]); err != nil {
		return frame{}, err
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(x.bytes[4:]); err != nil {
		return frame{}, err
	}
	x.kind = event.Type
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
	if err != nil {
		return frame{}, err
	}
	if o, err := meta.Accessor(object); err == nil {
		x.name = types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	return x, nil
}

// maySwap reports whether an event may come after the next: they are changes of two objects with different names. No API server says that an
// object was made before it says that the one of its name was deleted, and an informer, which knows names only, would lose the new object.
func (x frame) maySwap(next frame) bool {
	change := func(kind string) bool { return kind != string(watch.Bookmark) && kind != string(watch.Error) }
	return change(x.kind) && change(next.kind) && x.name != next.name
}

// Events change places only where two events of an API server may: never those of one name, also when one object has replaced another.
func TestMaySwap(t *testing.T) {
	event := func(kind watch.EventType, name string) frame {
		return frame{kind: string(kind), name: types.NamespacedName{Namespace: "f", Name: name}}
	}
	require.True(t, event(watch.Deleted, "p").maySwap(event(watch.Added, "q")))
	require.False(t, event(watch.Deleted, "p").maySwap(event(watch.Added, "p")), "an informer would lose the new object")
	require.False(t, event(watch.Added, "p").maySwap(event(watch.Modified, "p")))
	require.False(t, event(watch.Added, "p").maySwap(event(watch.Bookmark, "")), "it says that the first list is whole")
	require.False(t, event(watch.Error, "").maySwap(event(watch.Added, "p")))
}

// disordered opens a watch whose events are late and swapped.
func (f *faulty) disordered(path string, send func() (*http.Response, error)) (*http.Response, error) {
	answer, err := send()
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	if answer.Header.Get("Content-Type") != "application/vnd.kubernetes.protobuf;stream=watch" {
		return nil, errors.New("a watch that is not in protobuf: " + answer.Header.Get("Content-Type"))
	}
	d := &disorder{f: f, path: path, body: answer.Body, frames: make(chan frame), closed: make(chan struct{})}
	go d.receive()
	answer.Body = d
	return answer, nil
}

// lacks reports, once, that a watch ended while an event was held back: the client takes what came before as the whole.
func (f *faulty) lacks(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.behind[path]
	delete(f.behind, path)
	return was
}

// luck returns how long an event is held back, and whether the next may pass it.
func (f *faulty) luck() (wait time.Duration, pass bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rng.IntN(3) > 0 {
		return 0, false
	}
	return time.Duration(f.rng.Int64N(int64(longestDelay))), f.rng.IntN(2) == 0
}

// disorder is the body of a watch.
type disorder struct {
	f      *faulty
	path   string
	body   io.ReadCloser
	frames chan frame
	closed chan struct{}
	end    error // why no more frames come
	once   sync.Once

	next []byte // of Read
	kept *frame // came, and is sent as it is

	mu   sync.Mutex
	held *frame // came, and is sent after another
}

func (d *disorder) receive() {
	defer close(d.frames)
	for {
		x, err := frameOf(d.body)
		if err != nil {
			d.end = err
			return
		}
		select {
		case d.frames <- x:
		case <-d.closed:
			d.end = io.ErrClosedPipe
			return
		}
	}
}

// Read reads the watch.
func (d *disorder) Read(p []byte) (int, error) {
	for len(d.next) == 0 {
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.next)
	d.next = d.next[n:]
	return n, nil
}

// fill chooses what is read next.
func (d *disorder) fill() error {
	if x := d.holds(nil); x != nil { // the one that passed it was read
		d.next = x.bytes
		return nil
	}
	x, err := d.take()
	if err != nil {
		return err
	}
	wait, pass := d.f.luck()
	if wait == 0 {
		d.next = x.bytes
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if !pass {
		<-timer.C
		d.next = x.bytes
		return nil
	}
	select {
	case <-timer.C:
		d.next = x.bytes
	case later, ok := <-d.frames:
		if ok && x.maySwap(later) {
			d.holds(&x)
			d.next = later.bytes
			break
		}
		d.next = x.bytes
		if ok {
			d.kept = &later
		}
	}
	return nil
}

func (d *disorder) take() (frame, error) {
	if d.kept != nil {
		x := *d.kept
		d.kept = nil
		return x, nil
	}
	x, ok := <-d.frames
	if !ok {
		return frame{}, d.end
	}
	return x, nil
}

// holds returns the event that is held back, and holds another back.
func (d *disorder) holds(another *frame) *frame {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.held
	d.held = another
	return was
}

// Close ends the watch. Whoever ends it while an event is held back has to list again.
func (d *disorder) Close() error {
	if d.holds(nil) != nil {
		d.f.mu.Lock()
		d.f.behind[d.path] = true
		d.f.mu.Unlock()
	}
	d.once.Do(func() { close(d.closed) })
	return d.body.Close()
}
