package fleet

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The same options write the same bytes, by hash in testdata/bytes.txt.
func TestBytes(t *testing.T) {
	var out strings.Builder
	for _, nodes := range []int{60, 300} {
		for seed := range uint64(2) {
			for _, full := range []bool{false, true} {
				var text bytes.Buffer
				require.NoError(t, Write(&text, Options{Nodes: nodes, Seed: seed, Full: full}))
				fmt.Fprintf(&out, "nodes %d, seed %d, full %t: %d objects, %d bytes, sha256 %x\n", nodes, seed, full, bytes.Count(text.Bytes(), []byte("\n")), text.Len(), sha256.Sum256(text.Bytes()))
			}
		}
	}
	testkit.Golden(t, "testdata/bytes.txt", out.String())
}

var errFull = errors.New("the disk is full")

// disk takes so many writes.
type disk struct{ left int }

func (d *disk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A writer that fails ends the cluster with its error, also at the last bytes.
func TestFullDisk(t *testing.T) {
	o := Options{Nodes: 300, Seed: 1}
	all := &disk{left: 1 << 20}
	require.NoError(t, Write(all, o))
	writes := 1<<20 - all.left
	require.Positive(t, writes)
	for _, left := range []int{0, 1, writes / 2, writes - 1} {
		require.ErrorIs(t, Write(&disk{left: left}, o), errFull, left)
	}
}
