package report

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
)

// Columns returns rows under a header, aligned as kubectl aligns them, without blanks at the end of lines.
func Columns(header []string, rows [][]string) string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush() // a Buffer never fails
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
