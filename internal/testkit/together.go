package testkit

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Together calls a function alone and then from four goroutines at the same time. All calls must return the same and no error.
func Together[T any](t *testing.T, f func() (T, error)) {
	t.Helper()
	want, err := f()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got, err := f()
			assert.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	wg.Wait()
}
