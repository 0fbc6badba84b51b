package write_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
)

// The end of a nomination is looked for in the API server as long as the client may have written a nomination that the informer does not
// show: after a try, whatever came of it, until the end was written.
func TestUnseenNominations(t *testing.T) {
	type step struct {
		node  string // of the patch
		lost  bool   // the patch does not arrive
		shown string // the nomination that the informer shows
		reads int    // of the pod in the API server
	}
	type test struct {
		name  string
		steps []step
	}
	testkit.Run(t, []test{
		{"never nominated", []step{{"", false, "", 0}}},
		{"nominated and ended", []step{{"n1", false, "", 0}, {"", false, "", 1}, {"", false, "", 0}}},
		{"nomination lost", []step{{"n1", true, "", 0}, {"", false, "", 1}, {"", false, "", 1}}},
		{"end lost", []step{{"n1", false, "", 0}, {"", true, "n1", 0}, {"", false, "", 1}, {"", false, "", 0}}},
		{"end lost of a nomination from before", []step{{"", true, "n1", 0}, {"", false, "", 0}}},
		{"nominated twice", []step{{"n1", false, "", 0}, {"n1", false, "n1", 0}, {"n2", false, "n1", 0}, {"", false, "", 1}}},
	}, func(t *testing.T, x test) {
		api, reads, lost := fake.NewClientset(pod()), 0, false
		api.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			reads++
			return false, nil, nil
		})
		api.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return lost, &v1.Pod{}, io.ErrUnexpectedEOF
		})
		known := &view{}
		c := write.New(api, known, write.Options{Retry: []time.Duration{}})
		defer c.Close()
		for k, s := range x.steps {
			lost, reads = s.lost, 0
			known.pod = pod(func(p *v1.Pod) { p.Status.NominatedNodeName = s.shown })
			err := c.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &s.node})
			if s.lost {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			} else {
				require.NoError(t, err, "step %d", k)
			}
			require.Equal(t, s.reads, reads, "step %d", k)
		}
	})
}
