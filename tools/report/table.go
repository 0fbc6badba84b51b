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
	Nodes     *Nodes
	Wrap      bool // with Width: long texts in the last column go on in the next line; without Wrap they are cut
}

// Columns returns rows under a header, aligned as kubectl aligns them, without blanks at the end of lines. Lines that would be
// longer than l.Width are fitted: the texts of the last column are cut, which "…" shows, or go on in the next line with l.Wrap.
// Where the other columns leave too little room, the texts of the last column get lines of their own below the rows. The bool
// reports whether a text was cut. Cells are escaped as [Escape] does.
func (l Layout) Columns(header []string, rows [][]string) (table string, cut bool) {
	if !l.NoHeaders {
		rows = append([][]string{header}, rows...)
	}
	rows = escapedRows(rows)
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush() // a Buffer never fails
	var out strings.Builder
	widest := 0
	for line := range strings.Lines(b.String()) {
		line = strings.TrimRight(line, " \n")
		widest = max(widest, utf8.RuneCountInString(line))
		out.WriteString(line + "\n")
	}
	if l.Width > 0 && widest > l.Width {
		return l.fitted(rows)
	}
	return out.String(), false
}

const (
	leastLast  = 24 // characters that the last column has at least beside the others
	leastOther = 10 // characters that a column keeps when it is narrowed
	below      = 4  // blanks before a text of the last column that has lines of its own
)

// fitted returns the table with lines of at most l.Width characters, unless the columns cannot be that narrow.
func (l Layout) fitted(rows [][]string) (table string, cut bool) {
	var widths []int
	for _, r := range rows {
		for len(widths) < len(r) {
			widths = append(widths, 0)
		}
		for k, cell := range r {
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	last, gap := len(widths)-1, 3
	least := min(leastLast, widths[last])
	if sum(widths[:last])+gap*last+least > l.Width {
		gap = 2
	}
	narrowest := gap*last + least
	for _, w := range widths[:last] {
		narrowest += min(w, leastOther)
	}
	apart := len(widths) > 3 && sum(widths[:last])+gap*last+least > l.Width && (widths[last] > leastLast || narrowest > l.Width)
	if !apart {
		narrow(widths[:last], l.Width-gap*last-least)
		widths[last] = min(widths[last], max(least, l.Width-gap*last-sum(widths[:last])))
	} else {
		narrow(widths[:last], l.Width-gap*(last-1))
		widths[last] = max(least, l.Width-below)
	}
	var out strings.Builder
	for n, r := range rows {
		end := []string{}
		if len(r) > last && r[last] != "" && !(apart && n == 0 && !l.NoHeaders) {
			end = []string{r[last]}
			switch {
			case l.Wrap:
				end = Wrap(r[last], widths[last], 0)
			case utf8.RuneCountInString(r[last]) > widths[last]:
				end, cut = []string{string([]rune(r[last])[:widths[last]-1]) + "…"}, true
			}
		}
		cells := r[:min(last, len(r))]
		if apart {
			block(&out, cells, nil, widths, gap)
			for _, text := range end {
				out.WriteString(strings.Repeat(" ", below) + text + "\n")
			}
		} else {
			block(&out, cells, end, widths, gap)
		}
	}
	return out.String(), cut
}

// block writes a row whose cells may take several lines each. end has the lines of the last cell.
func block(out *strings.Builder, cells, end []string, widths []int, gap int) {
	parts, height := make([][]string, len(cells)), max(1, len(end))
	for k, cell := range cells {
		parts[k] = Wrap(cell, widths[k], 0)
		height = max(height, len(parts[k]))
	}
	parts = append(parts, end)
	for n := range height {
		line := ""
		for k, p := range parts {
			text := ""
			if n < len(p) {
				text = p[n]
			}
			line += text + strings.Repeat(" ", max(0, widths[k]-utf8.RuneCountInString(text))+gap)
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// narrow makes the widest columns narrower until all together have at most room characters. No column gets narrower than
// leastOther.
func narrow(widths []int, room int) {
	for sum(widths) > room {
		widest := 0
		for k, w := range widths {
			if w > widths[widest] {
				widest = k
			}
		}
		if len(widths) == 0 || widths[widest] <= leastOther {
			return
		}
		widths[widest]--
	}
}

// Section writes a table below what out has: an empty line, the title unless it is "", and the table. Without rows it writes nothing.
func (l Layout) Section(out *strings.Builder, title string, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	if out.Len() > 0 {
		out.WriteString("\n")
	}
	if title != "" {
		out.WriteString(Escape(title) + "\n")
	}
	table, _ := l.Columns(header, rows)
	out.WriteString(table)
}

// Columns returns the table that the zero [Layout] writes.
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
