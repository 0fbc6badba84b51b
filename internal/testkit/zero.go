package testkit

import (
	"reflect"
	"testing"
)

// Zero calls each function with every mix of nil or zero arguments and those of full that have the parameter's type. No
// call may panic.
func Zero(t *testing.T, functions map[string]any, full ...any) {
	t.Helper()
	for name, f := range functions {
		t.Run(name, func(t *testing.T) {
			call(t, reflect.ValueOf(f), nil, full)
		})
	}
}

func call(t *testing.T, f reflect.Value, args []reflect.Value, full []any) {
	t.Helper()
	if len(args) < f.Type().NumIn() {
		kind := f.Type().In(len(args))
		call(t, f, append(args[:len(args):len(args)], reflect.Zero(kind)), full)
		for _, v := range full {
			if reflect.TypeOf(v) == kind {
				call(t, f, append(args[:len(args):len(args)], reflect.ValueOf(v)), full)
			}
		}
		return
	}
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%v panics: %v", args, p)
		}
	}()
	if f.Type().IsVariadic() {
		f.CallSlice(args)
		return
	}
	f.Call(args)
}
