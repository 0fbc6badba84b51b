package preflight

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
)

// -steps and -time leave out changes and pods, and the answer says how many. It is no when pods are left out.
func TestBounds(t *testing.T) {
	_, all, _ := before("", "-f", shipped, "-to", "1.37")
	require.NotContains(t, all, "not tried")
	_, out, _ := before("", "-f", shipped, "-to", "1.37", "-steps", "1")
	require.Regexp(t, `(?m)^not tried: [1-9][0-9]* changes; --time and --steps say how long to search$`, out)
	waits := "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {pods: 10}}}\n"
	code, out, errs := before(waits, "-f", "-", "-force", "-from", "1.36", "-to", "1.37")
	require.Zero(t, code, errs)
	require.NotContains(t, out, "left out")
	code, out, _ = before(waits, "-f", "-", "-force", "-from", "1.36", "-to", "1.37", "-time", "1ns")
	require.Equal(t, program.No, code)
	require.Contains(t, out, "; 1 pod left out by --time")
	code, _, errs = before("", "-f", shipped, "-to", "1.37", "-steps", "0")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "-steps: Invalid value: 0: must be greater than 0")
}
