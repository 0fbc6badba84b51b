package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Near returns the end of an error about a wrong name: "; near: a, b" with at most three of the names that are like it, or
// "" when none is. A name is like the wrong name when it contains it, when both are equal after a "/", or when few letters
// differ.
func Near(wrong string, names []string) string {
	type candidate struct {
		name string
		far  int
	}
	var list []candidate
	for _, name := range names {
		far := distance(wrong, name)
		_, a, _ := strings.Cut(wrong, "/")
		_, b, _ := strings.Cut(name, "/")
		switch {
		case a != "" && a == b:
			far = 0
		case far <= max(1, len(wrong)/4):
		case strings.Contains(name, wrong) || a != "" && strings.Contains(b, a):
			far = len(wrong)
		default:
			continue
		}
		list = append(list, candidate{name, far})
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.name, b.name))
	})
	if len(list) == 0 {
		return ""
	}
	var near []string
	for _, c := range list[:min(3, len(list))] {
		near = append(near, c.name)
	}
	return fmt.Sprintf("; near: %s", strings.Join(near, ", "))
}

// distance returns how many letters must be added, taken out or replaced to turn a into b.
func distance(a, b string) int {
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
