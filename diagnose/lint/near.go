package lint

import (
	"strings"

	"github.com/podberth/podberth/diagnose/near"
)

// nearNames returns ", near: a, b" with at most three names that look like a wrong one, or "".
func nearNames(wrong string, names []string) string {
	if like := near.Names(wrong, names); len(like) > 0 {
		return ", near: " + strings.Join(like, ", ")
	}
	return ""
}
