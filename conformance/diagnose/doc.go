// Package diagnose proves package diagnose with kube-scheduler: the objects with the changes of a relaxation make
// kube-scheduler place the pod, and the objects with any part of them do not.
package diagnose
