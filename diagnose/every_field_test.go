package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The answers about clusters and pods with every field that a change reads, in short: a hash of all that is said, and how many sets of
// changes were tried.
func TestEveryField(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(200) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+3e6, 500))
		objects, pod := wide(b)
		if b.OneIn(6) {
			wideDevices(b, &objects, pod)
		}
		sets := 0
		o := Options{Size: 2 + b.Below(2), Nodes: testkit.Pick(b, 1, 2, 2, -1), Steps: testkit.Pick(b, 300, 3000, 3000), Stop: func() bool { sets++; return false }}
		switch b.Below(10) {
		case 0:
			o.Where = func(n *v1.Node) bool { return n.Name != "n0" }
		case 1:
			o.Cost = only(RemovePods, RaiseBudget, Untaint, Label, Tolerate)
		case 2:
			o.Cost = only(MovePods, AddNode, LowerRequest, DropGate, DropPort)
		case 3:
			o.Cost = func(c Change) int64 { return int64(len(c.Leaving)) } // most changes cost nothing
		}
		completes := func(p *v1.Pod) (time.Time, bool) { return testkit.Epoch.Add(50 * time.Second), p.Name == "r1" }
		text := answers(t, objects, pod, o, WakeOptions{Completes: completes})
		h := testkit.Hash32(t, seed)
		_, err := h.Write([]byte(text))
		require.NoError(t, err)
		fmt.Fprintf(&out, "%d: %d lines, %d sets, %08x\n", seed, strings.Count(text, "\n"), sets, h.Sum32())
	}
	testkit.Golden(t, "testdata/every_field.txt", out.String())
}

// The same for pods that have a node: why not another one, and what would change that.
func TestEveryWish(t *testing.T) {
	var out strings.Builder
	flips := 0
	for seed := range uint64(100) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+2e6, 300))
		objects, pod := roomy(b)
		text := answers(t, objects, pod, Options{}, WakeOptions{})
		h := testkit.Hash32(t, seed)
		_, err := h.Write([]byte(text))
		require.NoError(t, err)
		flips += strings.Count(text, "; ")
		fmt.Fprintf(&out, "%d: %d lines, %08x\n", seed, strings.Count(text, "\n"), h.Sum32())
	}
	require.Greater(t, flips, 200)
	testkit.Golden(t, "testdata/every_wish.txt", out.String())
}
