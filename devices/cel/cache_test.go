package cel_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
)

// A compiler keeps 1024 expressions. The next expression takes the place of the one that was asked for longest ago.
func TestCompilerForgets(t *testing.T) {
	c := cel.NewCompiler()
	compile := func(i int) devices.Selector {
		s, err := c.Compile(fmt.Sprintf(`%d == 0`, i))
		require.NoError(t, err)
		return s
	}
	first, second := compile(0), compile(1)
	for i := 2; i < 1024; i++ {
		compile(i)
	}
	require.True(t, first == compile(0), "kept, and now the last one that was asked for")
	compile(1024)
	require.True(t, first == compile(0))
	require.False(t, second == compile(1))
}
