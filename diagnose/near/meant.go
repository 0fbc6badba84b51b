package near

import (
	"slices"
	"strings"
	"unicode"
)

// renamed are labels with a new name.
var renamed = map[string]string{
	"beta.kubernetes.io/arch":                  "kubernetes.io/arch",
	"beta.kubernetes.io/os":                    "kubernetes.io/os",
	"beta.kubernetes.io/instance-type":         "node.kubernetes.io/instance-type",
	"failure-domain.beta.kubernetes.io/zone":   "topology.kubernetes.io/zone",
	"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
	"node-role.kubernetes.io/master":           "node-role.kubernetes.io/control-plane",
}

// Key returns the key of a label that a wrong one most likely means: its new name, or what [Meant] returns, or a key that is the same behind
// the slash; "" for none, and for two that are equally near.
func Key(wrong string, keys []string) string {
	if to := renamed[wrong]; slices.Contains(keys, to) {
		return to
	}
	_, tail, _ := strings.Cut(wrong, "/")
	best, _ := closest(wrong, keys, func(k string) bool {
		_, has, _ := strings.Cut(k, "/")
		return Value(wrong, k) || tail != "" && (tail == has || tail == k) || has != "" && has == wrong
	})
	return best
}

// Meant returns the name that a wrong one most likely means. [Value] must accept it, and no other accepted name has as few other letters. ok is
// false if there is no such name.
func Meant(wrong string, names []string) (name string, ok bool) {
	return closest(wrong, names, func(n string) bool { return Value(wrong, n) })
}

// closest returns the like name with the fewest other letters. ok is false for none, and for two with as few.
func closest(wrong string, names []string, like func(name string) bool) (best string, ok bool) {
	least := -1
	for _, n := range names {
		if n == wrong || ok && n == best || !like(n) {
			continue
		}
		switch d := Distance(fold(wrong), fold(n)); {
		case least < 0 || d < least:
			best, least, ok = n, d, true
		case d == least:
			best, ok = "", false
		}
	}
	return best, ok
}

// Value reports whether a value is most likely meant by a wrong one: it is the same but for capitals and marks, has two other letters at most,
// or one below five letters, or one of the two is empty and the other true. Values that differ in numbers, in single letters, or in words for a place, a
// size or a machine are two values, and no typing errors: us-east-1a and us-east-1b, a100 and h100, amd64 and arm64.
func Value(wrong, value string) bool {
	if wrong == value {
		return false
	}
	if wrong == "" && value == "true" || wrong == "true" && value == "" {
		return true
	}
	a, b := fold(wrong), fold(value)
	if a == b {
		return a != ""
	}
	most := 2
	if len(a) < 5 {
		most = 1
	}
	return min(len(a), len(b)) > 2 && Distance(a, b) <= most && !numbered(wrong, value)
}

// numbered reports whether the parts in which two names differ are numbers, single letters or words that look alike and mean different things.
func numbered(a, b string) bool {
	x, y := parts(a), parts(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	for i, part := range y {
		switch {
		case i < len(x) && strings.EqualFold(x[i], part):
		case !ordinal(part) || i < len(x) && !ordinal(x[i]):
			return false
		}
	}
	return true
}

// words look like others of them: a typing error does not make one of another.
var words = []string{"amd", "arm", "east", "west", "north", "south", "large", "xlarge"}

// ordinal reports whether a part of a name is a number, one letter or one of the words.
func ordinal(part string) bool {
	return len(part) == 1 || unicode.IsDigit(rune(part[0])) || slices.Contains(words, strings.ToLower(part))
}

// parts cuts a name into its numbers and words. Marks end a word, and so does a capital behind a small letter.
func parts(name string) (out []string) {
	kind := func(r rune) int {
		switch {
		case unicode.IsDigit(r):
			return 1
		case unicode.IsUpper(r):
			return 2
		case unicode.IsLetter(r):
			return 3
		}
		return 0
	}
	last := 0
	for _, r := range name {
		k := kind(r)
		switch {
		case k == 0:
		case k == last || k == 3 && last == 2:
			out[len(out)-1] += string(r)
		default:
			out = append(out, string(r))
		}
		last = k
	}
	return out
}

// withoutMarks takes marks out of a name.
var withoutMarks = strings.NewReplacer("-", "", "_", "", ".", "", "/", "")

// fold takes capitals and marks out of a name.
func fold(name string) string { return withoutMarks.Replace(strings.ToLower(name)) }
