package fixes

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type tree = map[string]any

// edit changes an object as JSON.
func edit(o metav1.Object, change func(t tree)) {
	t := read(o)
	change(t)
	text, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	reflect.ValueOf(o).Elem().SetZero()
	if err := json.Unmarshal(text, o); err != nil {
		panic(err)
	}
}

// read returns an object as JSON.
func read(o metav1.Object) (t tree) {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(text, &t); err != nil {
		panic(err)
	}
	return t
}

// steps parts "spec.containers[0].limits[a.b/c]" into spec, containers, 0, limits, a.b/c.
func steps(path string) (out []string) {
	for path != "" {
		var step string
		if path[0] == '[' {
			step, path, _ = strings.Cut(path[1:], "]")
		} else if i := strings.IndexAny(path, ".["); i >= 0 {
			step, path = path[:i], path[i:]
		} else {
			step, path = path, ""
		}
		path = strings.TrimPrefix(path, ".")
		out = append(out, step)
	}
	return out
}

// get returns the value at a path, nil when there is none.
func get(t any, path string) any {
	for _, s := range steps(path) {
		switch x := t.(type) {
		case tree:
			t = x[s]
		case []any:
			i, err := strconv.Atoi(s)
			if err != nil || i >= len(x) {
				return nil
			}
			t = x[i]
		default:
			return nil
		}
	}
	return t
}

// list returns the list at a path.
func list(t any, path string) []any {
	out, _ := get(t, path).([]any)
	return out
}

// set writes a value at a path, and the objects above it. Lists are not made longer.
func set(t any, path string, value any) {
	all := steps(path)
	for i, s := range all {
		last := i == len(all)-1
		switch x := t.(type) {
		case tree:
			if last {
				x[s] = value
			} else if x[s] == nil {
				x[s] = tree{}
			}
			t = x[s]
		case []any:
			k, _ := strconv.Atoi(s)
			if last {
				x[k] = value
			}
			t = x[k]
		}
	}
}

// remove takes away the field or the element at a path.
func remove(t any, path string) {
	all := steps(path)
	last := all[len(all)-1]
	above := strings.TrimSuffix(strings.TrimSuffix(path, "["+last+"]"), last)
	above = strings.TrimSuffix(above, ".")
	switch x := get(t, above).(type) {
	case tree:
		delete(x, last)
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i < len(x) {
			set(t, above, append(append([]any{}, x[:i]...), x[i+1:]...))
		}
	}
}

// parent returns the path above the last step.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}
