package preemption_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

func ExampleAdmitPriority() {
	never := v1.PreemptNever
	classes := append(preemption.SystemPriorityClasses(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Value: 1000, PreemptionPolicy: &never},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "normal"}, Value: 100, GlobalDefault: true},
	)
	gpu := testkit.Pod("gpu").Obj()
	gpu.Spec.PriorityClassName = "batch"
	web := testkit.Pod("web").Obj()
	db := testkit.Pod("db").Obj()
	db.Spec.PriorityClassName = "gold"
	for _, pod := range []*v1.Pod{gpu, web, db} {
		admitted, err := preemption.AdmitPriority(pod, classes)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(admitted.Name, admitted.Spec.PriorityClassName, preemption.Priority(admitted))
	}
	// Output:
	// gpu batch 1000
	// web normal 100
	// pods "db" is forbidden: no PriorityClass with name gold was found
}

// The largest value of a class is kept for the system's own classes, and their names are reserved.
func ExampleValidatePriorityClass() {
	for _, class := range []*schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Value: 1000000001},
		{ObjectMeta: metav1.ObjectMeta{Name: "system-gold"}, Value: 1000},
		{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Value: -1000},
	} {
		fmt.Println(preemption.ValidatePriorityClass(class, nil).ToAggregate())
	}
	// Output:
	// value: Forbidden: maximum allowed value of a user defined priority is 1000000000
	// metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-gold is not a known system priority class
	// <nil>
}

// There is one default class, and the value of a class is for ever.
func ExampleAdmitPriorityClass() {
	normal := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "normal"}, Value: 100, GlobalDefault: true}
	other := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Value: 200, GlobalDefault: true}
	fmt.Println(preemption.AdmitPriorityClass(other, []*schedulingv1.PriorityClass{normal}))
	changed := normal.DeepCopy()
	changed.Value = 101
	fmt.Println(preemption.ValidatePriorityClassUpdate(normal, changed, nil).ToAggregate())
	// Output:
	// priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass normal is already marked as default. Only one default can exist
	// value: Forbidden: may not be changed in an update.
}
