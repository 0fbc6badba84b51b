package drain

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// Every line of output in docs/eviction.md is a line of the shipped output, blanks aside.
func TestDocumentation(t *testing.T) { testkit.Printed(t, "../../docs/eviction.md", "../*") }
