package admission

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// changed returns the paths of the fields that differ between two pods: those of the annotations and of the specification.
func changed(old, new *v1.Pod) (paths []string) {
	differences(reflect.ValueOf(old.Annotations), reflect.ValueOf(new.Annotations), "metadata.annotations", &paths)
	differences(reflect.ValueOf(old.Spec), reflect.ValueOf(new.Spec), "spec", &paths)
	return paths
}

// differences adds the deepest paths whose values differ. Lists of different lengths differ as a whole.
func differences(a, b reflect.Value, path string, paths *[]string) {
	if equality.Semantic.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
		differences(a.Elem(), b.Elem(), path, paths)
	case a.Kind() == reflect.Struct && hasFields(a.Type()):
		for i := range a.NumField() {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			inner := path
			if name != "" {
				inner += "." + name
			}
			differences(a.Field(i), b.Field(i), inner, paths)
		}
	case a.Kind() == reflect.Slice && a.Len() == b.Len():
		for i := range a.Len() {
			differences(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i), paths)
		}
	case a.Kind() == reflect.Map:
		for _, k := range keysOf(a, b) {
			x, y := a.MapIndex(reflect.ValueOf(k).Convert(a.Type().Key())), b.MapIndex(reflect.ValueOf(k).Convert(a.Type().Key()))
			if !x.IsValid() || !y.IsValid() || !equality.Semantic.DeepEqual(x.Interface(), y.Interface()) {
				*paths = append(*paths, fmt.Sprintf("%s[%s]", path, k))
			}
		}
	default:
		*paths = append(*paths, path)
	}
}

// hasFields reports whether all fields of a struct are exported; those of quantities and times are not.
func hasFields(t reflect.Type) bool {
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

// keysOf returns the keys of two maps of strings, sorted.
func keysOf(maps ...reflect.Value) (keys []string) {
	for _, m := range maps {
		for _, k := range m.MapKeys() {
			keys = append(keys, k.String())
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
