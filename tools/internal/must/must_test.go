package must_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/internal/must"
)

var errTest = errors.New("test")

// half returns half of an even number.
func half(n int) (int, error) {
	if n%2 != 0 {
		return 0, errTest
	}
	return n / 2, nil
}

func quarter(n int) (q int, err error) {
	defer must.Catch(&err)
	h := must.Get(half(n))
	_, err = half(h)
	must.Do(err)
	return h / 2, nil
}

func TestCatch(t *testing.T) {
	q, err := quarter(8)
	require.NoError(t, err)
	require.Equal(t, 2, q)
	for _, n := range []int{3, 6} {
		q, err = quarter(n)
		require.ErrorIs(t, err, errTest, n)
		require.Zero(t, q, n)
	}
}

// A panic that is no error of Do goes on, with its value.
func TestCatchLetsPanicsThrough(t *testing.T) {
	require.PanicsWithValue(t, "other", func() {
		var err error
		defer must.Catch(&err)
		panic("other")
	})
}

// An error that the function returns itself stays.
func TestCatchKeepsErrors(t *testing.T) {
	fails := func() (err error) {
		defer must.Catch(&err)
		return errTest
	}
	require.ErrorIs(t, fails(), errTest)
}
