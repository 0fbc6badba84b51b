package taints

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

func TestHelp(t *testing.T) { testkit.Help(t, forecast, Flags()) }
