package hostile

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

const module = "github.com/podberth/podberth/"

// entry is a function or method and its name, such as "placement.Plan.Decide".
type entry struct {
	name string
	f    func(w *world) reflect.Value
}

// methodsOf returns the methods of the values of a type, but for those of an embedded type of another module.
func methodsOf(t reflect.Type) (out []entry) {
	base := t
	if t.Kind() == reflect.Pointer {
		base = t.Elem()
	}
	for m := range t.NumMethod() {
		if foreign(base, t.Method(m).Name) {
			continue
		}
		name := strings.TrimPrefix(base.PkgPath(), module) + "." + base.Name() + "." + t.Method(m).Name
		out = append(out, entry{name, func(w *world) reflect.Value { return w.made[t][w.r.IntN(len(w.made[t]))].Method(m) }})
	}
	return out
}

// foreign reports whether a method of a type is that of a struct of another module that the type embeds.
func foreign(t reflect.Type, method string) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && !strings.HasPrefix(f.Type.PkgPath(), module) {
			if _, ok := reflect.PointerTo(f.Type).MethodByName(method); ok {
				return true
			}
		}
	}
	return false
}

// basis are the calls with which every world begins: they return what many other calls take.
var basis = []string{
	"devices/tracker.Of", "devices/tracker.New", "volumes/tracker.Of", "volumes/tracker.New", "placement.New", "placement.NewPlacer", "devices.NewInventory", "devices.NewLedger",
	"devices.NewAllocator", "devices.Compile", "volumes.NewLedger", "volumes.Compile", "queue.New", "preemption/optimal.New",
	"affinity.CompilePods", "affinity.CompileNode", "spread.CompileHard", "spread.CompileSoft", "score.CompileAllocation", "score.CompileBalance", "planning/failures.New",
	"planning/rollout.New", "planning/consolidation.New", "cluster.List", "eviction/disruption.Decide", "preemption.NewIndex", "eviction/pressure.Compile",
	"taints.Compile", "score.CompileImages",
}

// choose returns the next call of a world: of some calls that of which the world had the fewest.
func (w *world) choose(number int) entry {
	function := func(name string) entry {
		return entry{name, func(*world) reflect.Value { return reflect.ValueOf(functions[name]) }}
	}
	if number < len(basis) {
		return function(basis[number])
	}
	list := w.methods
	best := entry{}
	for range 6 {
		e := function(names[w.r.IntN(len(names))])
		if len(list) > 0 && !w.oneIn(3) {
			e = list[w.r.IntN(len(list))]
		}
		if best.name == "" || w.calls[e.name] < w.calls[best.name] {
			best = e
		}
	}
	w.calls[best.name]++
	return best
}

// outcome is what a call gave.
type outcome struct {
	name    string
	skipped bool // an argument could not be made
	text    string
	panics  string
	changed string // an argument that the call changed
}

// looks is how often a world looks at all its objects, in calls. What a call takes as an argument is looked at with each call.
const looks = 50

// budget is how long one call may take.
var budget = 60 * time.Second

// step makes one call.
func (w *world) step(seed uint64, number int) (o outcome) {
	e := w.choose(number)
	o.name = e.name
	defer time.AfterFunc(budget, func() {
		panic(fmt.Sprintf("seed %d, call %d: %s takes longer than %v", seed, number, e.name, budget))
	}).Stop()
	defer func() {
		if p := recover(); p != nil {
			o.panics = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	f := e.f(w)
	w.missing = false
	args := make([]reflect.Value, f.Type().NumIn())
	for i := range args {
		args[i] = w.value(f.Type().In(i), 0, "")
		w.keep(args[i])
	}
	if w.missing {
		o.skipped = true
		return o
	}
	o.changed, o.text = w.call(f, args)
	if number%looks == looks-1 {
		if object := w.changed(); object != "" {
			o.changed = fmt.Sprintf("%s, or one of the %d calls before did", object, looks-1)
		}
	}
	return o
}

// call calls a function and keeps its results, and calls a function that is a result.
func (w *world) call(f reflect.Value, args []reflect.Value) (changed, text string) {
	var copies []reflect.Value
	if !w.reversed { // one of the two worlds is enough to see a change
		for _, a := range args {
			copies = append(copies, clone(a, 0))
		}
	}
	var out []reflect.Value
	if f.Type().IsVariadic() {
		out = f.CallSlice(args)
	} else {
		out = f.Call(args)
	}
	for i, c := range copies {
		if !reflect.DeepEqual(c.Interface(), clone(args[i], 0).Interface()) {
			changed = fmt.Sprintf("argument %d, %v", i, args[i].Type())
		}
	}
	var b strings.Builder
	for _, v := range out {
		show(&b, v, 0)
		b.WriteString("; ")
		w.keep(v)
		for _, inner := range parts(v) {
			w.keep(inner)
		}
		if v.Kind() == reflect.Func && !v.IsNil() && !v.Type().CanSeq() && !v.Type().CanSeq2() && f.Type() != v.Type() {
			hint := make([]reflect.Value, v.Type().NumIn())
			for i := range hint {
				hint[i] = w.value(v.Type().In(i), 0, "")
			}
			if !w.missing {
				c, t := w.call(v, hint)
				changed += c
				b.WriteString("(" + t + ")")
			}
		}
	}
	return changed, b.String()
}

// parts returns the values that a result has in its fields and at the begin of its lists.
func parts(v reflect.Value) (out []reflect.Value) {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Slice && v.Len() > 0:
		return append(out, v.Index(0))
	case v.Kind() == reflect.Struct && strings.HasPrefix(v.Type().PkgPath(), module):
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).IsExported() && f.Kind() != reflect.Func {
				if f.Kind() == reflect.Slice && f.Len() > 0 {
					f = f.Index(0)
				}
				out = append(out, f)
			}
		}
	}
	return slices.DeleteFunc(out, func(v reflect.Value) bool { return v.Kind() == reflect.Interface && v.IsNil() })
}
