package anonymise

import "regexp"

var (
	literal = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
	// ofDriver are literals that name a driver, which keeps its name.
	ofDriver = regexp.MustCompile(`(device\.driver\s*==\s*|(?:attributes|capacity)\[)("[^"]*"|'[^']*')`)
)

// expressions returns an error when a CEL expression names something that has a new name. Expressions stay as they are.
func (w *walker) expressions(list []Tree) error {
	for _, t := range list {
		if t["kind"] != "DeviceClass" && t["kind"] != "ResourceClaim" && t["kind"] != "ResourceClaimTemplate" {
			continue
		}
		for _, text := range texts(t, "expression", nil) {
			for _, m := range literal.FindAllStringSubmatch(ofDriver.ReplaceAllString(text, "$1"), -1) {
				name := m[1] + m[2]
				for _, r := range []rule{nodeName, nameOf, nsName, labelMap} {
					if w.books[r].seen[name] {
						return refuse(t, "selectors: the expression %q names %q, which gets a new name", text, name)
					}
				}
			}
		}
	}
	return nil
}

// texts appends the texts of a field, wherever it is.
func texts(v any, field string, out []string) []string {
	switch v := v.(type) {
	case Tree:
		for k, x := range v {
			if text, ok := x.(string); ok && k == field {
				out = append(out, text)
			}
			out = texts(x, field, out)
		}
	case []any:
		for _, x := range v {
			out = texts(x, field, out)
		}
	}
	return out
}
