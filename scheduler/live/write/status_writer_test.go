package write

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
)

// A patch that failed is sent again, also when somebody holds the pod at the time of the retry. Nothing is kept about a pod whose
// patch was dropped meanwhile.
func TestRetryMeetsHeldPod(t *testing.T) {
	for _, drop := range []bool{false, true} {
		sent := 0
		w := newStatusWriter(func(*v1.Pod, scheduler.StatusPatch) error {
			if sent++; sent == 1 {
				return errors.New("the connection broke")
			}
			return nil
		}, 3, func(err error) { t.Error(err) })
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		w.later(pod, scheduler.StatusPatch{})
		require.True(t, w.one(t.Context()))
		release, err := w.hold(t.Context(), pod.UID)
		require.NoError(t, err)
		require.True(t, w.one(t.Context()), "the retry meets the held pod")
		if drop {
			w.drop(pod.UID)
		}
		require.Equal(t, 1, sent)
		release()
		require.Equal(t, 1, w.queue.Len(), "the pod is queued again")
		require.True(t, w.one(t.Context()))
		w.wait(t.Context())
		require.Equal(t, map[bool]int{false: 2, true: 1}[drop], sent)
		require.Zero(t, w.queue.NumRequeues(pod.UID))
	}
}

// closed returns a context that has ended.
func closed(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// What becomes of a patch for each answer. A worker goes on after each of them, and nothing is kept about a pod whose patch has ended.
func TestAnswersToPatches(t *testing.T) {
	broken := errors.New("the connection broke")
	type test struct {
		name    string
		answers []error
		over    bool // the client was closed
		sent    int
		errors  int // that are reported
	}
	testkit.Run(t, []test{
		{"written", []error{nil}, false, 1, 0},
		{"gone", []error{scheduler.ErrGone}, false, 1, 0},
		{"gone with a text", []error{gone{io.EOF}}, false, 1, 0},
		{"refused", []error{answered(403)}, false, 1, 1},
		{"written at the second try", []error{broken, nil}, false, 2, 0},
		{"written after a conflict", []error{apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("changed")), nil}, false, 2, 0},
		{"not written at the third try", []error{broken, broken, broken}, false, 3, 1},
		{"closed", []error{broken}, true, 1, 1},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			sent, reported := 0, 0
			w := newStatusWriter(func(*v1.Pod, scheduler.StatusPatch) error {
				sent++
				return x.answers[sent-1]
			}, 2, func(error) { reported++ })
			defer w.queue.ShutDown()
			life := t.Context()
			if x.over {
				life = closed(t)
			}
			w.later(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, scheduler.StatusPatch{})
			for range x.sent {
				require.True(t, w.one(life))
			}
			require.Equal(t, x.sent, sent)
			require.Equal(t, x.errors, reported)
			require.Empty(t, w.waiting)
			require.Empty(t, w.held)
			require.Zero(t, w.queue.NumRequeues("u"))
			time.Sleep(time.Minute) // of the bubble
			require.Zero(t, w.queue.Len(), "nothing comes later")
		})
	})
}

// Who holds a pod without patches leaves nothing behind. Nobody holds a pod after the end.
func TestHold(t *testing.T) {
	w := newStatusWriter(nil, 0, nil)
	defer w.queue.ShutDown()
	release, err := w.hold(t.Context(), "u")
	require.NoError(t, err)
	release()
	require.Zero(t, w.queue.Len())
	_, err = w.hold(closed(t), "u")
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, w.held)
}

// Wait returns when no patch waits and none is on its way.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newStatusWriter(nil, 0, nil)
		defer w.queue.ShutDown()
		w.wait(t.Context())
		waits := func() (over chan bool) {
			over = make(chan bool)
			go func() {
				w.wait(t.Context())
				close(over)
			}()
			synctest.Wait()
			select {
			case <-over:
				t.Fatal("it does not wait")
			default:
			}
			return over
		}
		w.later(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}}, scheduler.StatusPatch{})
		first := waits()
		release, err := w.hold(t.Context(), "b")
		require.NoError(t, err)
		second := waits()
		w.drop("a")
		third := waits()
		w.wait(closed(t))
		release()
		<-first
		<-second
		<-third
	})
}

// Run returns when the patches that are on their way have ended.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan bool)
		w := newStatusWriter(func(*v1.Pod, scheduler.StatusPatch) error {
			<-open
			return nil
		}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool, 1)
		w.later(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, scheduler.StatusPatch{})
		go func() {
			w.run(ctx, t.Context(), 1)
			ended <- true
		}()
		cancel()
		synctest.Wait()
		require.Empty(t, ended)
		close(open)
		<-ended
	})
}

// Patches of two pods come from two goroutines at once, and both wait. The race detector finds a lock that is missing.
func TestPatchesSideBySide(t *testing.T) {
	for range 10 {
		w := newStatusWriter(nil, 0, nil)
		var both sync.WaitGroup
		for _, name := range []types.UID{"a", "b"} {
			both.Go(func() { w.later(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: name}}, scheduler.StatusPatch{}) })
		}
		both.Wait()
		require.Len(t, w.waiting, 2)
		require.Equal(t, 2, w.queue.Len())
	}
}
