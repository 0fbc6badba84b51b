package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/diagnose/near"
)

// Near returns the end of an error about a wrong name: "; near: a, b" with at most three of the names that look like it (near.Alike) or
// contain it, or "" when none does. Names that are equal after a "/" come first, then those of which the fewest letters differ.
func Near(wrong string, names []string) string {
	type candidate struct {
		name string
		far  int
	}
	var list []candidate
	for _, name := range names {
		far := near.Distance(wrong, name)
		_, a, _ := strings.Cut(wrong, "/")
		_, b, _ := strings.Cut(name, "/")
		switch {
		case a != "" && a == b:
			far = 0
		case near.Alike(wrong, name):
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
	var like []string
	for _, c := range list[:min(3, len(list))] {
		like = append(like, c.name)
	}
	return fmt.Sprintf("; near: %s", strings.Join(like, ", "))
}

// CheckNode returns an error when name is not among the names of the input's nodes. The error names the flag, and the names that are
// near.
func CheckNode(flag, name string, nodes []string) error {
	if slices.Contains(nodes, name) {
		return nil
	}
	return fmt.Errorf("%s: Not found: %q: no such node in the input%s", flag, name, Near(name, nodes))
}
