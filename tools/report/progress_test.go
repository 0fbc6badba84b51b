package report

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podberth/podberth/internal/testkit"
)

// Workers of one program may step and end at the same time: the race detector sees to it that they do so one after the other.
func TestProgressSideBySide(t *testing.T) {
	var seconds atomic.Int64 // a bar is due at every step
	p := NewProgress(wide{io.Discard}, "place", "pods", func() time.Time { return time.Unix(seconds.Add(1), 0) })
	testkit.Together(t, func() (int, error) {
		for k := range 100 {
			p.Step(k, 100)
			p.End()
		}
		return 0, nil
	})
}

// wide is a terminal of 80 characters.
type wide struct{ io.Writer }

func (wide) Width() int { return 80 }
