package dump

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Lines without anything, or with blanks alone, cost what it takes to read them.
func TestEmptyLines(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`
	for _, line := range []string{"\n", " \n", "\t\n", "\r\n", "   \n"} {
		for _, text := range []string{"", object, "---\n" + object} {
			t.Run(fmt.Sprintf("%q%.3s", line, text), func(t *testing.T) {
				in := append(bytes.Repeat([]byte(line), 20<<20/len(line)), text...)
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
	_, err := Read([]string{"-"}, strings.NewReader("\n \r\n\t\n  \xff"), Options{})
	require.ErrorContains(t, err, "line 4: Invalid value: byte 0xff", "blank lines count")
}
