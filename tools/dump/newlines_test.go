package dump

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Lines without anything cost what it takes to read them.
func TestEmptyLines(t *testing.T) {
	for name, text := range map[string]string{"alone": "", "before an object": `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`} {
		t.Run(name, func(t *testing.T) {
			in := append(bytes.Repeat([]byte("\n"), 20<<20), text...)
			began := testkit.ProcessorTime(t)
			_, err := Read([]string{"-"}, bytes.NewReader(in), Options{})
			if text == "" {
				require.EqualError(t, err, "standard input: is empty: must hold Kubernetes objects as YAML or JSON")
			} else {
				require.NoError(t, err)
			}
			require.Less(t, testkit.ProcessorTime(t)-began, 500*time.Millisecond)
		})
	}
}
