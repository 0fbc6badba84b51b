// Package terminal writes answers for people: lines that fit the terminal, and colour where it helps. Colour only repeats what the
// words say.
package terminal

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"

	"golang.org/x/text/width"

	"github.com/podberth/podberth/tools/report"
)

// Writer keeps what is written and prints it with Flush. Its method Width tells tables how wide they may be.
type Writer struct {
	out    io.Writer
	width  int // 0: lines stay as they are
	colour bool
	text   bytes.Buffer
}

// New returns a writer to out. columns is the width that the user gave; a negative number is that of the terminal. Colour is used
// on a terminal unless the environment has NO_COLOR or TERM=dumb.
func New(out io.Writer, columns int, getenv func(string) string) *Writer {
	screen := report.Width(out)
	w := &Writer{out: out, width: columns, colour: screen > 0 && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if columns < 0 {
		w.width = screen
	}
	return w
}

// Environment is os.Getenv.
func Environment(name string) string { return os.Getenv(name) }

// Width returns how many cells a line may have, 0 for any number.
func (w *Writer) Width() int { return w.width }

// Write keeps the text.
func (w *Writer) Write(data []byte) (int, error) { return w.text.Write(data) }

// Flush prints what was written. Lines that are too long go on in the next line.
func (w *Writer) Flush() error {
	var b strings.Builder
	for line := range strings.Lines(w.text.String()) {
		line = strings.TrimSuffix(line, "\n")
		for _, part := range w.fit(line) {
			if w.colour {
				part = paint(part)
			}
			b.WriteString(part + "\n")
		}
	}
	w.text.Reset()
	_, err := io.WriteString(w.out, b.String())
	return err
}

func (w *Writer) fit(line string) []string {
	if w.width <= 0 || Cells(line) <= w.width {
		return []string{line}
	}
	indent := len(line) - len(strings.TrimLeft(line, " ")) + 2
	room := w.width - (Cells(line) - len([]rune(line))) // wide characters take two cells: leave room for all of them
	if room < w.width/2 {
		room = w.width / 2
	}
	return report.Wrap(line, room, indent)
}

// Cells returns how many cells of a terminal a line takes.
func Cells(line string) (n int) {
	for _, r := range line {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

var words = regexp.MustCompile(`\b(Unschedulable|Refused|Error|Gated|Preempted|Scheduled|rejected|can take it)\b|^(error|warning|info): |^Would help:`)

var colours = map[string]string{
	"Unschedulable": "31", "Refused": "31", "Error": "31", "rejected": "31", "error: ": "31",
	"Gated": "33", "Preempted": "33", "warning: ": "33", "Do:": "1", "Not:": "1",
	"Scheduled": "32", "can take it": "32",
}

// paint gives colour to the words that say how something ended.
func paint(line string) string {
	return words.ReplaceAllStringFunc(line, func(word string) string {
		if code := colours[word]; code != "" {
			return "\x1b[" + code + "m" + word + "\x1b[0m"
		}
		return word
	})
}
