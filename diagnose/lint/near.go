package lint

import (
	"slices"
	"strings"

	"github.com/podberth/podberth/internal/near"
)

// nearNames returns ", near: a, b" with at most three names that look like a wrong one, or "".
func nearNames(wrong string, names []string) string {
	var like []string
	for _, n := range names {
		_, tail, ok := strings.Cut(n, "/")
		_, other, also := strings.Cut(wrong, "/")
		if n != wrong && (near.Distance(wrong, n) <= 1+len(wrong)/5 || ok && also && tail == other || ok && tail == wrong || also && other == n) {
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
