package upgrade

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

func TestHelp(t *testing.T) {
	testkit.Help(t, func(_ string, args ...string) (code int, stdout, stderr string) { return run(args...) }, Flags())
}
