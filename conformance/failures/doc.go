// Package failures compares package planning/failures with kube-scheduler: after the loss of nodes both get the same
// pods in the same order, and the same pods must stay pending.
package failures
