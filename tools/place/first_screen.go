package place

import (
	"fmt"
	"sort"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

const (
	mostLines = 10 // of a first screen
	columns   = 78 // of a line of a terminal, with room for the way in which it breaks lines
)

// firstScreen returns the answer about a pod that waits, in at most ten lines of a terminal: the cause, what is wrong with the other nodes, what to
// do and what not, and preemption where it makes room. Remedies for which there is no line stay for -o wide; one there is always.
func (e *explanation) firstScreen() string {
	head := append([]string{}, e.waits...)
	head = append(head, e.said)
	var tail []string
	if e.tried != "" {
		tail = append(tail, e.tried)
	}
	for _, text := range e.left[:min(1, len(e.left))] {
		tail = append(tail, text+".")
	}
	if e.Cause != nil && e.Cause.Not != "" {
		tail = append(tail, "Not: "+e.Cause.Not)
	}
	if p := e.Preemption; p != nil && p.Node != "" {
		tail = append(tail, strings.TrimSuffix(p.text(), "\n"))
	}
	wakes := ", what wakes it,"
	if e.Outlook == nil { // of a member of a group
		wakes = ""
	}
	more := fmt.Sprintf("-o wide has what rejects it on which nodes%s and what it asks for.", wakes)
	if e.State != "Refused" { // no node has rejected such a pod
		tail = append(tail, more)
	}
	used := 0
	for _, text := range append(append([]string{}, head...), tail...) {
		used += linesOf(text)
	}
	all := used
	for _, text := range e.Help {
		all += linesOf("Do: " + text)
	}
	first := 0
	if len(e.Help) > 0 {
		first = linesOf("Do: " + e.Help[0])
	}
	helped := len(e.Help) > 0 || e.State == "Refused"
	if helped && len(e.waits) > 0 && (used+first > mostLines || all > mostLines && all-linesOf(e.said) <= mostLines) { // the cause says as much
		head = head[:len(head)-1]
		used -= linesOf(e.said)
		if e.State == "Refused" {
			tail = append(tail, "-o wide has the words of the API server.")
			used++
		}
	}
	if over := used + first - mostLines; over > 0 { // the text of another program
		head[0] = beginning(head[0], max(1, linesOf(head[0])-over))
	}
	for k, text := range e.Help {
		text = "Do: " + text
		if used += linesOf(text); used > mostLines && k > 0 {
			break
		}
		head = append(head, text)
	}
	var b strings.Builder
	for _, text := range append(head, tail...) {
		report.Textf(&b, "%s\n", text)
	}
	return b.String()
}

// beginning returns as much of a text as a number of lines have room for.
func beginning(text string, lines int) string {
	words := strings.Fields(text)
	n := sort.Search(len(words), func(n int) bool { return linesOf(strings.Join(words[:n+1], " ")+" ...") > lines })
	if n == len(words) {
		return text
	}
	return strings.Join(words[:n], " ") + " ..."
}

// linesOf returns how many lines a text takes when it is broken between words, the further lines indented by two.
func linesOf(text string) (n int) {
	for line := range strings.SplitSeq(text, "\n") {
		n++
		at := 0
		for k, word := range strings.Fields(line) {
			if k > 0 && at+1+len(word) > columns {
				n, at = n+1, 2
			} else if k > 0 {
				at++
			}
			for at += len(word); at > columns; at -= columns - 2 { // a word that is longer than a line
				n++
			}
		}
	}
	return n
}
