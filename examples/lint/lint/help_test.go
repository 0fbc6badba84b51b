package lint

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The help is asserted whole, and Flags has every flag of it.
func TestHelp(t *testing.T) {
	code, help, errs := linting("", "-h")
	require.Zero(t, code, errs)
	testkit.Golden(t, "../testdata/help.txt", help)
	Flags().VisitAll(func(f *flag.Flag) { require.Contains(t, help, "\n  -"+f.Name) })
	require.NotNil(t, Flags().Lookup("max-size"))
}
