package devices

import (
	"fmt"
	"strings"
)

const (
	begin = " (held by claim"
	most  = 3 // claims that a sentence names
)

// holderText returns what follows a test in a sentence: the first three claims and the number of the others. It is empty without claims.
func holderText(claims []string) string {
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

// WithoutHolders returns a sentence of an [Explanation] without the names of the claims that hold devices. A name of a claim has no
// parenthesis.
func WithoutHolders(sentence string) string {
	for {
		before, rest, _ := strings.Cut(sentence, begin)
		_, after, ok := strings.Cut(rest, ")")
		if !ok {
			return sentence
		}
		sentence = before + after
	}
}
