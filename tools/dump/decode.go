package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/podberth/podberth/resources"
)

// FieldError says which field of an object cannot be read and why.
type FieldError struct {
	Path  string // as in "spec.containers[0].resources.requests[cpu]"
	Value string // as it stands in the input, JSON
	Why   string // what is allowed
}

// Error returns "path: Invalid value: value: why", without a path for the document as a whole.
func (e *FieldError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("Invalid value: %s: %s", e.Value, e.Why)
	}
	return fmt.Sprintf("%s: Invalid value: %s: %s", e.Path, e.Value, e.Why)
}

// Decode reads one JSON value into object, a pointer to a struct. Field names are case-sensitive, as the API server's are. A
// key that stands twice, text that is not UTF-8, too much nesting, and a quantity that is too long to parse, negative or
// beyond int64 are errors with the field path. unknown has one line for each field that object does not have.
func Decode(data []byte, object any) (unknown []string, err error) {
	if !utf8.Valid(data) {
		return nil, refuse("Invalid value", "must be UTF-8")
	}
	s := scan{data: data}
	if err := s.whole(); err != nil {
		return nil, err
	}
	return decode(data, object, s.numbers)
}

// decode reads data that was scanned into object. numbers says that the texts of quantities have to be looked at first.
func decode(data []byte, object any, numbers bool) (unknown []string, err error) {
	if numbers {
		if found := search(data, object, locator{}); found != nil {
			return nil, found
		}
	}
	strict, err := kjson.UnmarshalStrict(data, object)
	if err != nil { // the slow road finds the field
		if found := search(data, object, locator{}); found != nil {
			return nil, found
		}
		return nil, err
	}
	if bad := quantities(reflect.ValueOf(object).Elem(), ""); bad != nil {
		return nil, bad
	}
	for _, e := range strict {
		unknown = append(unknown, e.Error())
	}
	return unknown, nil
}

// Check returns an error for one JSON value that encoding/json decodes into object, a pointer to a struct, without
// complaint but not safely: a key twice, text that is not UTF-8, too much nesting, a quantity that is too long to parse. Text that is not JSON passes: the decoder refuses it.
func Check(data []byte, object any) error {
	if !utf8.Valid(data) {
		return refuse("Invalid value", "must be UTF-8")
	}
	s := scan{data: data}
	var bad refusal
	if err := s.whole(); errors.As(err, &bad) {
		return err
	} else if err != nil {
		return nil
	}
	if s.numbers {
		return search(data, object, locator{fold: true})
	}
	return nil
}

// locator finds fields. With fold it ignores the case of their names, as encoding/json does.
type locator struct{ fold bool }

// search returns the first field of data that does not fit the type of object, nil when all do.
func search(data []byte, object any, l locator) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var raw any
	if err := decoder.Decode(&raw); err != nil {
		return err
	}
	if found := l.locate(reflect.TypeOf(object).Elem(), raw, ""); found != nil {
		return found
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// locate returns the first field of value that does not fit type t, nil when all do.
func (l locator) locate(t reflect.Type, value any, path string) *FieldError {
	if value == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !reflect.PointerTo(t).Implements(unmarshaler) {
		switch v := value.(type) {
		case map[string]any:
			if t.Kind() == reflect.Struct || t.Kind() == reflect.Map {
				return l.locateIn(t, v, path)
			}
		case []any:
			if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
				for i, item := range v {
					if bad := l.locate(t.Elem(), item, fmt.Sprintf("%s[%d]", path, i)); bad != nil {
						return bad
					}
				}
				return nil
			}
		}
	}
	data := written(value)
	if t == quantityType {
		text, quoted := value.(string)
		if !quoted {
			text = string(data)
		}
		if err := resources.CheckQuantity(text); err != nil {
			return &FieldError{path, short(string(data)), err.Error()}
		}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, reflect.New(t).Interface()); err != nil {
		why := wanted(t, err)
		if _, is := value.(bool); is && t.Kind() == reflect.String {
			why += "; YAML reads y, n, yes, no, on, off, true and false as a truth: write it in quotes"
		}
		return &FieldError{path, short(string(data)), why}
	}
	return nil
}

// written returns a value as JSON, as people write it: < and > are not escaped. The value was JSON before.
func written(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// short cuts a value that is too long for a message.
func short(value string) string {
	if len(value) <= 200 {
		return value
	}
	return strings.ToValidUTF8(value[:100], "") + "..."
}

func (l locator) locateIn(t reflect.Type, value map[string]any, path string) *FieldError {
	keys := make([]string, 0, len(value))
	for k := range value {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if t.Kind() == reflect.Map {
			if bad := l.locate(t.Elem(), value[k], path+"["+k+"]"); bad != nil {
				return bad
			}
			continue
		}
		if f, ok := l.field(t, k); ok {
			if bad := l.locate(f, value[k], join(path, k)); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// field returns the type of the field of struct t that JSON calls name.
func (l locator) field(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" && f.Anonymous {
			if inner, ok := l.field(f.Type, name); ok {
				return inner, true
			}
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		if tag == name || l.fold && strings.EqualFold(tag, name) {
			return f.Type, true
		}
	}
	return nil, false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// wanted says what a field of type t may hold.
func wanted(t reflect.Type, err error) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "must be a quantity such as 500m, 2 or 1Gi"
	case reflect.TypeFor[metav1.Duration]():
		return "must be a duration such as 90s or 5m"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[time.Time]():
		return "must be a time such as 2026-03-02T08:00:00Z"
	}
	switch t.Kind() {
	case reflect.String:
		return "must be a string"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int32:
		return "must be an integer of 32 bits"
	case reflect.Int, reflect.Int64:
		return "must be an integer"
	case reflect.Uint64:
		return "must be an integer that is not negative"
	case reflect.Float32, reflect.Float64:
		return "must be a number"
	case reflect.Slice:
		return "must be a list"
	case reflect.Struct:
		if !reflect.PointerTo(t).Implements(unmarshaler) {
			return "must be an object"
		}
	case reflect.Map:
		return "must be an object"
	}
	return err.Error()
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// bounds of a quantity: what int64 holds, and a thousandth of it for cpu, which is counted in thousandths.
var (
	largest    = resource.MustParse("9223372036854775807")
	largestCPU = resource.MustParse("9223372036854775")
)

// quantities returns the first quantity of v that is negative or too large, nil without any. key is the key of a map that v has, "" for
// other values. The path is made where there is something to say.
func quantities(v reflect.Value, key string) *FieldError {
	switch v.Kind() {
	case reflect.Pointer:
		return quantities(v.Elem(), key) // of a nil pointer there is no value
	case reflect.Struct:
		if v.Type() == quantityType {
			q := v.Interface().(resource.Quantity)
			return bounded(&q, key)
		}
		for _, f := range fieldsWithQuantities(v.Type()) {
			if bad := quantities(v.Field(f.index), ""); bad != nil {
				return bad.in(f.name)
			}
		}
	case reflect.Slice:
		if !holdsQuantity(v.Type()) {
			return nil
		}
		for i := range v.Len() {
			if bad := quantities(v.Index(i), ""); bad != nil {
				return bad.in("[" + strconv.Itoa(i) + "]")
			}
		}
	case reflect.Map:
		if !holdsQuantity(v.Type()) || v.Len() == 0 {
			return nil
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			if bad := quantities(v.MapIndex(k), k.String()); bad != nil {
				return bad.in("[" + k.String() + "]")
			}
		}
	}
	return nil
}

// in returns the error as one of the value that has the field, item or key first.
func (e *FieldError) in(first string) *FieldError {
	if e.Path != "" && e.Path[0] != '[' && first != "" {
		first += "."
	}
	e.Path = first + e.Path
	return e
}

// bounded returns an error for a quantity that is negative or too large under a key of a list of resources, without a path.
func bounded(q *resource.Quantity, key string) *FieldError {
	if q.Sign() < 0 {
		return &FieldError{"", strconv.Quote(q.String()), "must not be negative"}
	}
	top := largest
	if key == string(v1.ResourceCPU) {
		top = largestCPU
	}
	if q.Cmp(top) >= 0 {
		return &FieldError{"", strconv.Quote(q.String()), "must be below " + top.String()}
	}
	return nil
}

// quantityField is a field of a struct that reaches a quantity, with its name in JSON.
type quantityField struct {
	index int
	name  string
}

// walked remembers the fields of each type of struct that reach a quantity.
var walked sync.Map

func fieldsWithQuantities(t reflect.Type) (out []quantityField) {
	if known, ok := walked.Load(t); ok {
		return known.([]quantityField)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		holder := f.Type
		if holder.Kind() == reflect.Pointer {
			holder = holder.Elem()
		}
		if f.IsExported() && holdsQuantity(holder) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out = append(out, quantityField{i, name})
		}
	}
	walked.Store(t, out)
	return out
}

// holds remembers which types reach a quantity, so that the walk passes by all others.
var holds sync.Map

func holdsQuantity(t reflect.Type) bool {
	if known, ok := holds.Load(t); ok {
		return known.(bool)
	}
	holds.Store(t, false) // a type that holds itself
	found := t == quantityType
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		found = holdsQuantity(t.Elem())
	case reflect.Struct:
		for i := 0; i < t.NumField() && !found; i++ {
			found = t.Field(i).IsExported() && holdsQuantity(t.Field(i).Type)
		}
	}
	holds.Store(t, found)
	return found
}
