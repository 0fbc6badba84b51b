package config

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// printed returns arguments in the form in which v1.37 prints them in errors: JSON with Go's field names, and with the
// API's field names for embedded Kubernetes API types.
func printed(args runtime.RawExtension) any {
	if args.Object == nil {
		return json.RawMessage(orNull(args.Raw))
	}
	return goNames(reflect.ValueOf(args.Object))
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// ordered is a JSON object that keeps the order of its fields.
type ordered []struct {
	name  string
	value any
}

// MarshalJSON writes the fields in their order.
func (o ordered) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for k, f := range o {
		if k > 0 {
			out = append(out, ',')
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		out = append(out, '"')
		out = append(out, f.name...)
		out = append(out, '"', ':')
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

var (
	configPackage = reflect.TypeFor[configv1.ResourceSpec]().PkgPath()
	typeMeta      = reflect.TypeFor[metav1.TypeMeta]()
)

func goNames(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().PkgPath() == configPackage:
		return goNames(v.Elem())
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == configPackage:
		var out ordered
		for k := range v.NumField() {
			if f := v.Type().Field(k); f.Type != typeMeta {
				out = append(out, struct {
					name  string
					value any
				}{f.Name, goNames(v.Field(k))})
			}
		}
		return out
	case v.Kind() == reflect.Slice && !v.IsNil():
		list := make([]any, v.Len())
		for k := range list {
			list[k] = goNames(v.Index(k))
		}
		return list
	}
	return v.Interface()
}
