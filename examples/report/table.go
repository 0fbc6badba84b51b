package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
)

// Layout says how a table is written. The zero Layout writes a header and whole lines.
type Layout struct {
	NoHeaders bool // leaves the header out
	Width     int  // the longest line in characters; 0 changes no line
	Wrap      bool // with Width: long texts in the last column go on in the next line; without Wrap they are cut
}

const (
	leastLast  = 24 // characters that the last column has at least, however narrow the terminal is
	leastOther = 8  // characters that a column keeps when it is narrowed
	gap        = 3  // blanks between columns
)

// Columns returns rows under a header, aligned as kubectl aligns them, without blanks at the end of lines. Lines that would be
// longer than l.Width are fitted: the texts of the last column are cut, which "…" shows, or go on in the next line with l.Wrap;
// when the other columns leave too little room for the last column, their texts go on in the next line. The bool reports whether
// a text was cut.
func (l Layout) Columns(header []string, rows [][]string) (table string, cut bool) {
	if !l.NoHeaders {
		rows = append([][]string{header}, rows...)
	}
	if l.Width > 0 {
		rows, cut = l.fitted(rows)
	}
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 8, gap, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush() // a Buffer never fails
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String(), cut
}

// fitted returns the rows that a table of l.Width characters has.
func (l Layout) fitted(rows [][]string) (out [][]string, cut bool) {
	var widths []int
	for _, r := range rows {
		for len(widths) < len(r) {
			widths = append(widths, 0)
		}
		for k, cell := range r {
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	if len(widths) == 0 {
		return rows, false
	}
	last := len(widths) - 1
	room := l.Width - gap*last - narrow(widths[:last], l.Width-gap*last-min(leastLast, widths[last]))
	widths[last] = min(widths[last], max(leastLast, room))
	for _, r := range rows {
		lines := [][]string{}
		for k, cell := range r {
			parts := []string{cell}
			switch long := utf8.RuneCountInString(cell) > widths[k]; {
			case long && k == last && !l.Wrap:
				parts, cut = []string{string([]rune(cell)[:widths[k]-1]) + "…"}, true
			case long:
				parts = Wrap(cell, widths[k], 0)
			}
			for n, part := range parts {
				if n == len(lines) {
					lines = append(lines, make([]string, len(r)))
				}
				lines[n][k] = part
			}
		}
		out = append(out, lines...)
	}
	return out, cut
}

// narrow makes the widest columns narrower until all together have at most room characters, and returns how many they have. No
// column gets narrower than leastOther.
func narrow(widths []int, room int) (sum int) {
	for _, w := range widths {
		sum += w
	}
	for sum > room {
		widest := 0
		for k, w := range widths {
			if w > widths[widest] {
				widest = k
			}
		}
		if len(widths) == 0 || widths[widest] <= leastOther {
			break
		}
		widths[widest]--
		sum--
	}
	return sum
}

// Columns returns the table that the zero Layout writes.
func Columns(header []string, rows [][]string) string {
	table, _ := Layout{}.Columns(header, rows)
	return table
}

// Width returns the width in characters of the terminal that w writes to, 0 when w is no terminal. It asks w itself when w
// has a method Width, and the operating system when w is an *os.File.
func Width(w io.Writer) int {
	switch w := w.(type) {
	case interface{ Width() int }:
		return w.Width()
	case *os.File:
		if width, _, err := term.GetSize(int(w.Fd())); err == nil {
			return width
		}
	}
	return 0
}
