package command

import (
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/program"
)

// toEnd is how long an interrupted command may take to remove its files. Nothing else is waited for.
const toEnd = 200 * time.Millisecond

// interruptible lets a command end when its context does, whatever it reads, asks or searches then. What goes on prints nothing more.
func (g *global) interruptible(c *cobra.Command) {
	run := c.RunE
	if run == nil {
		return
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx := c.Context()
		done := make(chan error, 1)
		go func() { done <- run(c, args) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
		}
		g.stdout.(*gate).shut()
		g.stderr.(*gate).shut()
		select {
		case <-done:
		case <-time.After(toEnd):
		}
		return program.ErrInterrupted
	}
}

// gate is a writer that takes nothing more once it is shut.
type gate struct {
	lock sync.Mutex
	out  io.Writer
	gone bool
	// width is that of the terminal, 0 for none.
	width int
}

func (w *gate) Write(data []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.gone {
		return 0, program.ErrInterrupted
	}
	return w.out.Write(data)
}

// Width lets a program see that the gate leads to a terminal.
func (w *gate) Width() int { return w.width }

func (w *gate) shut() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.gone = true
}
