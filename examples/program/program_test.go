package program

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCode(t *testing.T) {
	var errs strings.Builder
	require.Equal(t, OK, Code("x", nil, &errs))
	require.Equal(t, OK, Code("x", fmt.Errorf("wrapped: %w", flag.ErrHelp), &errs))
	require.Empty(t, errs.String())
	require.Equal(t, BadInput, Code("x", errors.New("a.yaml: bad"), &errs))
	require.Equal(t, "x: a.yaml: bad\n", errs.String())
}

func TestFlags(t *testing.T) {
	var help strings.Builder
	var files []string
	f := Flags("x", "does things.", "x -f PATH", &help)
	Inputs(f, &files, "input")
	require.NoError(t, Parse(f, []string{"-f", "a", "-f", "-"}))
	require.Equal(t, []string{"a", "-"}, files)
	require.ErrorIs(t, Parse(f, []string{"-h"}), flag.ErrHelp)
	require.True(t, strings.HasPrefix(help.String(), "x does things.\n\nusage: x -f PATH\n\n"), help.String())
	require.ErrorContains(t, Parse(f, []string{"-none"}), "; see x -h")
	require.NoError(t, CheckInputs(files))
	require.EqualError(t, CheckInputs(nil), "-f: Required value: at least one file, folder or -")
}

func TestNear(t *testing.T) {
	names := []string{"shop/web-1", "shop/web-2", "shop/api", "data/web-1", "data/db-0"}
	for wrong, want := range map[string]string{
		"shop/wbe-1":  "; near: shop/web-1",
		"ml/web-1":    "; near: data/web-1, shop/web-1",
		"shop/web":    "; near: shop/web-1, shop/web-2, data/web-1",
		"zzz/nothing": "",
	} {
		require.Equal(t, want, Near(wrong, names), wrong)
	}
	require.Empty(t, Near("a", nil))
}
