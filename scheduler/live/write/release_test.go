package write_test

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler/live/write"
)

// The first call for a binding fails, the second succeeds.
func TestBindOfReleases(t *testing.T) { // L9.2
	for _, v := range release.Versions() {
		for _, c := range []struct {
			first error
			again bool // in v1.37
		}{
			{failure(), true}, {apierrors.NewServiceUnavailable("busy"), true}, {forbidden(), false}, {conflict(), false},
			{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true}, {io.EOF, false},
			{apierrors.NewServerTimeout(pods, "create", 1), false},
		} {
			synctest.Test(t, func(t *testing.T) { // the time of a request must not pass on a busy machine
				api, tries := fake.NewClientset(pod()), 0
				api.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					if tries++; tries == 1 {
						return true, nil, c.first
					}
					return true, &v1.Pod{}, nil
				})
				x := write.New(api, &view{pod()}, write.Options{Timeout: 10 * time.Millisecond, Release: v, Retry: []time.Duration{time.Microsecond, time.Microsecond}})
				ctx, end := context.WithCancel(t.Context())
				defer end()
				go x.Run(ctx, 1) // it ends the queue of patches
				err := x.Bind(t.Context(), pod(), "n1")
				if c.again && v.AtLeast(release.V1_37) {
					require.NoError(t, err, v.String())
					require.Equal(t, 2, tries)
				} else {
					require.EqualError(t, err, c.first.Error(), v.String())
					require.Equal(t, 1, tries)
				}
				x.Close()
			})
		}
	}
}
