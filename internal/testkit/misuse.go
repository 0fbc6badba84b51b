package testkit

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Misuse calls functions and methods with nil, zero and extreme arguments and finds those that panic. targets maps a name to
// a function, or to a function without parameters that returns a value whose exported methods are called; each call gets a
// new value. panics maps functions ("New") and methods ("Queue.Pop") that may panic to the reason. A function in panics that
// does not panic fails the test too. full has further values for parameters of their types. Each exported function of the
// package in the test's folder must be a name of targets.
func Misuse(t *testing.T, targets map[string]any, panics map[string]string, full ...any) {
	t.Helper()
	for _, name := range exportedFunctions(t) {
		require.Contains(t, targets, name, "an exported function that the test does not call")
	}
	found := map[string]string{}
	calls := 0
	for name, target := range targets {
		f := reflect.ValueOf(target)
		if f.Kind() == reflect.Func && f.Type().NumIn() == 0 && f.Type().NumOut() == 1 && f.Type().Out(0).NumMethod() > 0 {
			methods := f.Type().Out(0)
			for i := range methods.NumMethod() {
				at := name + "." + methods.Method(i).Name
				misuse(at, found, &calls, full, func() reflect.Value { return f.Call(nil)[0].Method(i) })
			}
			continue
		}
		misuse(name, found, &calls, full, func() reflect.Value { return f })
	}
	for _, at := range sortedNames(found) {
		if panics[at] == "" {
			t.Errorf("%s panics: %s", at, found[at])
		}
	}
	for _, at := range sortedNames(panics) {
		require.Contains(t, found, at, "it may panic (%s), but does not", panics[at])
	}
	require.Greater(t, calls, len(targets))
	t.Logf("%d calls", calls)
}

// exportedFunctions returns the names of the exported functions, without methods, of the package in the working folder.
func exportedFunctions(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
				names = append(names, f.Name.Name)
			}
		}
	}
	require.NotEmpty(t, names)
	return names
}

func sortedNames(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// misuse calls the function that fresh returns with every combination of odd arguments.
func misuse(at string, found map[string]string, calls *int, full []any, fresh func() reflect.Value) {
	f := fresh().Type() // without the receiver
	args := make([]reflect.Value, f.NumIn())
	var fill func(i int)
	fill = func(i int) {
		if i < len(args) {
			values := odd(f.In(i))
			for _, v := range full {
				if reflect.TypeOf(v) == f.In(i) {
					values = append(values, reflect.ValueOf(v))
				}
			}
			for _, v := range values {
				args[i] = v
				fill(i + 1)
			}
			return
		}
		*calls++
		defer func() {
			if p := recover(); p != nil && found[at] == "" {
				var with []string
				for _, a := range args {
					with = append(with, fmt.Sprintf("%.60v", a))
				}
				found[at] = fmt.Sprintf("(%s): %v", strings.Join(with, ", "), p)
			}
		}()
		call := fresh()
		var out []reflect.Value
		if f.IsVariadic() {
			out = call.CallSlice(args)
		} else {
			out = call.Call(args)
		}
		for _, o := range out {
			drain(o)
		}
	}
	fill(0)
}

// drain reads a result that is an iterator.
func drain(v reflect.Value) {
	if v.Kind() != reflect.Func || v.IsNil() || v.Type().NumIn() != 1 || v.Type().In(0).Kind() != reflect.Func || v.Type().NumOut() != 0 {
		return
	}
	v.Call([]reflect.Value{answering(v.Type().In(0))})
}

// answering returns a function that returns zero values, or true when a bool is its only result.
func answering(f reflect.Type) reflect.Value {
	return reflect.MakeFunc(f, func([]reflect.Value) (out []reflect.Value) {
		for i := range f.NumOut() {
			v := reflect.New(f.Out(i)).Elem()
			if f.NumOut() == 1 && v.Kind() == reflect.Bool {
				v.SetBool(true)
			}
			out = append(out, v)
		}
		return out
	})
}

// odd returns the zero value of a type, and empty and extreme values if the type has them.
func odd(t reflect.Type) []reflect.Value {
	values := []reflect.Value{reflect.Zero(t)}
	add := func(v any) { values = append(values, reflect.ValueOf(v).Convert(t)) }
	switch {
	case t == reflect.TypeFor[time.Time]():
		add(time.Unix(1<<60, 0))
		add(time.Unix(-1<<60, 0))
		return values
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return append(values, reflect.ValueOf((*int)(nil)).Convert(t))
	}
	switch t.Kind() {
	case reflect.Pointer:
		values = append(values, reflect.New(t.Elem()))
	case reflect.Slice:
		values = append(values, reflect.MakeSlice(t, 0, 0))
		one := reflect.MakeSlice(t, 1, 1) // a nil element where the type has one
		values = append(values, one)
	case reflect.Map:
		values = append(values, reflect.MakeMap(t))
	case reflect.Func:
		values = []reflect.Value{answering(t)}
	case reflect.Int, reflect.Int64:
		add(int64(-1))
		add(int64(math.MaxInt64))
		add(int64(math.MinInt64))
	case reflect.Int32:
		add(int32(-1))
		add(int32(math.MaxInt32))
	case reflect.Uint64:
		add(uint64(math.MaxUint64))
	case reflect.Uint8, reflect.Uint16:
		add(uint8(math.MaxUint8))
	case reflect.String:
		add("x")
	}
	return values
}
