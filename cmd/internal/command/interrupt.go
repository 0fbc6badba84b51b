package command

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// toEnd is how long an interrupted command may take to remove its files. Nothing else is waited for.
const toEnd = 200 * time.Millisecond

var errInterrupted = errors.New("interrupted")

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
		return errInterrupted
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
		return 0, errInterrupted
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

// until returns a writer that takes nothing more once the context has ended, so that a file is given up.
func until(ctx context.Context, out io.Writer) io.Writer { return untilWriter{ctx, out} }

type untilWriter struct {
	ctx context.Context
	out io.Writer
}

func (w untilWriter) Write(data []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, errInterrupted
	}
	return w.out.Write(data)
}
