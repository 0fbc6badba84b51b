package admission_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
)

// Admission gives a pod the priority of its class, or of the default class.
func ExampleAdmitPriority() {
	never := v1.PreemptNever
	classes := append(admission.SystemPriorityClasses(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Value: 1000, PreemptionPolicy: &never},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "normal"}, Value: 100, GlobalDefault: true},
	)
	for _, pod := range []*v1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: v1.PodSpec{PriorityClassName: "batch"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: v1.PodSpec{PriorityClassName: "gold"}},
	} {
		admitted, err := admission.AdmitPriority(pod, classes)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(admitted.Name, admitted.Spec.PriorityClassName, *admitted.Spec.Priority)
	}
	// Output:
	// gpu batch 1000
	// web normal 100
	// pods "db" is forbidden: no PriorityClass with name gold was found
}

// The largest values and the names that begin with "system-" are those of the built-in classes. The value of a class never
// changes.
func ExampleValidate_priorityClass() {
	for _, class := range []*schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Value: 1000000001},
		{ObjectMeta: metav1.ObjectMeta{Name: "system-gold"}, Value: 1000},
		{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Value: -1000},
	} {
		fmt.Println(admission.Validate(class, admission.Options{}).ToAggregate())
	}
	normal := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "normal"}, Value: 100}
	changed := normal.DeepCopy()
	changed.Value = 101
	fmt.Println(admission.ValidateUpdate(changed, normal, admission.Options{}).ToAggregate())
	// Output:
	// value: Forbidden: maximum allowed value of a user defined priority is 1000000000
	// metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-gold is not a known system priority class
	// <nil>
	// value: Forbidden: may not be changed in an update.
}

// A cluster has one default class.
func ExampleAdmitPriorityClass() {
	normal := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "normal"}, Value: 100, GlobalDefault: true}
	other := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Value: 200, GlobalDefault: true}
	fmt.Println(admission.AdmitPriorityClass(other, []*schedulingv1.PriorityClass{normal}))
	// Output: priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass normal is already marked as default. Only one default can exist
}
