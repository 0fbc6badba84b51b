// Package same compares small objects of the API in all fields and merges tolerations as the API server does. Events, timers and
// queueing hints ask whether an update changed such an object. It modifies no argument.
package same

import v1 "k8s.io/api/core/v1"

// Taint reports whether two taints are equal in key, value, effect and time added.
func Taint(a, b v1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
}

// Toleration reports whether two tolerations are equal in key, operator, value, effect and tolerationSeconds.
func Toleration(a, b v1.Toleration) bool {
	x, y := a.TolerationSeconds, b.TolerationSeconds
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect &&
		(x == y || x != nil && y != nil && *x == *y)
}
