package apiserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/scheduler/groups"
)

const (
	groupGates = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"
	groupAPIs  = "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"
)

// TestRefusedGroups creates groups, and pods of groups, whose names of other objects are good, empty, too long, or of the wrong form.
func TestRefusedGroups(t *testing.T) {
	s := start(t, groupGates, groupAPIs)
	names := []string{"a", "a.b", "", "A_B", "-a", "a.", strings.Repeat("a", 64), strings.Repeat("a", 254)}
	refused := 0
	check := func(path string, object any, errs field.ErrorList) {
		status, err := s.try(http.MethodPost, path, object)
		require.NoError(t, err)
		if status.Message != "" {
			refused++
		}
		var ours []string
		for _, e := range errs {
			ours = append(ours, e.Error())
		}
		require.ElementsMatch(t, causes(status), ours, "%+v", object)
	}
	for _, name := range append([]*string{nil}, pointers(names)...) {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: namespace}, Spec: v1.PodSpec{
			SchedulingGroup: &v1.PodSchedulingGroup{PodGroupName: name},
			Containers:      []v1.Container{{Name: "c", Image: "i"}},
		}}
		check(pods, p, admission.Validate(p, admission.Options{}))
	}
	workload, template := append([]string{"w"}, names...), append([]string{"t"}, names...)
	for k := range workload {
		for j := range template {
			parent := &names[(k+j)%len(names)]
			if k == 0 && j == 0 {
				parent = nil
			}
			g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: namespace}, Spec: schedulingv1beta1.PodGroupSpec{
				ParentCompositePodGroupName: parent,
				WorkloadRef:                 &schedulingv1beta1.WorkloadReference{WorkloadName: workload[k], TemplateName: template[j]},
				SchedulingPolicy:            schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}},
			}}
			check("/apis/scheduling.k8s.io/v1beta1/namespaces/"+namespace+"/podgroups", g, groups.Validate(g))
			c := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: namespace}, Spec: schedulingv1alpha3.CompositePodGroupSpec{
				ParentCompositePodGroupName: parent,
				WorkloadRef:                 &schedulingv1alpha3.WorkloadReference{WorkloadName: workload[k], TemplateName: template[j]},
				SchedulingPolicy:            schedulingv1alpha3.CompositePodGroupSchedulingPolicy{Basic: &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}},
			}}
			check("/apis/scheduling.k8s.io/v1alpha3/namespaces/"+namespace+"/compositepodgroups", c, groups.ValidateComposite(c))
		}
	}
	require.Greater(t, refused, 100)
}

func pointers(names []string) (out []*string) {
	for k := range names {
		out = append(out, &names[k])
	}
	return out
}
