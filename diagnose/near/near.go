// Package near (experimental) compares names, for hints about a wrong name: [Names]. What all packages promise is said in
// [github.com/podberth/podberth].
package near

import (
	"slices"
	"strings"
)

// Names returns at most three names that look like a wrong one, sorted.
func Names(wrong string, names []string) []string {
	var like []string
	for _, n := range names {
		if n != wrong && Alike(wrong, n) {
			like = append(like, n)
		}
	}
	slices.Sort(like)
	like = slices.Compact(like)
	return like[:min(3, len(like))]
}

// Alike reports whether a name looks like a wrong one: both are the same behind the slash, or the distance between them is at most
// one and one more for each five letters of the wrong name.
func Alike(wrong, name string) bool {
	_, tail, ok := strings.Cut(name, "/")
	_, other, also := strings.Cut(wrong, "/")
	return ok && also && tail == other || ok && tail == wrong || also && other == name || Distance(wrong, name) <= 1+len(wrong)/5
}

// Distance returns how many bytes must be added, taken out or replaced to turn a into b. O(len(a) x len(b)).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
