package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Undocumented returns the fields of a JSON answer that a page does not describe, sorted. The page has a section "##
// KIND" for each kind of answer, with a row "| `path` | …" for each field. A path joins the names with points, and []
// follows the name of a list: `pods[].victims[]`. A path that ends in .* describes all fields below it. The error says
// that data is no JSON object with a kind, or that the page has no section of the kind.
func Undocumented(page string, data []byte) ([]string, error) {
	var head Head
	var v any
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	_, section, ok := strings.Cut(page, "\n## "+head.Kind+"\n")
	if !ok {
		return nil, fmt.Errorf("no section %q", "## "+head.Kind)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	described := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		described[m[1]] = true
	}
	missing := map[string]bool{}
	walk(v, "", func(path string) bool {
		if described[path+".*"] {
			return false
		}
		if !described[path] {
			missing[path] = true
		}
		return true
	})
	var out []string
	for path := range missing {
		out = append(out, path)
	}
	slices.Sort(out)
	return out, nil
}

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// walk calls visit with the path of every field below v, unless visit returned false for a field above.
func walk(v any, path string, visit func(path string) bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			below := strings.TrimPrefix(path+"."+name, ".")
			if list, ok := value.([]any); ok {
				below += "[]"
				if visit(below) {
					for _, item := range list {
						walk(item, below, visit)
					}
				}
			} else if visit(below) {
				walk(value, below, visit)
			}
		}
	}
}
