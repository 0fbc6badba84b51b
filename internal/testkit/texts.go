package testkit

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SetTexts sets every text field at or below a path of the object that object points to. text gets the path of a field and the text
// that stands there, and returns the new one. What is nil or empty on the way gets one element. A path joins the names of fields with
// points, "" is the whole object: "Spec.Containers.Name". A key of a map has the path of the map and ".key". Raw JSON becomes an object
// that holds the text.
func SetTexts(object any, path string, text func(path, old string) string) {
	setTexts(reflect.ValueOf(object).Elem(), "", path, text)
}

// TextFields returns the paths of the fields right below a path, each a path for SetTexts. What has no fields, such as a text, has none.
func TextFields(object any, path string) (fields []string) {
	t := reflect.TypeOf(object)
	for step := range strings.SplitSeq(path, ".") {
		t = structOf(t)
		if f, ok := t.FieldByName(step); ok && step != "" {
			t = f.Type
		}
	}
	if t = structOf(t); t.Kind() != reflect.Struct || whole(t) {
		return nil
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			fields = append(fields, joined(path, f.Name))
		}
	}
	return fields
}

func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

func joined(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// whole reports whether a struct is one value, not fields.
func whole(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](),
		reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[metav1.TypeMeta]():
		return true
	}
	return false
}

func setTexts(v reflect.Value, at, path string, text func(path, old string) string) {
	if at != "" && path != at && !strings.HasPrefix(at, path+".") && !strings.HasPrefix(path, at+".") && path != "" {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		setTexts(v.Elem(), at, path, text)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			setTexts(v.Index(i), at, path, text)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		for it := v.MapRange(); it.Next(); {
			key.Set(it.Key())
			value.Set(it.Value())
			break
		}
		setTexts(key, at+".key", path, text)
		setTexts(value, at, path, text)
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[runtime.RawExtension]() {
			raw, err := json.Marshal(map[string]string{"raw": text(at, "")})
			if err != nil {
				panic(err) // a map of texts is JSON
			}
			v.FieldByName("Raw").SetBytes(raw)
		}
		if whole(v.Type()) {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				setTexts(v.Field(i), joined(at, f.Name), path, text)
			}
		}
	case reflect.String:
		v.SetString(text(at, v.String()))
	}
}
