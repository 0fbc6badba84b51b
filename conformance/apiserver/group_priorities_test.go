package apiserver_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
)

// TestPrioritiesOfGroups creates groups and composite groups with every combination of a class, a priority and a preemption policy, without and with a
// default class: the server refuses what admission.GroupPriority refuses, in the same words. Of an accepted group it stores the admitted priority.
func TestPrioritiesOfGroups(t *testing.T) {
	s := start(t, groupGates+",PodGroupPreemptionPolicy=true", groupAPIs)
	never, lower := v1.PreemptNever, v1.PreemptLowerPriority
	classes := admission.SystemPriorityClasses() // a server makes them when it starts, without a request
	probes := 0
	add := func(c *schedulingv1.PriorityClass) {
		s.make(t, "/apis/scheduling.k8s.io/v1/priorityclasses", c)
		classes = append(classes, c)
		probe := &schedulingv1beta1.PodGroup{Spec: schedulingv1beta1.PodGroupSpec{PreemptionPolicy: (*schedulingv1beta1.PreemptionPolicy)(cmp.Or(c.PreemptionPolicy, &lower)),
			SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}}}
		if !c.GlobalDefault {
			probe.Spec.PriorityClassName = c.Name
		}
		require.Eventually(t, func() bool { // admission learns of a class a moment after the class is made
			probes++
			probe.Name = fmt.Sprint("probe", probes)
			status, err := s.send(http.MethodPost, fmt.Sprintf("/apis/scheduling.k8s.io/v1beta1/namespaces/%s/podgroups", namespace), probe, false)
			return err == nil && status.Message == ""
		}, time.Minute, 50*time.Millisecond)
	}
	add(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	add(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "calm"}, Value: 5, PreemptionPolicy: &never})
	five, hundred := int32(5), int32(100)
	made, refused := 0, 0
	check := func(m admission.GroupPriority, plural, version string, object metav1.Object) {
		made++
		object.SetName(fmt.Sprintf("g%d", made))
		path := fmt.Sprintf("/apis/scheduling.k8s.io/%s/namespaces/%s/%s", version, namespace, plural)
		status, err := s.send(http.MethodPost, path, object, false)
		require.NoError(t, err)
		m.Composite = plural == "compositepodgroups"
		value, refusal := m.Admit(classes)
		if refusal != nil {
			refused++
			require.Truef(t, strings.HasSuffix(status.Message, ": "+refusal.Detail), "%s\n%s", status.Message, refusal.Detail)
			return
		}
		require.Empty(t, status.Message, "%+v", m)
		var stored struct {
			Spec struct {
				Priority *int32 `json:"priority"`
			} `json:"spec"`
		}
		require.NoError(t, s.get(path+"/"+object.GetName(), &stored))
		require.Equal(t, &value, stored.Spec.Priority)
	}
	for _, c := range []*schedulingv1.PriorityClass{nil, {ObjectMeta: metav1.ObjectMeta{Name: "default"}, Value: 5, GlobalDefault: true, PreemptionPolicy: &never}} {
		if c != nil {
			add(c)
		}
		for _, class := range []string{"", "high", "calm", "nope", "system-cluster-critical"} {
			for _, priority := range []*int32{nil, new(int32), &five, &hundred} {
				for _, policy := range []*v1.PreemptionPolicy{nil, &never, &lower} {
					m := admission.GroupPriority{Class: class, Priority: priority, Policy: cmp.Or(policy, &lower)} // the API's default comes first
					g := &schedulingv1beta1.PodGroup{Spec: schedulingv1beta1.PodGroupSpec{PriorityClassName: class, Priority: priority,
						SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}}}
					c := &schedulingv1alpha3.CompositePodGroup{Spec: schedulingv1alpha3.CompositePodGroupSpec{PriorityClassName: class, Priority: priority,
						WorkloadRef:      &schedulingv1alpha3.WorkloadReference{WorkloadName: "w", TemplateName: "t"},
						SchedulingPolicy: schedulingv1alpha3.CompositePodGroupSchedulingPolicy{Basic: &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}}}}
					if policy != nil {
						g.Spec.PreemptionPolicy = (*schedulingv1beta1.PreemptionPolicy)(policy)
						c.Spec.PreemptionPolicy = (*schedulingv1alpha3.PreemptionPolicy)(policy)
					}
					check(m, "podgroups", "v1beta1", g)
					check(m, "compositepodgroups", "v1alpha3", c)
				}
			}
		}
	}
	require.Greater(t, refused, 100)
}
