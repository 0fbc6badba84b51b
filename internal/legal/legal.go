// Package legal reports whether names and values of labels are legal, as the functions of the API do, but without regular expressions and
// texts. A caller that needs the reason asks the function of the API.
//
//	if !legal.Key(name) {
//		return validation.IsQualifiedName(name) // why
//	}
package legal

import "strings"

// Value reports whether a text is a legal value of a label: empty, or at most 63 letters, digits, '-', '_' and '.', of which the first and
// the last is a letter or a digit. It is validation.IsValidLabelValue without regular expressions and texts.
func Value(s string) bool { return s == "" || isName(s) }

// Key reports whether a text is a legal key of a label: a name, or a DNS subdomain, '/' and a name. It is
// validation.IsQualifiedName without regular expressions and texts.
func Key(s string) bool {
	prefix, name, found := strings.Cut(s, "/")
	if !found {
		return isName(s)
	}
	return len(prefix) <= 253 && isSubdomain(prefix) && isName(name)
}

func isName(s string) bool {
	if s == "" || len(s) > 63 || !alphanumeric(s[0]) || !alphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool { return lower(c) || 'A' <= c && c <= 'Z' }

// lower reports whether a byte is a small letter or a digit.
func lower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// isSubdomain reports whether s is a list of DNS labels with '.' between them.
func isSubdomain(s string) bool {
	before := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case lower(c):
		case c == '-' && before != '.':
		case c == '.' && before != '.' && before != '-':
		default:
			return false
		}
		before = c
	}
	return before != '.' && before != '-'
}
