package report

import (
	"fmt"
	"io"
	"slices"
)

// MaxWarnings is how many lines [Warnings.Lines] returns at most, unless [Warnings.All] is set.
const MaxWarnings = 20

// Warnings collects what a program says beside its answer. The zero value has no warnings.
type Warnings struct {
	// All makes every warning a line of its own, as the flag -v asks.
	All bool

	list []warning
}

type warning struct {
	group, text string
	aside       bool
}

// Add adds a warning that stands alone.
func (w *Warnings) Add(text string) { w.Group("", text) }

// Group adds a warning to a group, which is a kind of warning. group is the line that takes the place of all warnings of the group
// when there are several, with %d for their number: "%d pods exceed the cpu of their nodes". The line has the first warning as an
// example. Warnings of the group "" stand alone.
func (w *Warnings) Group(group, text string) { w.list = append(w.list, warning{group, text, false}) }

// Aside is Group for a warning about objects that the answer is not about. Print puts it after the answer.
func (w *Warnings) Aside(group, text string) { w.list = append(w.list, warning{group, text, true}) }

// Append adds the warnings of more.
func (w *Warnings) Append(more Warnings) { w.list = append(w.list, more.list...) }

// Clip returns the warnings as a value of its own: what a caller adds to it does not come to w.
func (w Warnings) Clip() Warnings { return Warnings{w.All, slices.Clip(w.list)} }

// Part divides the warnings into those that come before the answer and those that come after it.
func (w Warnings) Part() (before, after Warnings) {
	before.All, after.All = w.All, w.All
	for _, x := range w.list {
		if x.aside {
			after.list = append(after.list, x)
		} else {
			before.list = append(before.list, x)
		}
	}
	return before, after
}

// Texts returns every warning, in the order in which they were added. Equal warnings are one.
func (w Warnings) Texts() (texts []string) {
	for _, x := range w.distinct() {
		texts = append(texts, x.text)
	}
	return texts
}

func (w Warnings) distinct() (list []warning) {
	seen := map[warning]bool{}
	for _, x := range w.list {
		if !seen[x] {
			seen[x] = true
			list = append(list, x)
		}
	}
	return list
}

// Lines returns one line for each group and for each warning that stands alone, in the order of the first warning of each.
// A group of one warning is that warning. Without All there are at most [MaxWarnings] lines, and the last line says how many
// warnings the lines do not show.
func (w Warnings) Lines() (lines []string) {
	if w.All {
		return w.Texts()
	}
	list, of := w.distinct(), map[string]int{}
	for _, x := range list {
		of[x.group]++
	}
	written := map[string]bool{}
	for _, x := range list {
		switch {
		case x.group == "" || of[x.group] == 1:
			lines = append(lines, x.text)
		case !written[x.group]:
			written[x.group] = true
			lines = append(lines, fmt.Sprintf(x.group, of[x.group])+"; the first: "+x.text+" (-v lists them)")
		}
	}
	if len(lines) > MaxWarnings {
		left := len(lines) - (MaxWarnings - 1)
		return append(lines[:MaxWarnings-1], fmt.Sprintf("%d more lines are left out; -v prints all %d warnings", left, len(list)))
	}
	return lines
}

// Print writes the lines to stderr, escaped. Each begins with "warning: ".
func (w Warnings) Print(stderr io.Writer) {
	for _, line := range w.Lines() {
		Textf(stderr, "warning: %s\n", line)
	}
}
