package placement

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// words are the new values of strings. Some words are names, keys and values of the cluster.
var words = []string{"", "x", "n1", "n3", "a", "c", "hdd", "web", "db", "tier", "default", "disk", "slow", "yes", "web:v1", "db:v1",
	v1.LabelHostname, v1.LabelTopologyZone, "NoSchedule", "PreferNoSchedule", "Exists", "DoesNotExist", "NotIn", "DoNotSchedule",
	"UDP", "10.0.0.1", "app", "ScheduleAnyway", "Honor", "Ignore", "Always", "RestartAllContainers", "ReplicaSet", "apps/v1"}

// alter makes one change of v at a time, calls try after each change, and undoes the change. Lists and pointers get new
// elements above the depth grow.
func alter(v reflect.Value, path string, grow int, try func(path string)) {
	set := func(to any, what string) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		try(path + what)
		v.Set(old)
	}
	if q, ok := v.Interface().(resource.Quantity); ok {
		for _, text := range []string{"0", "3", "2Gi", "1m"} {
			if to := resource.MustParse(text); to.Cmp(q) != 0 {
				set(to, "="+text)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		for _, w := range words {
			if w != v.String() {
				set(w, "="+w)
			}
		}
	case reflect.Bool:
		set(!v.Bool(), "=flipped")
	case reflect.Int32, reflect.Int64:
		for _, n := range []int64{0, 1, 2, 100, 8080} {
			if n != v.Int() {
				set(n, fmt.Sprint("=", n))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			set(reflect.Zero(v.Type()).Interface(), "=nil")
			alter(v.Elem(), path, grow, try)
			return
		}
		fresh := reflect.New(v.Type().Elem())
		set(fresh.Interface(), "=new")
		v.Set(fresh)
		if depth(path) < grow {
			alter(v.Elem(), path, grow, try)
		}
		v.Set(reflect.Zero(v.Type()))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				alter(v.Field(i), path+"."+f.Name, grow, try)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			set(reflect.MakeSlice(v.Type(), 0, 0).Interface(), "=empty")
		} else {
			set(reflect.Zero(v.Type()).Interface(), "=nil")
		}
		if v.Len() > 0 {
			set(v.Slice(1, v.Len()).Interface(), "=without the first")
			set(v.Slice(0, v.Len()-1).Interface(), "=without the last")
			for i := range v.Len() {
				alter(v.Index(i), fmt.Sprintf("%s[%d]", path, i), grow, try)
			}
		}
		if depth(path) < grow {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			v.Set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.Zero(v.Type().Elem())))
			try(path + "=longer")
			alter(v.Index(v.Len()-1), path+"[new]", grow, try)
			v.Set(old)
		}
	case reflect.Map:
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		for _, k := range old.MapKeys() {
			for _, drop := range []bool{true, false} {
				m := reflect.MakeMap(v.Type())
				for _, other := range old.MapKeys() {
					m.SetMapIndex(other, old.MapIndex(other))
				}
				elem := reflect.New(v.Type().Elem()).Elem()
				elem.Set(old.MapIndex(k))
				v.Set(m)
				if drop {
					m.SetMapIndex(k, reflect.Value{})
					try(path + "-" + k.String())
					continue
				}
				alter(elem, path+"["+k.String()+"]", grow, func(at string) {
					m.SetMapIndex(k, elem)
					try(at)
				})
			}
		}
		v.Set(old)
	}
}

func depth(path string) (n int) {
	for _, c := range path {
		if c == '.' {
			n++
		}
	}
	return n
}

// TestEveryField changes every field of a pod, one field at a time. A plan that has kept work for the pod before the
// change must decide like a plan that keeps nothing. The test fails if AppendKey of a plugin leaves out a field.
func TestEveryField(t *testing.T) {
	if testing.Short() { // the race detector is run with short, and this test has one goroutine
		t.Skip()
	}
	s := fieldsCluster(t)
	changes, apart := 0, map[string]bool{}
	for name, base := range fieldPods() {
		kept, err := New(s, benchProfile())
		require.NoError(t, err)
		fresh, err := New(s, benchProfile())
		require.NoError(t, err)
		fresh.engine = nil
		for range 3 {
			require.Equal(t, text(fresh.Decide(base, Options{})), text(kept.Decide(base, Options{})))
		}
		require.True(t, used(kept, base), "%s: the plan keeps work", name)
		grow := 0
		if name == "bare" || name == "full" {
			grow = 8
		}
		before := text(fresh.Decide(base, Options{}))
		pod := base.DeepCopy()
		try := func(path string) {
			changes++
			want := text(fresh.Decide(pod, Options{}))
			if want != before {
				apart[name+path] = true
			}
			again := pod.DeepCopy() // the plan may keep the pod
			for range 2 {
				if got := text(kept.Decide(again, Options{})); got != want {
					t.Fatalf("%s%s: with kept work\n%s\nwant\n%s", name, path, got, want)
				}
			}
		}
		alter(reflect.ValueOf(&pod.ObjectMeta).Elem(), "", grow, try)
		alter(reflect.ValueOf(&pod.Spec).Elem(), ".spec", grow, try)
		require.Equal(t, base, pod, "every change is taken back")
	}
	require.Greater(t, changes, 5000)
	require.Greater(t, len(apart), 200, "changes that change the decision")
}
