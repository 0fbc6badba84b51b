package anonymise

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// fill sets every field below v that decides something: texts to the name of their field, numbers to 1, lists and maps to one entry.
func fill(v reflect.Value, name string, within []reflect.Type) {
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("1")))
		return
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(0, 0)))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromInt32(1)))
		return
	case metav1.TypeMeta, []metav1.ManagedFieldsEntry, runtime.RawExtension, v1.SecurityContext, v1.PodSecurityContext, []v1.EnvVar, v1.Probe, v1.Lifecycle, time.Duration:
		return
	}
	for _, t := range within {
		if t == v.Type() && v.Kind() == reflect.Struct {
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, within)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), name, within)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, name+".key", within)
		fill(value, name+".value", within)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if field == "" {
					field = name
				}
				fill(v.Field(i), field, append(within, v.Type()))
			}
		}
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
}

// What becomes of each field of each kind is in testdata/every_field.txt. Only a StatefulSet has a template of pods here.
func TestEveryField(t *testing.T) {
	o := &dump.Objects{}
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Pointer {
			continue
		}
		object := reflect.New(list.Type().Elem().Elem())
		var within []reflect.Type
		if name := list.Type().Elem().Elem().Name(); name != "StatefulSet" {
			within = append(within, reflect.TypeFor[v1.PodTemplateSpec]())
		}
		fill(object.Elem(), "", within)
		if list.Type().Elem() != reflect.TypeFor[*v1.Pod]() { // the pod shows what becomes of metadata
			object.Elem().FieldByName("ObjectMeta").Set(reflect.ValueOf(metav1.ObjectMeta{Name: "name", Namespace: "namespace"}))
		}
		list.Set(reflect.Append(list, object))
	}
	o.ResourceClaims[0].Spec.Devices.Requests, o.ResourceClaimTemplates[0].Spec.Spec.Devices.Requests, o.DeviceClasses[0].Spec.Selectors = nil, nil, nil
	list, names, err := Objects(o, nil)
	require.NoError(t, err)
	var out strings.Builder
	for _, object := range list {
		data, err := json.Marshal(object)
		require.NoError(t, err)
		fmt.Fprintf(&out, "%s\n", data)
	}
	data, err := json.MarshalIndent(names, "", " ")
	require.NoError(t, err)
	fmt.Fprintf(&out, "%s\n", data)
	testkit.Golden(t, "testdata/every_field.txt", out.String())
}
