package apiserver_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/admission"
)

// TestEveryFieldOfUpdates changes every field of the specifications of stored workloads, volumes and claims, one at a time: it is taken away,
// and gets other values. What the server accepts, ValidateUpdate accepts. What the server refuses though it would create the object as it is,
// ValidateUpdate refuses; of an object that the server would not create, it finds what the server calls immutable or forbidden.
func TestEveryFieldOfUpdates(t *testing.T) {
	s := start(t)
	s.make(t, storage, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "example.com/a", AllowVolumeExpansion: new(true)})
	accepted, refused, invalid, differ := 0, 0, 0, 0
	told := map[string]bool{}
	for _, u := range slices.Concat(storeWorkloads(t, s), storeJobs(t, s), storeVolumes(t, s), storeDeviceClaims(t, s)) {
		for _, e := range everyEdit(u.old) {
			o := copyOf(u.old)
			e.do(o)
			status, err := s.try(http.MethodPut, u.path, o)
			require.NoError(t, err)
			ours := admission.ValidateUpdate(o, u.old, admission.Options{})
			text := ""
			switch alone := s.alone(t, u.path, o); {
			case status.Message == "":
				accepted++
				if len(ours) > 0 {
					text = "the server accepts it, podberth says: " + ours.ToAggregate().Error()
				}
			case alone.Message == "":
				refused++
				if len(ours) == 0 {
					text = "podberth accepts it, the server says: " + status.Message
				}
			default:
				invalid++
				for _, c := range causesOf(status) {
					stays := strings.Contains(c.Message, "immutable") || strings.HasPrefix(c.Message, "Forbidden")
					if stays && !slices.ContainsFunc(causesOf(alone), func(a metav1.StatusCause) bool { return a.Field == c.Field }) && len(ours) == 0 {
						text = "podberth accepts it, the server says: " + c.Field + ": " + c.Message
					}
				}
			}
			if text != "" && !isLeftOut(u.path, e.name, status) {
				differ++
				field, _, _ := strings.Cut(e.name, ": ")
				if at := u.path + " " + strings.Join(strings.SplitN(field, ".", 5)[:min(4, strings.Count(field, ".")+1)], "."); !told[at] {
					told[at] = true
					t.Errorf("%s: %s: %.300s", u.path, e.name, text)
				}
			}
		}
	}
	t.Logf("%d edits of single fields: %d accepted, %d refused, %d of objects that are wrong in themselves; %d differ", accepted+refused+invalid, accepted, refused, invalid, differ)
	require.Greater(t, accepted, 100)
	require.Greater(t, refused, 100)
}

// isLeftOut reports whether a difference has a reason that ValidateUpdate does not look at: the server drops fields of features that are off, and
// data sources of kinds that it does not know; a manifest of a Job has no selector; package planning/workload checks what no pods can be made of.
func isLeftOut(path, name string, status metav1.Status) bool {
	return slices.ContainsFunc([]string{"schedulingGroup", "evictionResponders", "derivedAttributes", "dataSource"}, func(field string) bool { return strings.Contains(name, field) }) ||
		strings.Contains(path, "/jobs/") && name == "spec.selector: value 0" ||
		slices.ContainsFunc(made, func(text string) bool { return strings.Contains(status.Message, text) })
}

func causesOf(status metav1.Status) []metav1.StatusCause {
	if status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// alone asks whether the server would create an object as it is.
func (s server) alone(t *testing.T, path string, o metav1.Object) metav1.Status {
	t.Helper()
	o = copyOf(o)
	o.SetName(o.GetName() + "-alone")
	o.SetUID("")
	o.SetResourceVersion("")
	if j, is := o.(*batchv1.Job); is { // what the server itself has written
		j.Spec.Selector = nil
		for _, key := range []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"} {
			delete(j.Spec.Template.Labels, key)
		}
	}
	status, err := s.try(http.MethodPost, path[:strings.LastIndex(path, "/")], o)
	require.NoError(t, err)
	return status
}

// everyEdit returns the edits of each field of the specification of an object, and of its labels.
func everyEdit(o metav1.Object) (out []edit) {
	add := func(path []int, name string, value reflect.Value) {
		out = append(out, edit{name, func(o metav1.Object) {
			v := reflect.ValueOf(o).Elem()
			for _, i := range path {
				switch v.Kind() {
				case reflect.Pointer:
					v = v.Elem()
				case reflect.Slice:
					v = v.Index(i)
				default:
					v = v.Field(i)
				}
			}
			v.Set(value)
		}})
	}
	spec, _ := reflect.TypeOf(o).Elem().FieldByName("Spec")
	fields(reflect.ValueOf(o).Elem().FieldByIndex(spec.Index), spec.Index, "spec", add)
	out = append(out, edit{"metadata.labels", func(o metav1.Object) { o.SetLabels(map[string]string{"x": "y"}) }},
		edit{"metadata.annotations", func(o metav1.Object) { o.SetAnnotations(map[string]string{"x": "y"}) }},
		edit{"metadata.finalizers", func(o metav1.Object) { o.SetFinalizers([]string{"example.com/x"}) }})
	return out
}

// fields calls add with other values of a value and of all that is in it.
func fields(v reflect.Value, path []int, name string, add func(path []int, name string, value reflect.Value)) {
	path = slices.Clone(path)
	for k, other := range others(v) {
		add(path, fmt.Sprintf("%s: value %d", name, k), other)
	}
	switch {
	case isWhole(v.Type()):
	case v.Kind() == reflect.Pointer && !v.IsNil() && !isWhole(v.Type().Elem()):
		fields(v.Elem(), append(path, 0), name, add)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			fields(v.Index(i), append(path, i), fmt.Sprintf("%s[%d]", name, i), add)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			field, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if field == "" {
				field = v.Type().Field(i).Name
			}
			fields(v.Field(i), append(path, i), name+"."+field, add)
		}
	}
}

// isWhole reports whether a type is one value though it has fields.
func isWhole(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[metav1.Time]():
		return true
	}
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Slice && t.Kind() != reflect.Struct
}

// fewValues are values of the types that have few.
var fewValues = map[reflect.Type][]string{
	reflect.TypeFor[v1.PersistentVolumeMode]():                         {"Block", "Filesystem"},
	reflect.TypeFor[v1.PersistentVolumeReclaimPolicy]():                {"Retain", "Delete"},
	reflect.TypeFor[v1.PersistentVolumeAccessMode]():                   {"ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod"},
	reflect.TypeFor[v1.NodeSelectorOperator]():                         {"In", "NotIn", "Exists"},
	reflect.TypeFor[v1.RestartPolicy]():                                {"OnFailure", "Never", "Always"},
	reflect.TypeFor[v1.PullPolicy]():                                   {"Always", "Never"},
	reflect.TypeFor[v1.DNSPolicy]():                                    {"Default"},
	reflect.TypeFor[v1.TolerationOperator]():                           {"Exists"},
	reflect.TypeFor[v1.PreemptionPolicy]():                             {"Never"},
	reflect.TypeFor[metav1.LabelSelectorOperator]():                    {"Exists"},
	reflect.TypeFor[appsv1.DeploymentStrategyType]():                   {"Recreate", "RollingUpdate"},
	reflect.TypeFor[appsv1.DaemonSetUpdateStrategyType]():              {"OnDelete", "RollingUpdate"},
	reflect.TypeFor[appsv1.StatefulSetUpdateStrategyType]():            {"OnDelete", "RollingUpdate"},
	reflect.TypeFor[appsv1.PodManagementPolicyType]():                  {"Parallel", "OrderedReady"},
	reflect.TypeFor[appsv1.PersistentVolumeClaimRetentionPolicyType](): {"Delete", "Retain"},
	reflect.TypeFor[batchv1.CompletionMode]():                          {"Indexed", "NonIndexed"},
	reflect.TypeFor[batchv1.PodReplacementPolicy]():                    {"Failed", "TerminatingOrFailed"},
}

// others returns other values of a type: none, and samples.
func others(v reflect.Value) (out []reflect.Value) {
	add := func(x reflect.Value) {
		if !reflect.DeepEqual(x.Interface(), v.Interface()) {
			out = append(out, x)
		}
	}
	add(reflect.Zero(v.Type()))
	for _, x := range samples(v.Type()) {
		add(x)
	}
	if v.Kind() == reflect.Slice {
		for _, x := range samples(v.Type().Elem()) {
			add(reflect.Append(v.Slice3(0, v.Len(), v.Len()), x))
		}
	}
	if v.Kind() == reflect.Int32 || v.Kind() == reflect.Int64 {
		add(reflect.ValueOf(v.Int() + 1).Convert(v.Type()))
	}
	return out
}

// samples returns values of a type.
func samples(t reflect.Type) (out []reflect.Value) {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return []reflect.Value{reflect.ValueOf(resource.MustParse("1")), reflect.ValueOf(resource.MustParse("9Gi"))}
	case reflect.TypeFor[intstr.IntOrString]():
		return []reflect.Value{reflect.ValueOf(intstr.FromInt32(2)), reflect.ValueOf(intstr.FromString("30%"))}
	case reflect.TypeFor[metav1.Time]():
		return nil
	case reflect.TypeFor[metav1.LabelSelector]():
		return []reflect.Value{reflect.ValueOf(*ownSelector()), reflect.ValueOf(metav1.LabelSelector{MatchLabels: map[string]string{"c": "d"}})}
	case reflect.TypeFor[v1.ResourceList]():
		return []reflect.Value{reflect.ValueOf(v1.ResourceList{"cpu": resource.MustParse("3")}), reflect.ValueOf(v1.ResourceList{"storage": resource.MustParse("9Gi")})}
	}
	if list := fewValues[t]; list != nil {
		for _, word := range list {
			out = append(out, reflect.ValueOf(word).Convert(t))
		}
		return out
	}
	switch t.Kind() {
	case reflect.Bool:
		out = append(out, reflect.ValueOf(true).Convert(t), reflect.ValueOf(false).Convert(t))
	case reflect.Int32, reflect.Int64:
		for _, n := range []int64{1, 2, 5} {
			out = append(out, reflect.ValueOf(n).Convert(t))
		}
	case reflect.String:
		for _, text := range []string{"x", "grows", "example.com/x"} {
			out = append(out, reflect.ValueOf(text).Convert(t))
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String && t.Elem().Kind() == reflect.String {
			m := reflect.MakeMap(t)
			m.SetMapIndex(reflect.ValueOf("x").Convert(t.Key()), reflect.ValueOf("y").Convert(t.Elem()))
			out = append(out, m)
		}
	case reflect.Pointer:
		for _, x := range samples(t.Elem()) {
			p := reflect.New(t.Elem())
			p.Elem().Set(x)
			out = append(out, p)
		}
	case reflect.Slice:
		for _, x := range samples(t.Elem()) {
			out = append(out, reflect.Append(reflect.MakeSlice(t, 0, 1), x))
		}
	case reflect.Struct: // each field that names or counts something has its first sample
		x := reflect.New(t).Elem()
		for i := range t.NumField() {
			if k := t.Field(i).Type.Kind(); k == reflect.String || k == reflect.Int32 || k == reflect.Int64 {
				x.Field(i).Set(samples(t.Field(i).Type)[0])
			}
		}
		out = append(out, reflect.Zero(t), x)
	}
	return out
}
