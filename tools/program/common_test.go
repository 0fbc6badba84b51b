package program

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program with these flags reads inputs, writes a form and prints the tables of a namespace; each has its default.
func TestCommonFlags(t *testing.T) {
	var c Common
	f := Flags(Help{Name: "x"}, &strings.Builder{})
	c.InputFlags(f, "input")
	c.OutputFlags(f, "pods", "", "page")
	require.NoError(t, Parse(f, []string{"-f=a", "-f=b", "-max-size=1Mi", "-o=page", "-n=shop", "-no-headers"}))
	require.NoError(t, c.Check(f, "page"))
	require.Equal(t, []string{"a", "b"}, c.Files)
	require.EqualValues(t, 1<<20, c.Input.MaxSize)
	require.Equal(t, []any{"page", "shop", true}, []any{c.Output, c.Tables.Namespace, c.Tables.Layout.NoHeaders})
	require.ErrorContains(t, c.Check(f), "-o")
}

// A writer takes what comes before the end of its context, and nothing after it. It is as wide as what it writes to.
func TestUntil(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	var out terminal
	w := Until(ctx, &out)
	require.Equal(t, 60, w.(untilWriter).Width())
	n, err := w.Write([]byte("before"))
	require.NoError(t, err)
	require.Equal(t, 6, n)
	end()
	n, err = w.Write([]byte("after"))
	require.ErrorIs(t, err, ErrInterrupted)
	require.Zero(t, n)
	require.Equal(t, "before", out.String())
}
