package fleet

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The same options write the same bytes, by hash in testdata/bytes.txt.
func TestBytes(t *testing.T) {
	var out strings.Builder
	for _, nodes := range []int{60, 300, 425} {
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

// A node takes a pod of its pool for which it has room of every kind, to the last bit, and only then.
func TestTake(t *testing.T) {
	plain, tainted := &pool{name: "plain"}, &pool{name: "tainted", taint: "t"}
	a := ask{cpu: 3, memory: 5, gpus: 1}
	for _, c := range []struct {
		n    node
		pool string
		want bool
	}{
		{node{pool: plain, cpu: 3, memory: 5, gpus: 1, pods: 1}, "", true},
		{node{pool: plain, cpu: 2, memory: 5, gpus: 1, pods: 1}, "", false},
		{node{pool: plain, cpu: 3, memory: 4, gpus: 1, pods: 1}, "", false},
		{node{pool: plain, cpu: 3, memory: 5, gpus: 0, pods: 1}, "", false},
		{node{pool: plain, cpu: 3, memory: 5, gpus: 1, pods: 0}, "", false},
		{node{pool: tainted, cpu: 3, memory: 5, gpus: 1, pods: 2}, "", false},
		{node{pool: tainted, cpu: 4, memory: 7, gpus: 3, pods: 9}, "tainted", true},
		{node{pool: plain, cpu: 3, memory: 5, gpus: 1, pods: 1}, "plain", true},
		{node{pool: plain, cpu: 3, memory: 5, gpus: 1, pods: 1}, "tainted", false},
	} {
		n, asks := c.n, a
		asks.pool = c.pool
		require.Equal(t, c.want, n.take(asks), "%+v", c)
		if c.want {
			c.n.cpu, c.n.memory, c.n.gpus, c.n.pods = c.n.cpu-3, c.n.memory-5, c.n.gpus-1, c.n.pods-1
		}
		require.Equal(t, c.n, n)
	}
}

// Every node has room for 110 pods, and each DaemonSet takes room for one.
func TestRoomForPods(t *testing.T) {
	w := &writer{out: bufio.NewWriter(io.Discard), rand: rand.New(rand.NewPCG(1, 1)), o: Options{Nodes: 30}}
	w.writeNodes()
	cpu, memory := w.nodes[0].cpu, w.nodes[0].memory
	w.daemonSet("agent", 100, 200)
	require.Equal(t, []int{cpu - 100, memory - 200, 109}, []int{w.nodes[0].cpu, w.nodes[0].memory, w.nodes[0].pods})
	for k := range w.nodes {
		require.Equal(t, 109, w.nodes[k].pods)
		w.nodes[k].cpu = 0
	}
	require.Nil(t, w.place(ask{cpu: 1}))
	last := &w.nodes[len(w.nodes)-1]
	last.cpu = 1
	require.Equal(t, last.name, w.place(ask{cpu: 1, pool: last.pool.name}).name)
}
