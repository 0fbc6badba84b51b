package write

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/examples/scheduler"
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
