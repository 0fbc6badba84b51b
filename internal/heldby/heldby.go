// Package heldby writes which claims hold devices into a sentence, and takes these names out again, so that sentences about several
// nodes can be compared.
package heldby

import (
	"fmt"
	"strings"
)

const (
	begin = " (held by claim"
	most  = 3 // claims that a sentence names
)

// Text returns what follows a test in a sentence: the first three claims and the number of the others. It is empty without claims.
func Text(claims []string) string {
	more := ""
	if n := len(claims) - most; n > 0 {
		claims, more = claims[:most], fmt.Sprintf(" and %d more", n)
	}
	switch len(claims) {
	case 0:
		return ""
	case 1:
		return begin + " " + claims[0] + ")"
	}
	return begin + "s " + strings.Join(claims, ", ") + more + ")"
}

// Without returns a sentence without the texts of Text. A name of a claim has no parenthesis.
func Without(sentence string) string {
	for {
		before, rest, _ := strings.Cut(sentence, begin)
		_, after, ok := strings.Cut(rest, ")")
		if !ok {
			return sentence
		}
		sentence = before + after
	}
}
