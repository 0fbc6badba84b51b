package apiserver_test

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/conformance/trial"
)

// The values that mutations write. Each value is valid for some fields and invalid for others.
var (
	words = []string{"", "a", "b", "n", "bad key!", "UPPER", "-x", "x/y/z", "/x", "example.com/a", "kubernetes.io/hostname", "kubernetes.io/a", "metadata.name", "5", "-1", "05", "a.b", "10.0.0.1", "::",
		strings.Repeat("k", 64), strings.Repeat("k.", 130) + "k", "DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore", "Equal", "Exists", "In", "NotIn", "DoesNotExist", "Gt", "Lt",
		"NoSchedule", "PreferNoSchedule", "NoExecute", "Never", "PreemptLowerPriority", "Always", "OnFailure", "system-node-critical", "system-cluster-critical", "high", "kata", "TCP", "UDP", "SCTP",
		"cpu", "memory", "pods", "hugepages-2Mi", "AlwaysAllow", "IfHealthyBudget"}
	resourceNames = []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "hugepages-x", "pods", "storage", "requests.cpu", "example.com/gpu",
		"kubernetes.io/x", "bad name!", "nodots", "x/y/z", "", "attachable-volumes-x", "example.com/" + v1.ResourceName(strings.Repeat("k", 64)), "requests.example.com/x"}
	quantities = []string{"0", "1", "-1", "500m", "1Gi", "3Mi", "2Mi", "4Mi", "-4Mi", "1500m", "0.0001", "9223372036854775807", "2"}
	numbers    = []int64{0, 1, -1, 2, 3, 100, 101, 80, 65535, 65536, 1000000000, 1000000001, 2000000000, 2000001000, 2147483647, -2147483648}
)

// mutate changes one place below v, which is a pointer, and returns what it did. Only places at or
// below one of the roots are changed. Elements of lists are written "[]".
func mutate(s *trial.Source, v any, roots ...string) string {
	var places []place
	walk(reflect.ValueOf(v).Elem(), "", below(trial.Pick(s, roots...)), &places)
	if len(places) == 0 {
		return "nothing"
	}
	p := places[s.N(len(places))]
	return p.path + " " + change(s, p.value)
}

// place is a value that can be changed.
type place struct {
	path  string
	value reflect.Value
}

// leaf reports whether a value is changed as a whole only.
func leaf(v reflect.Value) bool {
	switch v.Interface().(type) {
	case resource.Quantity, intstr.IntOrString, metav1.Time:
		return true
	}
	return false
}

// walk collects the places below v whose path, or the path of a place that they are in, begins what in wants.
func walk(v reflect.Value, path string, in func(string) bool, out *[]place) {
	if path != "" && in(path) && v.Kind() != reflect.Struct || leaf(v) {
		*out = append(*out, place{path, v})
	}
	if leaf(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			at := path
			if name != "" {
				at = strings.TrimPrefix(path+"."+name, ".")
			}
			if name == "-" || at != "" && !in(at) && !within(at, in) {
				continue
			}
			walk(v.Field(i), at, in, out)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, func(p string) bool { return p != path && in(p) }, out)
			if v.Elem().Kind() != reflect.Struct {
				*out = append(*out, place{path, v.Elem()})
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), path+"[]", in, out)
		}
	}
}

// change gives the value another one and returns it in words.
func change(s *trial.Source, v reflect.Value) string {
	switch x := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*x = resource.MustParse(trial.Pick(s, quantities...))
		return "= " + x.String()
	case *intstr.IntOrString:
		*x = trial.Pick(s, intstr.FromInt32(1), intstr.FromInt32(-1), intstr.FromString("50%"), intstr.FromString("101%"), intstr.FromString("-1%"), intstr.FromString("x"), intstr.FromString(""), intstr.FromString("50"), intstr.FromString("99999999999%"), intstr.FromString("%"))
		return "= " + x.String()
	case *v1.ResourceList:
		if len(*x) > 0 && s.Once(4) {
			*x = nil
			return "= nil"
		}
		if *x == nil {
			*x = v1.ResourceList{}
		}
		name := trial.Pick(s, resourceNames...)
		(*x)[name] = resource.MustParse(trial.Pick(s, quantities...))
		q := (*x)[name]
		return string(name) + " = " + q.String()
	case *map[string]string:
		if len(*x) > 0 && s.Once(4) {
			*x = nil
			return "= nil"
		}
		if *x == nil {
			*x = map[string]string{}
		}
		key := trial.Pick(s, words...)
		(*x)[key] = trial.Pick(s, words...)
		return key + " = " + (*x)[key]
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(trial.Pick(s, words...))
		return "= " + v.String()
	case reflect.Int32, reflect.Int64:
		n := trial.Pick(s, numbers...)
		v.SetInt(n)
		return "= a number"
	case reflect.Bool:
		v.SetBool(!v.Bool())
		return "flipped"
	case reflect.Pointer:
		if !v.IsNil() {
			v.SetZero()
			return "= nil"
		}
		v.Set(reflect.New(v.Type().Elem()))
		if k := v.Elem().Kind(); k != reflect.Struct {
			return change(s, v.Elem())
		}
		return "= {}"
	case reflect.Slice:
		switch n := v.Len(); {
		case n > 0 && s.Once(4):
			at := s.N(n)
			v.Set(reflect.AppendSlice(v.Slice3(0, at, at), v.Slice(at+1, n)))
			return "shorter"
		case n > 0 && s.Once(3):
			v.Set(reflect.Append(v.Slice3(0, n, n), v.Index(s.N(n))))
			return "with one twice"
		case n > 0 && s.Once(3):
			v.SetZero()
			return "= nil"
		default:
			v.Set(reflect.Append(v.Slice3(0, n, n), reflect.Zero(v.Type().Elem())))
			last := v.Index(n)
			if last.Kind() != reflect.Struct {
				return "and " + change(s, last)
			}
			return "and {}"
		}
	}
	return "unchanged"
}

// within reports whether in wants anything below path.
func within(path string, in func(string) bool) bool { return in(path + ".") }

// below returns a filter for places at or below the roots. Elements of lists are written "[]".
func below(roots ...string) func(string) bool {
	return func(path string) bool {
		for _, root := range roots {
			if path == root || strings.HasPrefix(path, root+".") || strings.HasPrefix(path, root+"[]") {
				return true
			}
			if up, ok := strings.CutSuffix(path, "."); ok && (strings.HasPrefix(root, up+".") || strings.HasPrefix(root, up+"[]")) {
				return true
			}
		}
		return false
	}
}
