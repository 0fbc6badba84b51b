package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// What the program prints about a cluster with nodes that some constraints leave out, controllers of one name, and pods that come and
// go. A command that differs from another only in a number shows where the answer changes.
func TestTranscript(t *testing.T) {
	var b strings.Builder
	for _, line := range []string{
		"", "-n data -fail-found", "-n data -o json", "-n none -fail-found", "-n soft", "-n soft -fail-found", "-spread soft/soft -fail-found", "-no-headers", "-strict",
		"-spread shop/web-1", "-spread data/web-4 -fail-found", "-n shop -spread lone-1", "-n shop -spread lone-1 -fail-found", "-spread shop/plain", "-spread soft/gpu -place 9", "-spread soft/disk", "-spread soft/disk -place 1",
		"-spread shop/idle -place 1", "-spread shop/web-4 -place 2", "-spread shop/web-4 -place 3", "-spread shop/web-4 -place 3 -o json", "-spread shop/lone-1 -place 100", "-spread shop/lone-2 -place 9",
		"-spread shop/plain -place 7", "-spread shop/web-6 -delete 1", "-spread shop/web-6 -delete 3 -no-headers", "-spread shop/web-1 -delete 9", "-spread data/web-1 -delete 2 -o json", "-spread soft/soft -delete 1 -place 1",
		"-spread shop/idle -delete 1", "-spread shop/lone-1 -delete 1", "-spread shop/broken", "-spread shop/broken -place 1", "-spread web-1",
	} {
		code, out, errs := check("", append([]string{"-f", "testdata/rules.yaml"}, strings.Fields(line)...)...)
		fmt.Fprintf(&b, "$ check %s\n%s%sexit %d\n\n", line, out, errs, code)
	}
	testkit.Golden(t, "testdata/rules.txt", b.String())
}
