// Package failures compares package planning/failures with kube-scheduler v1.36.3: after the loss of nodes both get the same
// pods in the same order, and the same pods must stay pending.
package failures
