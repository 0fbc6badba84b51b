package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// screen is a terminal that is 20 columns wide.
type screen struct{ strings.Builder }

func (*screen) Width() int { return 20 }

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if key, value, _ := strings.Cut(p, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestWriter(t *testing.T) {
	write := func(columns int, env ...string) string {
		var s screen
		w := New(&s, columns, environment(env...))
		_, err := w.Write([]byte("  one two three four five\nok\n"))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		return s.String()
	}
	require.Equal(t, "  one two three four\n    five\nok\n", write(-1))
	require.Equal(t, "  one two three four five\nok\n", write(0), "0 fits nothing")
	require.Equal(t, "  one two\n    three four\n    five\nok\n", write(14))
}

// Colour is on terminals only, never with NO_COLOR, and takes nothing away.
func TestColour(t *testing.T) {
	text := "db   Unschedulable\nweb   Scheduled\n"
	paint := func(out interface {
		Write([]byte) (int, error)
		String() string
	}, env ...string) string {
		w := New(out, 0, environment(env...))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		return out.String()
	}
	require.Equal(t, "db   \x1b[31mUnschedulable\x1b[0m\nweb   \x1b[32mScheduled\x1b[0m\n", paint(&screen{}))
	require.Equal(t, text, paint(&screen{}, "NO_COLOR=1"))
	require.Equal(t, text, paint(&screen{}, "TERM=dumb"))
	require.Equal(t, text, paint(&strings.Builder{}), "a file")
}

func TestCells(t *testing.T) {
	require.Equal(t, 3, Cells("aä…"))
	require.Equal(t, 4, Cells("日本"))
	require.Equal(t, 0, Cells(""))
}
