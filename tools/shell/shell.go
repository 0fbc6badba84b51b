// Package shell (experimental) writes text that a POSIX shell reads: the words of a command and comments. Whatever stands in a word reaches the
// program as one argument, and no comment ends before its line does. Every text that a person may paste into a shell is made with it.
//
//	fmt.Println("kubectl cordon -- " + shell.Words(names...))
//
// Write "--" before Words: a program takes a name such as -h for a flag, quoted or not. No word is refused, not even the empty one. A NUL,
// which no argument can hold, is left out.
package shell

import (
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// plain are the characters that mean nothing to a shell, wherever they stand in a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:@_"

// Words returns words for a command line, with blanks between them: each as it is, or in single quotes when a shell could read it in
// another way. No words are the empty string. O(characters).
func Words(words ...string) string {
	out := make([]string, len(words))
	for k, w := range words {
		out[k] = quoted(w)
	}
	return strings.Join(out, " ")
}

func quoted(w string) string {
	w = strings.ReplaceAll(w, "\x00", "")
	if w != "" && strings.Trim(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Comment returns a comment of one line, without the end of the line. Characters that do not print, such as the end of a line, are
// written as in a Go string. O(characters).
func Comment(text string) string {
	return "# " + report.Escape(text)
}
