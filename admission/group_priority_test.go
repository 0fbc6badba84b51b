package admission_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/internal/testkit"
)

// What the API server stores and refuses. TestPrioritiesOfGroups of conformance/apiserver asks the server about every combination.
func TestAdmitGroupPriority(t *testing.T) {
	never, lower := v1.PreemptNever, v1.PreemptLowerPriority
	classes := append(admission.SystemPriorityClasses(), nil,
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "calm"}, Value: 5, PreemptionPolicy: &never})
	byDefault := append(classes[:len(classes):len(classes)], &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Value: 7, GlobalDefault: true})
	seven, hundred := int32(7), int32(100)
	type test struct {
		name, why      string
		m              admission.GroupPriority
		classes        []*schedulingv1.PriorityClass
		want           int32
		field, refusal string
	}
	testkit.Run(t, []test{
		{"nothing", "no class is the default", admission.GroupPriority{}, classes, 0, "", ""},
		{"default", "the group names no class", admission.GroupPriority{}, byDefault, 7, "", ""},
		{"class", "its value", admission.GroupPriority{Class: "high"}, byDefault, 100, "", ""},
		{"same", "the class says the same", admission.GroupPriority{Class: "high", Priority: &hundred, Policy: &lower}, classes, 100, "", ""},
		{"unknown", "nobody made the class", admission.GroupPriority{Class: "hig"}, classes, 0, "priorityClassName", "no PriorityClass with name hig was found"},
		{"other", "the class says another", admission.GroupPriority{Class: "high", Priority: &seven}, classes, 0, "priority", "priority set in the pod group (7) must match the priority computed (100) based on the priority class set in the spec"},
		{"never", "the class says Never", admission.GroupPriority{Class: "calm", Policy: &never}, classes, 5, "", ""},
		{"lower", "the class says Never", admission.GroupPriority{Class: "calm", Policy: &lower}, classes, 0, "preemptionPolicy", "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod group spec; priority admission controller computed Never from the given PriorityClass name"},
		{"no policy", "its gate is off", admission.GroupPriority{Class: "calm"}, classes, 5, "", ""},
		{"system", "a group has at most 1000000000", admission.GroupPriority{Class: "system-node-critical"}, classes, 0, "priority", "must be less than or equal to 1000000000"},
	}, func(t *testing.T, c test) {
		got, refused := c.m.Admit(c.classes)
		require.Equal(t, c.want, got)
		c.m.Composite = true
		_, above := c.m.Admit(c.classes)
		require.Equal(t, refused == nil, above == nil)
		if above != nil {
			require.Equal(t, strings.Replace(c.refusal, "pod group", "composite pod group", 1), above.Detail)
		}
		if c.refusal == "" {
			require.Nil(t, refused)
			return
		}
		require.Equal(t, c.refusal, refused.Detail)
		require.Equal(t, "spec."+c.field, refused.Field)
	})
}
