package command

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// messages writes what a program says on standard error in the words of the command: its name, and flags with two dashes.
type messages struct {
	*asked
	line bytes.Buffer
}

// Width lets a program draw a bar where standard error is a terminal.
func (m *messages) Width() int { return report.Width(m.stderr) }

func (m *messages) Write(data []byte) (int, error) {
	if bytes.Contains(data, []byte("\x1b[K")) { // a bar
		return m.stderr.Write(data)
	}
	for _, b := range data {
		if b != '\n' {
			m.line.WriteByte(b)
			continue
		}
		if err := m.end(); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

var oneDash = regexp.MustCompile(`(^|[ ;(])-([a-z][a-z-]+)`)

// verbose finds the flag -v, which is --all-warnings here.
var verbose = regexp.MustCompile(`([ (])-v `)

// noDump is about dumps that lack a kind. A cluster lacks nothing that was asked for.
const noDump = "warning: the input has no "

// end writes the line.
func (m *messages) end() error {
	line := m.line.String()
	m.line.Reset()
	if line == "" || len(m.files) == 0 && strings.HasPrefix(line, noDump) {
		return nil
	}
	text, failed := strings.CutPrefix(line, m.program+": ")
	if m.argument != "" {
		text = strings.Replace(text, m.argument+": ", strings.Fields(m.use)[1]+": ", 1)
	}
	text = oneDash.ReplaceAllString(verbose.ReplaceAllString(text, "$1--all-warnings "), "$1--$2")
	if failed {
		text = m.Name + " " + m.verb() + ": " + text
	}
	_, err := fmt.Fprintln(m.stderr, strings.ReplaceAll(text, m.program+" -h", m.Name+" "+m.verb()+" --help"))
	return err
}
