package workload

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"io"
	"reflect"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// templateHash is the value of the label pod-template-hash: the 32-bit FNV-1a hash of the written template and of the number of
// collisions so far, in decimal, each digit as a letter that makes no words.
func templateHash(t *v1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	writeTemplate(h, t)
	if collisions != nil {
		var b [8]byte
		binary.LittleEndian.PutUint32(b[:], uint32(*collisions))
		h.Write(b[:])
	}
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	text := strconv.AppendUint(nil, uint64(h.Sum32()), 10)
	for i, c := range text {
		text[i] = letters[int(c)%len(letters)]
	}
	return string(text)
}

// writeTemplate writes a template as controllers write it for the hash: every field with its name and type, unexported fields
// too, the keys of maps in order. apimachinery's package util/dump writes the same with more packages.
func writeTemplate(w io.Writer, t *v1.PodTemplateSpec) {
	b := bufio.NewWriter(w)
	writeTyped(b, reflect.ValueOf(*t))
	b.Flush()
}

// writeTyped writes a value behind its type in parentheses. The type of a pointer has a star.
func writeTyped(b *bufio.Writer, v reflect.Value) {
	b.WriteByte('(')
	b.WriteString(v.Type().String())
	b.WriteByte(')')
	writeValue(b, v)
}

// writeValue writes a value without its type. A template has no other kinds of values.
func writeValue(b *bufio.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		b.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.String:
		b.WriteString(v.String())
	case reflect.Pointer:
		if v.IsNil() {
			b.WriteString("<nil>")
			return
		}
		writeValue(b, v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			b.WriteString("<nil>")
			return
		}
		b.WriteByte('[')
		for i := range v.Len() {
			space(b, i)
			writeValue(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.Map:
		if v.IsNil() {
			b.WriteString("<nil>")
			return
		}
		b.WriteString("map[")
		keys := slices.SortedFunc(v.Seq(), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for i, k := range keys {
			space(b, i)
			b.WriteString(k.String())
			b.WriteByte(':')
			writeValue(b, v.MapIndex(k))
		}
		b.WriteByte(']')
	case reflect.Struct:
		b.WriteByte('{')
		for i := range v.NumField() {
			space(b, i)
			b.WriteString(v.Type().Field(i).Name)
			b.WriteByte(':')
			writeTyped(b, v.Field(i))
		}
		b.WriteByte('}')
	}
}

// space writes a space in front of every element but the first.
func space(b *bufio.Writer, i int) {
	if i > 0 {
		b.WriteByte(' ')
	}
}
