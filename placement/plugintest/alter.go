package plugintest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// alterer changes values one field at a time.
type alterer struct {
	words []string // new values of strings, and new keys of maps
	try   func(path string) error
}

// growth is how many fields deep unset pointers and lists get elements whose fields are changed too.
const growth = 3

// collect appends the strings of a value to the words.
func (a *alterer) collect(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); !slices.Contains(a.words, s) && len(a.words) < 40 {
			a.words = append(a.words, s)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			a.collect(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				a.collect(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			a.collect(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			a.collect(k)
			a.collect(v.MapIndex(k))
		}
	}
}

// alter makes one change of v at a time, calls try after each change, and undoes the change. It ends at the first error.
func (a *alterer) alter(v reflect.Value, path string, depth int) error {
	set := func(to any, what string) error {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		defer v.Set(old)
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		return a.try(path + what)
	}
	switch x := v.Interface().(type) {
	case resource.Quantity:
		return each([]string{"0", "3", "2Gi", "1m"}, func(text string) error {
			if to := resource.MustParse(text); to.Cmp(x) != 0 {
				return set(to, " = "+text)
			}
			return nil
		})
	case metav1.Time:
		return set(metav1.NewTime(x.Add(time.Hour)), ", an hour later")
	}
	switch v.Kind() {
	case reflect.String:
		return each(a.words, func(w string) error {
			if w == v.String() {
				return nil
			}
			return set(w, fmt.Sprintf(" = %q", w))
		})
	case reflect.Bool:
		return set(!v.Bool(), fmt.Sprint(" = ", !v.Bool()))
	case reflect.Int32, reflect.Int64:
		return each([]int64{0, 1, 2, 100, 8080}, func(n int64) error {
			if n == v.Int() {
				return nil
			}
			return set(n, fmt.Sprint(" = ", n))
		})
	case reflect.Pointer:
		return a.pointer(v, path, depth, set)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if err := a.alter(v.Field(i), path+"."+f.Name, depth+1); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		return a.list(v, path, depth, set)
	case reflect.Map:
		return a.entries(v, path, depth)
	}
	return nil
}

func (a *alterer) pointer(v reflect.Value, path string, depth int, set func(to any, what string) error) error {
	if !v.IsNil() {
		if err := set(reflect.Zero(v.Type()).Interface(), " = nil"); err != nil {
			return err
		}
		return a.alter(v.Elem(), path, depth)
	}
	v.Set(reflect.New(v.Type().Elem()))
	defer v.SetZero()
	if err := a.try(path + ", new"); err != nil || depth >= growth {
		return err
	}
	return a.alter(v.Elem(), path, depth)
}

func (a *alterer) list(v reflect.Value, path string, depth int, set func(to any, what string) error) error {
	if v.Len() > 0 {
		if err := set(v.Slice(1, v.Len()).Interface(), " without the first"); err != nil {
			return err
		}
		if err := set(v.Slice(0, v.Len()-1).Interface(), " without the last"); err != nil {
			return err
		}
	}
	for i := range v.Len() {
		if err := a.alter(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth); err != nil {
			return err
		}
	}
	if depth >= growth {
		return nil
	}
	old := v.Slice3(0, v.Len(), v.Len())
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	defer v.Set(was)
	v.Set(reflect.Append(old, reflect.Zero(v.Type().Elem())))
	if err := a.try(path + ", one more"); err != nil {
		return err
	}
	return a.alter(v.Index(v.Len()-1), fmt.Sprintf("%s[%d]", path, v.Len()-1), depth)
}

// entries changes a map: each entry goes or gets other values, and each word that is no key comes as a key.
func (a *alterer) entries(v reflect.Value, path string, depth int) error {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	defer v.Set(old)
	fresh := func() {
		m := reflect.MakeMap(v.Type())
		for _, k := range old.MapKeys() {
			m.SetMapIndex(k, old.MapIndex(k))
		}
		v.Set(m)
	}
	keys := old.MapKeys()
	known := len(keys)
	for _, w := range a.words {
		if k := reflect.ValueOf(w).Convert(v.Type().Key()); !old.MapIndex(k).IsValid() {
			keys = append(keys, k)
		}
	}
	for n, k := range keys {
		at := fmt.Sprintf("%s[%s]", path, k)
		fresh()
		elem := reflect.New(v.Type().Elem()).Elem()
		if n < known {
			elem.Set(old.MapIndex(k))
			v.SetMapIndex(k, reflect.Value{})
			if err := a.try(at + ", removed"); err != nil {
				return err
			}
		} else {
			v.SetMapIndex(k, elem)
			if err := a.try(at + ", added"); err != nil {
				return err
			}
		}
		inner := alterer{words: a.words, try: func(what string) error {
			v.SetMapIndex(k, elem)
			return a.try(what)
		}}
		if err := inner.alter(elem, at, depth); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with the elements up to the first error.
func each[T any](list []T, f func(T) error) error {
	for _, x := range list {
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}
