package dump

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withClaimDefaults sets the fields of a claim or template that the API server sets when the object is created: a manifest may
// leave them out. Other objects stay as they are.
func withClaimDefaults(object metav1.Object) {
	switch o := object.(type) {
	case *resourcev1.ResourceClaim:
		setClaimDefaults(&o.Spec)
	case *resourcev1.ResourceClaimTemplate:
		setClaimDefaults(&o.Spec.Spec)
	}
}

func setClaimDefaults(spec *resourcev1.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			setRequestDefaults(&e.AllocationMode, &e.Count, e.Tolerations)
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			setRequestDefaults(&s.AllocationMode, &s.Count, s.Tolerations)
		}
	}
}

func setRequestDefaults(mode *resourcev1.DeviceAllocationMode, count *int64, tolerations []resourcev1.DeviceToleration) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}
