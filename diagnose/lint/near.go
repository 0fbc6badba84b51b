package lint

import (
	"slices"
	"strings"
)

// near returns ", near: a, b" with at most three names that look like a wrong one, or "".
func near(wrong string, names []string) string {
	var like []string
	for _, n := range names {
		_, tail, ok := strings.Cut(n, "/")
		_, other, also := strings.Cut(wrong, "/")
		if n != wrong && (distance(wrong, n) <= 1+len(wrong)/5 || ok && also && tail == other || ok && tail == wrong || also && other == n) {
			like = append(like, n)
		}
	}
	slices.Sort(like)
	like = slices.Compact(like)
	if len(like) == 0 {
		return ""
	}
	return ", near: " + strings.Join(like[:min(3, len(like))], ", ")
}

// distance is the number of letters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for k := range len(b) {
			cost := corner
			if a[i] != b[k] {
				cost++
			}
			corner = row[k+1]
			row[k+1] = min(cost, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}
