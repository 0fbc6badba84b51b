package write

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
)

func answered(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}}
}

// An error is final when another try would get it again, and unclear when the API server may still be at work.
func TestErrors(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	type test struct {
		name           string
		err            error
		final, unclear bool
	}
	testkit.Run(t, []test{
		{"gone", scheduler.ErrGone, true, true},
		{"gone with a text", gone{io.EOF}, true, true},
		{"closed", fmt.Errorf("post: %w", context.Canceled), true, true},
		{"too late", context.DeadlineExceeded, false, true},
		{"answer lost", io.ErrUnexpectedEOF, false, true},
		{"nobody listens", refused, false, false},
		{"400", answered(400), true, false},
		{"409 wrapped", fmt.Errorf("patch: %w", answered(409)), true, false},
		{"429", answered(429), false, false},
		{"430", answered(430), true, false},
		{"499", answered(499), true, false},
		{"500", answered(500), false, false},
		{"504", answered(504), false, true},
		{"the server's time is over", apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "create", 1), false, true},
	}, func(t *testing.T, x test) {
		require.Equal(t, x.final, final(x.err))
		require.Equal(t, x.unclear, unclear(x.err))
		require.ErrorIs(t, gone{x.err}, x.err)
	})
}
