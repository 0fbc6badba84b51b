package hostile

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/volumes"
)

// world is what one run of a seed has: objects, and the values that calls returned.
type world struct {
	r        *rand.Rand
	reversed bool // maps are filled in the opposite order
	objects  map[reflect.Type][]reflect.Value
	before   map[reflect.Type][]reflect.Value // copies of the objects as they were made
	made     map[reflect.Type][]reflect.Value
	calls    map[string]int // by name
	methods  []entry
	types    []reflect.Type // of made, in the order in which they came
	missing  bool           // a value of the call that is being prepared could not be made
}

func (w *world) oneIn(n int) bool { return w.r.IntN(n) == 0 }

func pick[T any](w *world, list ...T) T { return list[w.r.IntN(len(list))] }

// mostMade is how many values of a type are kept.
const mostMade = 3

// keep keeps a value of the library for later calls.
func (w *world) keep(v reflect.Value) {
	if !v.IsValid() || v.Kind() == reflect.Interface && v.IsNil() {
		return
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	t := v.Type()
	base := t
	if base.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		base = base.Elem()
	}
	if !strings.HasPrefix(base.PkgPath(), module) {
		return
	}
	if _, known := w.made[t]; !known {
		w.types = append(w.types, t)
		w.methods = append(w.methods, methodsOf(t)...)
	}
	if w.made[t] = append(w.made[t], v); len(w.made[t]) > mostMade {
		w.made[t] = w.made[t][1:]
	}
}

// value makes a value of a type. name is the field or "".
func (w *world) value(t reflect.Type, depth int, name string) reflect.Value {
	if v, ok := w.special(t, name); ok {
		return v
	}
	if strings.HasPrefix(t.PkgPath(), module) || t.Kind() == reflect.Pointer && strings.HasPrefix(t.Elem().PkgPath(), module) {
		if list := w.made[t]; len(list) > 0 && !w.oneIn(3) {
			return list[w.r.IntN(len(list))]
		}
	}
	if returned[t] {
		return reflect.Zero(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.pointer(t, depth, name)
	case reflect.Struct:
		return w.structure(t, depth)
	case reflect.Slice:
		return w.slice(t, depth, name)
	case reflect.Array:
		v := reflect.New(t).Elem()
		for i := range v.Len() {
			v.Index(i).Set(w.value(t.Elem(), depth+1, name))
		}
		return v
	case reflect.Map:
		return w.mapping(t, depth, name)
	case reflect.Interface:
		return w.iface(t)
	case reflect.Func:
		return w.function(t, depth)
	case reflect.String:
		return reflect.ValueOf(w.text(t, name)).Convert(t)
	case reflect.Bool:
		return reflect.ValueOf(w.oneIn(2)).Convert(t)
	case reflect.Float64:
		return reflect.ValueOf(pick(w, 0, 1, -1, 0.5, 1e300, math.Inf(1), math.NaN())).Convert(t)
	}
	return w.number(t, depth, name)
}

// returned are types whose values a caller gets from the library and gives back: no other value but the zero one is made.
var returned = map[reflect.Type]bool{
	reflect.TypeFor[devices.Allocation](): true, reflect.TypeFor[volumes.Decision](): true, reflect.TypeFor[preemption.Problem](): true,
	reflect.TypeFor[*preemption.Problem](): true, reflect.TypeFor[preemption.Request](): true,
}

// special makes values of types that have a form of their own.
func (w *world) special(t reflect.Type, name string) (reflect.Value, bool) {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return reflect.ValueOf(resource.MustParse(pick(w, quantities...))), true
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(w.time()), true
	case reflect.TypeFor[metav1.Time]():
		return reflect.ValueOf(metav1.Time{Time: w.time()}), true
	case reflect.TypeFor[metav1.MicroTime]():
		return reflect.ValueOf(metav1.MicroTime{Time: w.time()}), true
	case reflect.TypeFor[time.Duration]():
		return reflect.ValueOf(pick(w, 0, time.Second, -time.Second, 5*time.Minute, time.Hour)), true
	case reflect.TypeFor[intstr.IntOrString]():
		return reflect.ValueOf(pick(w, intstr.FromInt32(1), intstr.FromInt32(0), intstr.FromInt32(-3), intstr.FromInt32(math.MaxInt32), intstr.FromString("50%"),
			intstr.FromString(""), intstr.FromString("200%"), intstr.FromString("-1%"), intstr.FromString("x"), intstr.FromString("99999999999999999999%"))), true
	case reflect.TypeFor[*field.Path]():
		return reflect.ValueOf(field.NewPath("x")), true
	case reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[[]metav1.ManagedFieldsEntry]():
		return reflect.Zero(t), true
	case reflect.TypeFor[*cluster.Snapshot]():
		return reflect.ValueOf(w.snapshot()), true
	case reflect.TypeFor[placement.Profile]():
		p := placement.DefaultProfile()
		p.Sampling = pick(w, filter.Sampling{}, placement.AllNodes())
		return reflect.ValueOf(p), true
	case reflect.TypeFor[tracker.Objects]():
		return reflect.ValueOf(tracker.Of(w.snapshot())), true
	case reflect.TypeFor[resources.Verdict]():
		return reflect.ValueOf(pick[resources.Verdict](w, 0, 1)), true
	case reflect.TypeFor[*resources.Schema]():
		return reflect.ValueOf(w.snapshot().Schema()), true
	}
	return reflect.Value{}, false
}

var quantities = []string{
	"0", "1", "100m", "2", "4", "10", "1Gi", "8Gi", "-1", "9223372036854775807", "-9223372036854775808", "1e18", "7Ei", "1n", "1500m", "0.0001", "12345678901234567890123", "110",
}

func (w *world) time() time.Time {
	return pick(w, time.Time{}, time.Unix(0, 0).UTC(), now, now.Add(time.Hour), now.Add(-time.Hour), time.Unix(1<<40, 0).UTC(), time.Unix(-1<<40, 0).UTC())
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var cores, gigabytes, manyPods = resource.MustParse("8"), resource.MustParse("16Gi"), resource.MustParse("110")

func (w *world) pointer(t reflect.Type, depth int, name string) reflect.Value {
	if list := w.objects[t]; len(list) > 0 {
		return list[w.r.IntN(len(list))]
	}
	if strings.HasPrefix(t.Elem().PkgPath(), module) && opaque(t.Elem()) {
		w.missing = w.missing || depth == 0
		return reflect.Zero(t)
	}
	if depth > 0 && (w.oneIn(3) || depth > 9) {
		return reflect.Zero(t)
	}
	p := reflect.New(t.Elem())
	p.Elem().Set(w.value(t.Elem(), depth+1, name))
	return p
}

// opaque reports whether a struct has fields that only its package can set.
func opaque(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return true
		}
	}
	return false
}

func (w *world) structure(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	if strings.HasPrefix(t.PkgPath(), module) && opaque(t) && depth == 0 && len(w.made[t]) > 0 {
		return w.made[t][w.r.IntN(len(w.made[t]))]
	}
	for i := range t.NumField() {
		f := t.Field(i)
		library := strings.HasPrefix(t.PkgPath(), module)
		likely := 4 + 2*depth // of 10 fields few are set deep down
		if library {
			likely = 3
		}
		if !f.IsExported() || w.r.IntN(likely) > 1 && !often[f.Name] || depth > 12 {
			continue
		}
		if strings.HasSuffix(f.Name, "Template") && depth > 2 && f.Type.Kind() == reflect.Pointer {
			continue
		}
		v.Field(i).Set(w.value(f.Type, depth+1, f.Name))
	}
	return v
}

// often are fields without which an object says little.
var often = map[string]bool{
	"ObjectMeta": true, "Spec": true, "Status": true, "Containers": true, "Operator": true, "Key": true, "Name": true, "Allocatable": true, "Capacity": true, "Labels": true, "Namespace": true,
	"Selector": true, "LabelSelector": true, "TopologyKey": true, "WhenUnsatisfiable": true, "MaxSkew": true, "Nodes": true, "Pods": true, "Snapshot": true, "Objects": true, "Template": true,
	"UID": true, "Cluster": true, "Pod": true, "Profile": true, "Resources": true, "Requests": true, "Devices": true, "Driver": true, "Pool": true, "NodeSelectorTerms": true, "Claims": true,
}

func (w *world) slice(t reflect.Type, depth int, name string) reflect.Value {
	if list := w.objects[t.Elem()]; len(list) > 0 {
		v := reflect.MakeSlice(t, 0, len(list))
		for _, o := range list {
			if !w.oneIn(6) {
				v = reflect.Append(v, o)
			}
		}
		if w.oneIn(8) && depth > 0 && v.Len() > 0 {
			v = reflect.Append(v, v.Index(0)) // one object twice
		}
		if w.oneIn(25) && depth > 0 {
			v = reflect.Append(v, reflect.Zero(t.Elem())) // a nil object
		}
		return v
	}
	if w.oneIn(12) || depth > 10 {
		return reflect.Zero(t)
	}
	n := pick(w, 0, 1, 1, 1, 2, 2, 3)
	v := reflect.MakeSlice(t, 0, n)
	for range n {
		v = reflect.Append(v, w.value(t.Elem(), depth+1, name))
	}
	if n > 0 && w.oneIn(6) {
		v = reflect.Append(v, v.Index(0))
	}
	return v
}

func (w *world) mapping(t reflect.Type, depth int, name string) reflect.Value {
	if w.oneIn(10) || depth > 10 {
		return reflect.Zero(t)
	}
	var keys, values []reflect.Value
	for range pick(w, 0, 1, 2, 2, 3, 4) {
		k := w.value(t.Key(), depth+1, "Key")
		if slices.ContainsFunc(keys, func(o reflect.Value) bool { return o.Interface() == k.Interface() }) {
			continue
		}
		keys, values = append(keys, k), append(values, w.value(t.Elem(), depth+1, "Value"))
	}
	m := reflect.MakeMap(t)
	for i := range keys {
		at := i
		if w.reversed {
			at = len(keys) - 1 - i
		}
		m.SetMapIndex(keys[at], values[at])
	}
	return m
}

func (w *world) iface(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[error]():
		if w.oneIn(2) {
			v.Set(reflect.ValueOf(errors.New("an error")))
		}
	case t == reflect.TypeFor[devices.SelectorCompiler](): // nil: no claim with selectors compiles
	case t.NumMethod() == 0 || t == reflect.TypeFor[metav1.Object]():
		kind := kinds[w.r.IntN(len(kinds))]
		if list := w.objects[reflect.PointerTo(kind)]; len(list) > 0 && list[0].Type().Implements(t) {
			v.Set(list[w.r.IntN(len(list))])
		}
	case reflect.TypeFor[*cluster.Snapshot]().Implements(t):
		v.Set(reflect.ValueOf(w.snapshot()))
	default:
		for _, m := range w.types {
			if m.Implements(t) {
				v.Set(w.made[m][w.r.IntN(len(w.made[m]))])
				return v
			}
		}
		w.missing = true
	}
	return v
}

// function makes a function with constant results: true, else zero values. Since a function may say that a search goes on, true ends
// after 200 calls. An iterator goes over the objects of its type.
func (w *world) function(t reflect.Type, depth int) reflect.Value {
	if t.NumIn() == 1 && t.In(0).Kind() == reflect.Func && t.NumOut() == 0 && t.In(0).NumIn() == 1 {
		list := w.objects[t.In(0).In(0)]
		return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
			for _, o := range list {
				if !args[0].Call([]reflect.Value{o})[0].Bool() {
					break
				}
			}
			return nil
		})
	}
	if w.oneIn(2) && depth > 0 {
		return reflect.Zero(t)
	}
	calls := 0
	return reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
		calls++
		for i := range t.NumOut() {
			v := reflect.New(t.Out(i)).Elem()
			if t.NumOut() == 1 && v.Kind() == reflect.Bool {
				v.SetBool(calls <= 200)
			}
			out = append(out, v)
		}
		return out
	})
}

// number makes small numbers for parameters, which mostly are slots and counts, and any number for fields.
func (w *world) number(t reflect.Type, depth int, name string) reflect.Value {
	v := reflect.New(t).Elem()
	n := pick[int64](w, 0, 1)
	if depth > 0 && name != "" && t.Kind() != reflect.Int && !counts[name] {
		n = pick[int64](w, 0, 1, 1, 2, 3, 5, 100, -1, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64)
	} else if depth > 0 && name != "" {
		n = pick[int64](w, 0, 1, 1, 2, 3, 5, -1)
	}
	if v.CanInt() {
		switch {
		case v.OverflowInt(n) && n < 0:
			n = math.MinInt32
		case v.OverflowInt(n):
			n = math.MaxInt32
		}
		if !v.OverflowInt(n) {
			v.SetInt(n)
		}
	} else if v.CanUint() && n >= 0 && !v.OverflowUint(uint64(n)) {
		v.SetUint(uint64(n))
	}
	return v
}

// counts are numbers of things that a function makes: a huge one is an error of its own, which the tests of the packages ask for.
var counts = map[string]bool{"Replicas": true, "Completions": true, "Parallelism": true}
