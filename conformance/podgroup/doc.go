// Package podgroup compares decisions about groups of pods with kube-scheduler v1.37.2 that has the feature gates of groups on: one cycle
// of both over generated situations, and sequences in which groups come and leave. Much of what kube-scheduler does with groups is random. podberth tries every
// random choice, and one of its outcomes must be kube-scheduler's.
package podgroup
