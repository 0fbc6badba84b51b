package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestLayout(t *testing.T) {
	header, rows := []string{"POD", "MESSAGE"}, [][]string{{"web", "0/3 nodes are available: 3 Insufficient cpu."}, {"db", "ü"}}
	type test struct {
		name   string
		layout Layout
		want   string
		cut    bool
	}
	testkit.Run(t, []test{
		{"whole", Layout{}, "POD   MESSAGE\nweb   0/3 nodes are available: 3 Insufficient cpu.\ndb    ü\n", false},
		{"wide enough", Layout{Width: 50}, "POD   MESSAGE\nweb   0/3 nodes are available: 3 Insufficient cpu.\ndb    ü\n", false},
		{"cut", Layout{Width: 49}, "POD   MESSAGE\nweb   0/3 nodes are available: 3 Insufficient cp…\ndb    ü\n", true},
		{"narrow", Layout{Width: 1}, "POD  MESSAGE\nweb  0/3 nodes are available…\ndb   ü\n", true},
		{"no header", Layout{NoHeaders: true}, "web   0/3 nodes are available: 3 Insufficient cpu.\ndb    ü\n", false},
	}, func(t *testing.T, c test) {
		got, cut := c.layout.Columns(header, rows)
		require.Equal(t, c.want, got)
		require.Equal(t, c.cut, cut)
	})
}

type screen struct{ strings.Builder }

func (*screen) Width() int { return 80 }

func TestWidth(t *testing.T) {
	require.Zero(t, Width(&strings.Builder{}))
	require.Equal(t, 80, Width(&screen{}))
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	require.Zero(t, Width(f), "a file is no terminal")
}

func TestCount(t *testing.T) {
	require.Equal(t, "0 pods, 1 pod, 2 pods", Count(0, "pod")+", "+Count(1, "pod")+", "+Count(2, "pod"))
}

// A single column keeps a few characters, however narrow the terminal is.
func TestOneNarrowColumn(t *testing.T) {
	for _, width := range []int{1, 10, 24} {
		table, cut := Layout{Width: width}.Columns([]string{"A"}, [][]string{{strings.Repeat("x", 30)}})
		require.Equal(t, "A\n"+strings.Repeat("x", 23)+"…\n", table)
		require.True(t, cut)
	}
}
