package report

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Escape returns a text of the input as a terminal may print it: on one line, and with characters that do not print written as in a Go
// string, such as \n, \x1b and \u202e. So no field of a dump ends a line, begins an escape sequence, or turns the direction of what
// follows. Text that prints stays as it is. What is no UTF-8 is replaced. O(bytes).
func Escape(text string) string {
	plain := true
	for k := range len(text) {
		plain = plain && text[k] >= ' ' && text[k] < 0x7f
	}
	if plain {
		return text
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, string(unicode.ReplacementChar)) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		escaped := strconv.QuoteRune(r)
		b.WriteString(escaped[1 : len(escaped)-1])
	}
	return b.String()
}

// Textf writes a text for people: what [fmt.Fprintf] writes, with every text among args escaped. The format decides alone where lines end.
func Textf(out io.Writer, format string, args ...any) {
	if false {
		_ = fmt.Sprintf(format, args...) // lets go vet compare the format with args
	}
	shown := make([]any, len(args))
	for k, a := range args {
		shown[k] = a
		switch x := a.(type) {
		case string:
			shown[k] = Escape(x)
		case error:
			shown[k] = Escape(x.Error())
		case fmt.Stringer:
			shown[k] = Escape(x.String())
		default:
			if v := reflect.ValueOf(a); v.Kind() == reflect.String {
				shown[k] = Escape(v.String())
			}
		}
	}
	fmt.Fprintf(out, format, shown...)
}

// escapedRows returns rows whose cells are escaped.
func escapedRows(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for k, r := range rows {
		out[k] = make([]string, len(r))
		for n, cell := range r {
			out[k][n] = Escape(cell)
		}
	}
	return out
}

// Escaped returns a copy of v in which every text of an exported field is escaped, keys of maps too. It is for values that write several
// lines by themselves. v has no pointer to itself.
func Escaped[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	out.Set(escapedValue(reflect.ValueOf(&v).Elem()))
	return out.Interface().(T)
}

func escapedValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(Escape(v.String()))
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			inner := escapedValue(v.Elem())
			if v.Kind() == reflect.Pointer {
				to := reflect.New(v.Type().Elem())
				to.Elem().Set(inner)
				inner = to
			}
			out.Set(inner)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(escapedValue(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(escapedValue(v.Index(i)))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(escapedValue(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(escapedValue(it.Key()), escapedValue(it.Value()))
			}
		}
	}
	return out
}
