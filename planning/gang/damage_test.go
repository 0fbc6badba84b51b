package gang_test

import (
	"encoding/json"
	"flag"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
)

var damaged = flag.Int("damaged", 100, "damaged certificates")

// damages returns every way to change one value below v: a text, a number, a truth, the length of a list, a pointer.
func damages(v reflect.Value) (out []func()) {
	switch v.Kind() {
	case reflect.String:
		out = append(out, func() { v.SetString(v.String() + "x") })
	case reflect.Int, reflect.Int64:
		out = append(out, func() { v.SetInt(v.Int() + 1) }, func() { v.SetInt(v.Int() - 1) })
	case reflect.Bool:
		out = append(out, func() { v.SetBool(!v.Bool()) })
	case reflect.Pointer:
		if v.IsNil() {
			return []func(){func() { v.Set(reflect.New(v.Type().Elem())) }}
		}
		out = append(damages(v.Elem()), func() { v.SetZero() })
	case reflect.Struct:
		for k := range v.NumField() {
			out = append(out, damages(v.Field(k))...)
		}
	case reflect.Slice:
		for k := range v.Len() {
			out = append(out, damages(v.Index(k))...)
		}
		out = append(out, func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
		if v.Len() > 0 && v.Type().Elem() != reflect.TypeFor[proof.Absence]() { // fewer children can be enough
			out = append(out, func() { v.Set(v.Slice(0, v.Len()-1)) })
		}
	}
	return out
}

// A certificate with one changed value is refused. -damaged N damages N certificates.
func TestDamaged(t *testing.T) {
	kinds, done := map[string]int{}, 0
	for n := *seed; done < *damaged; n++ {
		data := testkit.RandomBytes(n, 400)
		w := chance(testkit.NewBytes(data))
		q := w.question(t)
		a, err := gang.Find(q, gang.Options{})
		require.NoError(t, err)
		if a.Outcome != gang.None {
			continue
		}
		kind := kindsOf(a.Absence)
		if kind == " members" && kinds[kind] > *damaged/10 { // by far the most frequent
			continue
		}
		kinds[kind]++
		before, err := json.Marshal(a.Absence)
		require.NoError(t, err)
		all := damages(reflect.ValueOf(a.Absence).Elem())
		all[testkit.NewBytes(testkit.RandomBytes(n+1, 8)).Uint64()%uint64(len(all))]()
		after, err := json.Marshal(a.Absence)
		require.NoError(t, err)
		if string(before) == string(after) { // such as an empty list in place of none
			continue
		}
		done++
		require.Error(t, proof.CheckAbsence(q, *a.Absence, proof.Bound{}), "seed %d\n%s\nbefore %s\nafter  %s", n, w, before, after)
	}
	t.Logf("%d refused; %v", done, kinds)
}
