package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress says on standard error how far a piece of work is. It says nothing in the first second. Then it draws a bar with the
// rate and the time that is left when the writer is a terminal, and writes a line every ten seconds otherwise. A nil Progress
// says nothing. The methods may be called at the same time.
type Progress struct {
	out   io.Writer
	what  string // of the lines: "failures"
	unit  string // of the things that are done: "scenarios"
	width int    // of the terminal, 0 for none
	now   func() time.Time

	lock        sync.Mutex
	begin, next time.Time
	drawn       bool
}

const (
	silence = time.Second            // at the beginning
	frames  = 200 * time.Millisecond // between two bars
	lines   = 10 * time.Second       // between two lines
)

// NewProgress returns the progress of work that begins now. now is the clock; nil is the clock of the system.
func NewProgress(out io.Writer, what, unit string, now func() time.Time) *Progress {
	if now == nil {
		now = time.Now
	}
	p := &Progress{out: out, what: what, unit: unit, width: Width(out), now: now, begin: now()}
	p.next = p.begin.Add(silence)
	if p.width == 0 {
		p.next = p.begin.Add(lines)
	}
	return p
}

// Step says that done of total things are done. A total of 0 is unknown.
func (p *Progress) Step(done, total int) {
	if p == nil {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	now := p.now()
	if now.Before(p.next) {
		return
	}
	text := p.text(done, total, now.Sub(p.begin))
	if p.width == 0 {
		p.next = now.Add(lines)
		fmt.Fprintf(p.out, "%s: %s\n", p.what, text)
		return
	}
	p.next, p.drawn = now.Add(frames), true
	line := text
	if total > 0 {
		const cells = 20
		full := min(cells, cells*done/total)
		line = fmt.Sprintf("[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), text)
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", []byte(line)[:min(len(line), p.width-1)])
}

// text returns how far the work is after a time.
func (p *Progress) text(done, total int, took time.Duration) string {
	text := fmt.Sprintf("%d %s", done, p.unit)
	if total > 0 {
		text = fmt.Sprintf("%d of %d %s", done, total, p.unit)
	}
	if done == 0 || took <= 0 {
		return text
	}
	text += fmt.Sprintf(", %.0f a second", float64(done)/took.Seconds())
	if total > done {
		text += fmt.Sprintf(", %v left", (took * time.Duration(total-done) / time.Duration(done)).Round(time.Second))
	}
	return text
}

// End removes the bar.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
