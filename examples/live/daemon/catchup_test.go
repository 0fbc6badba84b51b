package daemon

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A stop while the pods are asked for is no failure; a refusal is.
func TestCatchUpEnds(t *testing.T) {
	for _, stops := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		api := fake.NewClientset()
		api.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if stops {
				cancel()
				return true, nil, ctx.Err()
			}
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
		})
		err := (&Daemon{api: api}).catchUp(ctx)
		require.Equal(t, stops, err == nil, "%v", err)
		cancel()
	}
}
