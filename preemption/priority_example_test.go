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
