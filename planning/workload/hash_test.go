package workload

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/dump"
)

// A template is written as apimachinery writes templates for their hash: without fields, with every field, and with
// fields by chance.
func TestWriteTemplate(t *testing.T) {
	const empty, full = 0, 1
	for seed, share := range []float64{empty, full, full, 0.9, 0.9, 0.8, 0.5, 0.2} {
		var template v1.PodTemplateSpec
		fill(reflect.ValueOf(&template).Elem(), rand.New(rand.NewPCG(uint64(seed), 0)), share)
		var b bytes.Buffer
		writeTemplate(&b, &template)
		//lint:ignore SA1019 the successor is in k8s.io/utils, which the module does not require
		require.Equal(t, dump.ForHash(template), b.String())
	}
}

// fill gives a share of the fields a value: texts, numbers, lists of none to two elements, and maps of none to two.
func fill(v reflect.Value, r *rand.Rand, share float64) {
	if r.Float64() >= share {
		return
	}
	switch v.Interface().(type) {
	case resource.Quantity:
		texts := []string{"1", "100m", "1.5Gi", "123456789012345678901234567890", "0.0000000001", "-7e3"}
		v.Set(reflect.ValueOf(resource.MustParse(texts[r.IntN(len(texts))])))
		return
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(r.Int64N(1<<32), 0)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(r.Int32()) - 1<<30)
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.String:
		v.SetString([]string{"", "a", "%s (b) {c:d}", "é\n"}[r.IntN(4)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), r, share)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 2))
		for i := range v.Len() {
			fill(v.Index(i), r, share)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, r, share)
			fill(value, r, share)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), r, share)
		}
	default:
		panic(v.Type().String() + ": a template has no such values")
	}
}
