package program

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/podberth/podberth/tools/report"
)

// ErrInterrupted is the error of a program whose context has ended.
var ErrInterrupted = errors.New("interrupted")

// Interrupted returns [ErrInterrupted] once the context has ended, and nil before.
func Interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return nil
}

// Stop returns a function that reports whether a search must end: the context has ended, or the time limit, which begins now, is over. A
// limit of 0 is none.
func Stop(ctx context.Context, limit time.Duration) func() bool {
	end := time.Now().Add(limit)
	return func() bool { return ctx.Err() != nil || limit > 0 && !time.Now().Before(end) }
}

// Until returns a writer that takes nothing more once the context has ended, so that nobody gets the part of an answer. It is as wide as
// out.
func Until(ctx context.Context, out io.Writer) io.Writer { return untilWriter{ctx, out} }

type untilWriter struct {
	ctx context.Context
	out io.Writer
}

func (w untilWriter) Write(data []byte) (int, error) {
	if err := Interrupted(w.ctx); err != nil {
		return 0, err
	}
	return w.out.Write(data)
}

// Width returns the width of the terminal, 0 for none.
func (w untilWriter) Width() int { return report.Width(w.out) }
