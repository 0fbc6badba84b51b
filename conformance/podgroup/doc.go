// Package podgroup compares decisions about groups of pods with kube-scheduler v1.37.2 that has the feature gates of groups on: one cycle
// of both over generated situations. Much of what kube-scheduler does with groups is random. Its outcome must be one of those that
// podberth has when every random choice goes every way.
package podgroup
