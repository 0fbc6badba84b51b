// Package rollout plays plans of planning/rollout against a kube-apiserver in the test process: with its Eviction API, with
// the disruption controller, and with kube-scheduler's own algorithm placing the pods.
package rollout
