package inputs

import (
	"reflect"
	"slices"
)

// fresh returns random arguments.
func (g *generator) fresh() (in input) {
	typ := g.check.Type()
	for k := 1; k < typ.NumIn(); k++ {
		in = append(in, g.argument(typ.In(k)))
	}
	return in
}

func (g *generator) argument(typ reflect.Type) reflect.Value {
	value := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		value.SetBool(g.random.IntN(2) == 1)
	case reflect.Slice, reflect.String:
		return reflect.ValueOf(g.text(g.random.IntN(200))).Convert(typ)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		value.SetInt(int64(g.random.Uint64()) >> g.random.IntN(64))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		value.SetUint(g.random.Uint64() >> g.random.IntN(64))
	default:
		panic("no inputs of type " + typ.String())
	}
	return value
}

func (g *generator) text(n int) []byte {
	const letters = "azAZ019.-/_+:=,<>()[]{} \"'\n"
	text := make([]byte, n)
	some := g.random.IntN(2) == 1
	for i := range text {
		text[i] = byte(g.random.Uint32())
		if some {
			text[i] = letters[int(text[i])%len(letters)]
		}
	}
	return text
}

// similar changes some arguments of an input. Texts take pieces of those of another input.
func (g *generator) similar(from, other input) input {
	in := slices.Clone(from)
	for range 1 + g.random.IntN(len(in)) {
		k := g.random.IntN(len(in))
		switch v := in[k]; v.Kind() {
		case reflect.Slice:
			in[k] = reflect.ValueOf(g.edit(v.Bytes(), other[k].Bytes())).Convert(v.Type())
		case reflect.String:
			in[k] = reflect.ValueOf(g.edit([]byte(v.String()), []byte(other[k].String()))).Convert(v.Type())
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			in[k] = reflect.ValueOf(v.Int() + int64(g.random.IntN(33)) - 16).Convert(v.Type())
			if g.random.IntN(2) == 0 {
				in[k] = g.argument(v.Type())
			}
		default:
			in[k] = g.argument(v.Type())
		}
	}
	return in
}

// edit returns a text with one to four changes.
func (g *generator) edit(text, other []byte) []byte {
	const longest = 4096
	text = slices.Clone(text)
	for range 1 + g.random.IntN(4) {
		if len(text) == 0 {
			text = g.text(1 + g.random.IntN(16))
		}
		at := g.random.IntN(len(text))
		to := min(len(text), at+1+g.random.IntN(16))
		switch g.random.IntN(6) {
		case 0, 1:
			text[at] = byte(g.random.Uint32())
		case 2:
			text[at] += byte(g.random.IntN(9) - 4)
		case 3:
			text = slices.Insert(text, at, g.text(to-at)...)
		case 4:
			text = slices.Delete(text, at, to)
		case 5:
			if len(other) > 0 {
				from := g.random.IntN(len(other))
				text = slices.Insert(text, at, other[from:min(len(other), from+1+g.random.IntN(64))]...)
			}
		}
	}
	return text[:min(len(text), longest)]
}
