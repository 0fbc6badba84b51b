package devices

import resourcev1 "k8s.io/api/resource/v1"

// tolerated reports whether the request tolerates every NoSchedule and NoExecute taint of a device (rule U7.6).
func tolerated(taints []resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) bool {
	for k := range taints {
		t := &taints[k]
		if t.Effect != resourcev1.DeviceTaintEffectNoSchedule && t.Effect != resourcev1.DeviceTaintEffectNoExecute {
			continue
		}
		found := false
		for j := range tolerations {
			found = found || Tolerates(&tolerations[j], t)
		}
		if !found {
			return false
		}
	}
	return true
}

// Tolerates reports whether a toleration matches a taint of a device (rule U7.6): effect and key are equal or the toleration names none,
// and the operator is Exists, or it is Equal or empty and the values are equal. Neither may be nil.
func Tolerates(t *resourcev1.DeviceToleration, taint *resourcev1.DeviceTaint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		return true
	case resourcev1.DeviceTolerationOpEqual, "":
		return t.Value == taint.Value
	}
	return false
}
