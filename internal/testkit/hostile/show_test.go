package hostile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longest is how much of a result is compared, in bytes.
const longest = 20000

// show writes what a caller can see of a value: exported fields, errors, the sorted keys of maps, what iterators yield.
func show(b *strings.Builder, v reflect.Value, depth int) {
	if !v.IsValid() || depth > 8 || b.Len() > longest {
		b.WriteString(".")
		return
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case resource.Quantity:
			c := x.DeepCopy()
			b.WriteString(c.String())
			return
		case fmt.Stringer:
			if k := v.Kind(); k == reflect.Struct || k == reflect.String || k >= reflect.Int && k <= reflect.Float64 {
				b.WriteString(x.String())
				return
			}
		case error:
			if v.Kind() != reflect.Pointer || !v.IsNil() {
				b.WriteString(x.Error())
				return
			}
		case metav1.Object:
			if v.Kind() == reflect.Pointer && !v.IsNil() && depth > 3 {
				b.WriteString(x.GetNamespace() + "/" + x.GetName())
				return
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		show(b, v.Elem(), depth+1)
	case reflect.Struct:
		b.WriteString("{")
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				b.WriteString(v.Type().Field(i).Name + ":")
				show(b, v.Field(i), depth+1)
				b.WriteString(" ")
			}
		}
		b.WriteString("}")
	case reflect.Slice, reflect.Array:
		b.WriteString("[")
		for i := range v.Len() {
			show(b, v.Index(i), depth+1)
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Map:
		var lines []string
		for k, e := range v.Seq2() {
			var line strings.Builder
			show(&line, k, depth+1)
			line.WriteString("=")
			show(&line, e, depth+1)
			lines = append(lines, line.String())
		}
		slices.Sort(lines)
		b.WriteString("map" + fmt.Sprint(lines))
	case reflect.Func:
		showSeq(b, v, depth)
	case reflect.Chan, reflect.UnsafePointer:
	default:
		fmt.Fprintf(b, "%v", v)
	}
}

// showSeq writes what an iterator yields, and whether another function is nil.
func showSeq(b *strings.Builder, v reflect.Value, depth int) {
	if v.IsNil() {
		b.WriteString("nil")
		return
	}
	switch {
	case v.Type().CanSeq():
		for e := range v.Seq() {
			show(b, e, depth+1)
		}
	case v.Type().CanSeq2():
		for k, e := range v.Seq2() {
			show(b, k, depth+1)
			show(b, e, depth+1)
		}
	default:
		b.WriteString("func")
	}
}

// clone copies what an argument holds as far as a function could change it. Functions are left out.
func clone(v reflect.Value, depth int) reflect.Value {
	if depth > 12 {
		return reflect.Zero(v.Type())
	}
	switch v.Kind() {
	case reflect.Func:
		return reflect.Zero(v.Type())
	case reflect.Pointer:
		if v.IsNil() || opaque(v.Type().Elem()) {
			return v
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(clone(v.Elem(), depth+1))
		return p
	case reflect.Struct:
		s := reflect.New(v.Type()).Elem()
		if !strings.HasPrefix(v.Type().PkgPath(), module) {
			s.Set(v)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.Field(i).Set(clone(v.Field(i), depth+1))
			}
		}
		return s
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			s.Index(i).Set(clone(v.Index(i), depth+1))
		}
		return s
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		m := reflect.MakeMap(v.Type())
		for k, e := range v.Seq2() {
			m.SetMapIndex(k, clone(e, depth+1))
		}
		return m
	}
	return v
}
