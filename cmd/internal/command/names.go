package command

import (
	"encoding/json"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// namesOf returns the names that a JSON answer has at some paths, a line each, each once: "pod/shop/web-0", "node/n1". A place is
// KIND=PATH, where PATH joins the names of fields with points; lists on the way are walked through. An object "Pod shop/web-0" has
// its kind in its name when KIND is missing.
func namesOf(data []byte, places []string) (string, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return "", err
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, place := range places {
		kind, path, _ := strings.Cut(place, "=")
		walk(v, strings.Split(path, "."), func(text string) {
			name := kind + "/" + text
			if kind == "" {
				k, rest, _ := strings.Cut(text, " ")
				name = strings.ToLower(k) + "/" + rest
			}
			if text != "" && !seen[name] {
				seen[name] = true
				b.WriteString(report.Escape(name) + "\n")
			}
		})
	}
	return b.String(), nil
}

func walk(v any, path []string, see func(string)) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			walk(x, path, see)
		}
	case map[string]any:
		if len(path) > 0 {
			walk(v[path[0]], path[1:], see)
		}
	case string:
		if len(path) == 0 {
			see(v)
		}
	}
}
