package history

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The old reading of overhead is that of a copy.
func TestOverheadIsCopied(t *testing.T) {
	p := testkit.Pod("p").Obj()
	p.Spec.Overhead = testkit.Resources("cpu=250m")
	testkit.Unchanged(t, func() {
		if got := milliOverhead(p).Spec.Overhead[v1.ResourceCPU]; got.MilliValue() != 1 {
			t.Error("a quarter of a cpu, rounded up, is one", got)
		}
	}, p)
}
