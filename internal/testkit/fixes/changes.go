package fixes

import (
	"fmt"
	"regexp"
	"strings"
)

// Change is one way to do what a fix says. A fix names several ways by "or".
type Change struct {
	Words string
	// Apply makes the change in a world that it may modify. The way counts the values among which a person chooses, from 0. It reports false
	// for a way that is not there. nil: the words name nothing that a manifest has.
	Apply func(w *World, way int) bool
}

// Changes returns the ways of a fix, in its order. Words that this package does not know are an error.
func Changes(f Finding) (out []Change, err error) {
	rest := f.Fix
	for rest != "" {
		words, p := longest(rest)
		if p == nil {
			return nil, fmt.Errorf("nobody knows how to do %q of the fix %q", rest, f.Fix)
		}
		c := Change{Words: words}
		if m := p.words.FindStringSubmatch(words); p.do != nil {
			c.Apply = func(w *World, way int) bool {
				s := &site{w: w, f: f, o: find(w.Objects, f.Object), path: f.Path, way: way, object: f.Object}
				return s.o != nil && p.do(s, m)
			}
		}
		out, rest = append(out, c), strings.TrimPrefix(rest, words)
		for _, by := range separators {
			if next, is := strings.CutPrefix(rest, by); is {
				rest = next
				break
			}
		}
	}
	return out, nil
}

var separators = []string{"; or ", ", or ", " or ", "; ", ", "}

// longest returns the longest part of a text up to a separator or its end that has a meaning.
func longest(text string) (words string, found *meaning) {
	for i := len(text); i > 0; i-- {
		if i < len(text) && !startsWithSeparator(text[i:]) {
			continue
		}
		for k := range meanings {
			if meanings[k].words.MatchString(text[:i]) {
				return text[:i], &meanings[k]
			}
		}
	}
	return "", nil
}

func startsWithSeparator(text string) bool {
	for _, by := range separators {
		if strings.HasPrefix(text, by) {
			return true
		}
	}
	return false
}

// meaning is what a person does who reads some words.
type meaning struct {
	words *regexp.Regexp
	do    func(s *site, m []string) bool // nil: nothing in the manifests
}

var meanings []meaning

func means(words string, do func(s *site, m []string) bool) {
	meanings = append(meanings, meaning{regexp.MustCompile("^(?:" + words + ")$"), do})
}
