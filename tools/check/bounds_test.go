package check

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
)

// Up to 100,000 pods are placed or deleted, and three names of a list are shown.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
	}{{"-place=100000", 0}, {"-place=100001", 2}, {"-place=-1", 2}, {"-place=1", 0}, {"-delete=100000", 0}, {"-delete=100001", 2}, {"-delete=-1", 2}} {
		o, err := parseFlags([]string{"-f", shipped, "-spread", "shop/web-1", c.args}, nil)
		require.Equal(t, c.code != 0, err != nil, c.args)
		if err == nil {
			require.Equal(t, "shop/web-1", o.spread)
		} else {
			require.ErrorContains(t, err, "not in valid range [1-100000]")
		}
	}
	for _, args := range []string{"-place=1", "-delete=1"} {
		code, _, errs := check("", "-f", shipped, args)
		require.Equal(t, program.BadInput, code)
		require.Equal(t, "check: -place, -delete: Forbidden: go with -spread\n", errs)
	}
	var names []string
	for n, want := range []string{"", "a0", "a0, a1", "a0, a1, a2", "a0, a1, a2 and 1 more", "a0, a1, a2 and 2 more"} {
		require.Equal(t, want, some(names))
		names = append(names, fmt.Sprint("a", n))
	}
}
