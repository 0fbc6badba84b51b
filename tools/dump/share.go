package dump

import (
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharing keeps the memory of similar objects small. Pods of one owner are equal in most parts, and a dump of a large
// cluster has many of them. sharing replaces each part of an object by the equal part of the object before it that has the
// same kind, namespace and controller, and cuts off the room that the decoder leaves behind the items of lists.
type sharing map[family]reflect.Value

// family is what objects have in common that are compared.
type family struct{ kind, namespace, owner string }

// add shares the parts of object, a pointer to a struct, with those of the last object of its family.
func (s sharing) add(kind string, object metav1.Object) {
	f := family{kind: kind, namespace: object.GetNamespace()}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		f.owner = string(owner.UID)
	}
	v := reflect.ValueOf(object).Elem()
	share(v, s[f])
	s[f] = v
}

// share replaces the parts of v by equal parts of like, which is the zero Value when there is nothing to compare with.
func share(v, like reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if like.IsValid() && v.String() == like.String() {
			v.Set(like)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if equal(v, like) {
			v.Set(like)
			return
		}
		if like.IsValid() {
			like = like.Elem()
		}
		share(v.Elem(), like)
	case reflect.Slice:
		n := v.Len()
		if n == 0 {
			return
		}
		if equal(v, like) {
			v.Set(like.Slice3(0, n, n)) // without spare room: what is appended later is not shared
			return
		}
		if v.Cap() > n {
			exact := reflect.MakeSlice(v.Type(), n, n)
			reflect.Copy(exact, v)
			v.Set(exact)
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range n {
			var item reflect.Value
			if like.IsValid() && i < like.Len() {
				item = like.Index(i)
			}
			share(v.Index(i), item)
		}
	case reflect.Map:
		if v.Len() > 0 && equal(v, like) {
			v.Set(like)
		}
	case reflect.Struct:
		for _, i := range sharedFields(v.Type()) {
			var field reflect.Value
			if like.IsValid() {
				field = like.Field(i)
			}
			share(v.Field(i), field)
		}
	}
}

// shared remembers the fields of each type of struct that may be shared.
var shared sync.Map

// sharedFields returns the exported fields of a struct, but for those whose type has no text, list, map or pointer.
func sharedFields(t reflect.Type) (out []int) {
	if known, ok := shared.Load(t); ok {
		return known.([]int)
	}
	for i := range t.NumField() {
		switch t.Field(i).Type.Kind() {
		case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
			if t.Field(i).IsExported() {
				out = append(out, i)
			}
		}
	}
	shared.Store(t, out)
	return out
}

// equal reports whether like is there and v is deeply equal to it, so that the two print the same.
func equal(v, like reflect.Value) bool {
	return like.IsValid() && reflect.DeepEqual(v.Interface(), like.Interface())
}
