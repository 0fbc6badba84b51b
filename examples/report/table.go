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
	Width     int  // the longest line in characters; 0 cuts no line
}

// leastLast is how many characters of the last column a cut leaves, however narrow the terminal is.
const leastLast = 24

// Columns returns rows under a header, aligned as kubectl aligns them, without blanks at the end of lines. It cuts the last
// column of lines that are longer than l.Width, ends them with "…", and reports whether it cut any.
func (l Layout) Columns(header []string, rows [][]string) (table string, cut bool) {
	if !l.NoHeaders {
		rows = append([][]string{header}, rows...)
	}
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush() // a Buffer never fails
	var out strings.Builder
	k := 0
	for line := range strings.Lines(b.String()) {
		line = strings.TrimRight(line, " \n")
		if length := utf8.RuneCountInString(line); l.Width > 0 && length > l.Width {
			last := utf8.RuneCountInString(rows[k][len(rows[k])-1])
			if limit := max(l.Width, length-last+leastLast); length > limit {
				line, cut = string([]rune(line)[:limit-1])+"…", true
			}
		}
		out.WriteString(line + "\n")
		k++
	}
	return out.String(), cut
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
