package command

import (
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
)

// A program may write while its output is shut, and writes nothing after that. The race detector finds a lock that is missing.
func TestGate(t *testing.T) {
	w := &gate{out: io.Discard}
	var both sync.WaitGroup
	both.Go(func() { _, _ = w.Write([]byte("x")) }) // before or after
	both.Go(w.shut)
	both.Wait()
	_, err := w.Write([]byte("x"))
	require.ErrorIs(t, err, program.ErrInterrupted)
}
